# Writes a C++ file that holds files of the source tree: cmake -DROOT=… -DFILES="a;b" -DOUT=… -P embed.cmake
set(texts "")
foreach(file IN LISTS FILES)
    if(file MATCHES "\\.safetensors$") # bytes, not text
        file(READ ${ROOT}/${file} text HEX)
        string(REGEX REPLACE "(..)" "\\\\x\\1" text "${text}")
        string(APPEND texts "    {\"${file}\"sv,\n\"${text}\"sv},\n")
    else()
        file(READ ${ROOT}/${file} text)
        string(APPEND texts "    {\"${file}\"sv,\nR\"chalkgrad(${text})chalkgrad\"sv},\n")
    endif()
endforeach()
file(WRITE ${OUT} "// Files of the source tree, by their path in it (generated).
#include <chalkgrad/experiments/report/embedded.hpp>

namespace chalkgrad {

std::string_view embedded(std::string_view path) {
    using namespace std::literals;
    static constexpr std::pair<std::string_view, std::string_view> texts[] = {
${texts}    };
    for (const auto& [name, text] : texts)
        if (name == path) return text;
    return {};
}

} // namespace chalkgrad
")
