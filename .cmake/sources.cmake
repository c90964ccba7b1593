# Which files make which part: a new file in a room, a folder of a folder, is picked up without naming it anywhere.

# The folders as <chalkgrad/...> in the build tree. Folders are linked, not files: an installed link would point here.
function(chalkgrad_include_tree out)
    set(root ${PROJECT_BINARY_DIR}/include)
    file(MAKE_DIRECTORY ${root}/chalkgrad)
    foreach(folder autograd ops nn experiments)
        file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${root}/chalkgrad/${folder} SYMBOLIC)
    endforeach()
    set(${out} ${root} PARENT_SCOPE)
endfunction()

function(chalkgrad_sources out)
    list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/)
    list(TRANSFORM ARGN APPEND /*/*.cpp)
    file(GLOB found CONFIGURE_DEPENDS ${ARGN})
    set(${out} ${found} PARENT_SCOPE)
endfunction()

function(chalkgrad_headers out)
    list(TRANSFORM ARGN PREPEND ${PROJECT_BINARY_DIR}/include/chalkgrad/)
    list(TRANSFORM ARGN APPEND /*/*.hpp)
    file(GLOB found CONFIGURE_DEPENDS ${ARGN})
    set(${out} ${found} PARENT_SCOPE)
endfunction()

# Those of the files that have a line which matches `regex`. Asked again when one of them changes.
function(chalkgrad_files_with out regex)
    set(found)
    foreach(file IN LISTS ARGN)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
        file(STRINGS ${file} has_it REGEX "${regex}" LIMIT_COUNT 1)
        if(has_it)
            list(APPEND found ${file})
        endif()
    endforeach()
    set(${out} ${found} PARENT_SCOPE)
endfunction()

# Those that define kernels.
function(chalkgrad_kernel_sources out)
    chalkgrad_files_with(found "^#ifndef CHALKGRAD_KERNELS_ONLY|^[ \t]*CHALKGRAD_KERNEL\\(" ${ARGN})
    set(${out} ${found} PARENT_SCOPE)
endfunction()

# A generated C++ file that holds these files' texts; it is made anew when one of them changes.
function(chalkgrad_embed out)
    file(GLOB files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${ARGN})
    list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE paths)
    set(script ${PROJECT_SOURCE_DIR}/.cmake/embed.cmake)
    set(${out} ${PROJECT_BINARY_DIR}/embedded.cpp)
    add_custom_command(OUTPUT ${${out}} DEPENDS ${paths} ${script} VERBATIM
        COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} "-DFILES=${files}" -DOUT=${${out}} -P ${script})
    set(${out} ${${out}} PARENT_SCOPE)
endfunction()

# Those that say `#pragma once // internal`: installed, because others include them; no promise is made of them.
function(chalkgrad_internal_headers out)
    chalkgrad_files_with(found "^#pragma once // internal" ${ARGN})
    set(${out} ${found} PARENT_SCOPE)
endfunction()

# Writes <chalkgrad/NAME>, which includes those of the headers that match, without the internal ones and without half.hpp, which
# brings Eigen, a third of a user's time to compile; appends it to the list named by `list`.
function(chalkgrad_convenience_header list name purpose match)
    set(text "// ${purpose} (generated).\n#pragma once\n\n#include <chalkgrad/autograd/base/array.hpp>\n")
    set(matching ${${list}})
    list(FILTER matching INCLUDE REGEX "/include/${match}")
    chalkgrad_internal_headers(left_out ${matching})
    set(base ${PROJECT_BINARY_DIR}/include/chalkgrad/autograd/base)
    list(REMOVE_ITEM matching ${left_out} ${base}/array.hpp ${base}/half.hpp)
    foreach(header IN LISTS matching)
        cmake_path(RELATIVE_PATH header BASE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
        string(APPEND text "#include <${header}>\n")
    endforeach()
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/include/chalkgrad/${name} CONTENT "${text}" @ONLY)
    set(${list} ${${list}} ${PROJECT_BINARY_DIR}/include/chalkgrad/${name} PARENT_SCOPE)
endfunction()
