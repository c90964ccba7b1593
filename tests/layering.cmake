# Dependencies point one way, and what is slow to compile stays out of headers: cmake -DROOT=… -P layering.cmake
# experiments → nn → ops → autograd

# Appends the includes of `file` whose target matches `regex` to the list in the variable `list`, a line for each.
function(append_includes list file regex)
    file(STRINGS ${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*${regex}")
    foreach(line IN LISTS lines)
        cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${ROOT} OUTPUT_VARIABLE name)
        string(APPEND ${list} "\n  ${name}: ${line}")
    endforeach()
    set(${list} "${${list}}" PARENT_SCOPE)
endfunction()

set(above_autograd ops nn experiments)
set(above_ops nn experiments)
set(above_nn experiments)
set(wrong "")
foreach(folder autograd ops nn)
    list(JOIN above_${folder} "|" above)
    file(GLOB_RECURSE files ${ROOT}/${folder}/*.hpp ${ROOT}/${folder}/*.cpp)
    foreach(file IN LISTS files)
        append_includes(wrong ${file} "[<\"](\\.\\./|chalkgrad/)?(${above})/")
    endforeach()
endforeach()
# JSON and the arithmetic of half cost each file that sees them a second: declarations do with nlohmann/json_fwd.hpp and
# autograd/scalar.hpp.
set(slow "")
file(GLOB_RECURSE headers ${ROOT}/autograd/*.hpp ${ROOT}/ops/*.hpp ${ROOT}/nn/*.hpp ${ROOT}/experiments/*.hpp)
list(REMOVE_ITEM headers ${ROOT}/autograd/half.hpp)
foreach(file IN LISTS headers)
    append_includes(slow ${file} "<(nlohmann/json\\.hpp|chalkgrad/autograd/half\\.hpp|Eigen/)")
endforeach()
if(wrong)
    message(SEND_ERROR "these includes point upwards (experiments → nn → ops → autograd):${wrong}")
endif()
if(slow)
    message(SEND_ERROR "these includes belong in .cpp files, because they take each file a second:${slow}")
endif()
