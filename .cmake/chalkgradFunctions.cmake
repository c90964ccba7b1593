# What users' projects may call for a target that links chalkgrad::chalkgrad.

# Loops over rows become vector instructions with these; they change no result.
set(chalkgrad_loop_options -fno-math-errno -fno-trapping-math -fopenmp-simd)

# chalkgrad_precompile(TARGET) precompiles <chalkgrad/chalkgrad.hpp> for its files: each then compiles in about half of the time.
function(chalkgrad_precompile target)
    target_precompile_headers(${target} PRIVATE <chalkgrad/chalkgrad.hpp>)
endfunction()

# chalkgrad_add_kernels(TARGET FILE...) adds files that define kernels with CHALKGRAD_KERNEL. Each is compiled twice: with the
# compiler's usual instructions, and for AVX2 where chalkgrad has it; the program chooses when it starts. Loops are vectorised in
# every build type but Debug.
function(chalkgrad_add_kernels target)
    target_sources(${target} PRIVATE ${ARGN})
    set(optimised $<$<NOT:$<CONFIG:Debug>>:-O2>)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${chalkgrad_loop_options};${optimised}")
    get_target_property(definitions chalkgrad::chalkgrad INTERFACE_COMPILE_DEFINITIONS)
    if(NOT CHALKGRAD_NO_AVX2 IN_LIST definitions)
        chalkgrad_compile_for_avx2(${target} ${ARGN})
    endif()
endfunction()

# The second compilation: kernels alone, without the rules behind them. These objects define nothing outside chalkgrad::avx2.
function(chalkgrad_compile_for_avx2 target)
    add_library(${target}-avx2 OBJECT ${ARGN})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}-avx2>)
    set_target_properties(${target}-avx2 PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_features(${target}-avx2 PRIVATE cxx_std_20)
    target_include_directories(${target}-avx2 PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
    target_compile_definitions(${target}-avx2 PRIVATE CHALKGRAD_KERNELS_ONLY)
    # Below -O2, GCC leaves out vzeroupper without the third option: SSE code after a kernel runs four times slower. -O3 takes
    # the choices that are the same for all elements out of a loop. Threading of jumps goes the other way: it splits exp's limits
    # into ten more instructions.
    target_compile_options(${target}-avx2 PRIVATE ${chalkgrad_loop_options}
        -mavx2 -mfma $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fexpensive-optimizations>
        $<$<NOT:$<CONFIG:Debug>>:-O3> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-thread-jumps>)
endfunction()
