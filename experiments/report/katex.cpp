// KaTeX as two texts: its script, and its style with the fonts inside.
#include <chalkgrad/experiments/report/katex.hpp>

#include <cstdint>
#include <cstdlib>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/experiments/report/embedded.hpp>

namespace chalkgrad {
namespace {

namespace fs = std::filesystem;

/// Every `src:` of the style names a font as woff2, woff and ttf. The first is enough, and goes inside.
std::string with_fonts_inside(const std::string& css, const fs::path& folder) {
    constexpr std::string_view source = "src:url(";
    std::string out;
    std::size_t at = 0;
    for (std::size_t begin = css.find(source); begin != css.npos; begin = css.find(source, at)) {
        const std::size_t name = begin + source.size(), name_end = css.find(')', name),
                          end = css.find_first_of(";}", begin);
        if (name_end == css.npos || end == css.npos)
            throw Error("katex: katex.min.css has a font without an end; install Debian's libjs-katex again");
        const std::string font = read_file(folder / css.substr(name, name_end - name));
        out += css.substr(at, begin - at) +
               fmt::format("src:url(data:font/woff2;base64,{}) format('woff2')", base64(font));
        at = end;
    }
    return out + css.substr(at);
}

} // namespace

std::string base64(std::string_view bytes) {
    constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t word = 0;
        for (std::size_t k = 0; k < 3; ++k) word = word << 8 | (k < n ? static_cast<std::uint8_t>(bytes[i + k]) : 0u);
        for (std::size_t k = 0; k < 4; ++k) out += k <= n ? digits[word >> (18 - 6 * k) & 63] : '=';
    }
    return out;
}

std::string katex_licence() { return fmt::format("<!--\n{}-->\n", embedded("experiments/report/katex-licence.txt")); }

fs::path katex_folder() {
    const char* const given = std::getenv("CHALKGRAD_KATEX");
    return given != nullptr && *given != '\0' ? given : "/usr/share/javascript/katex";
}

std::optional<Katex> read_katex(const fs::path& folder) {
    std::error_code none;
    if (!fs::exists(folder / "katex.min.js", none)) return {};
    Katex katex{read_file(folder / "katex.min.js"), with_fonts_inside(read_file(folder / "katex.min.css"), folder)};
    if (katex.script.find("</script") != std::string::npos || katex.style.find("</style") != std::string::npos)
        throw Error(
            fmt::format("katex: KaTeX in {} holds an end tag and cannot stand in a page; install Debian's libjs-katex",
                folder.string()));
    return katex;
}

} // namespace chalkgrad
