# Writes a C++ file that holds texts of the source tree: cmake -DROOT=… -DFILES="a;b" -DOUT=… -P embed.cmake
set(texts "")
foreach(file IN LISTS FILES)
    file(READ ${ROOT}/${file} text)
    string(APPEND texts "    {\"${file}\",\nR\"chalkgrad(${text})chalkgrad\"},\n")
endforeach()
file(WRITE ${OUT} "// Texts of the source tree, by their path in it (generated).
#include <chalkgrad/experiments/report/embedded.hpp>

namespace chalkgrad {

std::string_view embedded(std::string_view path) {
    static constexpr std::pair<std::string_view, std::string_view> texts[] = {
${texts}    };
    for (const auto& [name, text] : texts)
        if (name == path) return text;
    return {};
}

} // namespace chalkgrad
")
