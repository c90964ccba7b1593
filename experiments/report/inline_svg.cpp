// An SVG file as a part of an HTML page: its ids must not meet those of another drawing.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/experiments/report/inline_svg.hpp>

namespace chalkgrad {

std::string inline_svg(std::string_view svg, std::string_view prefix) {
    const std::size_t begin = svg.find("<svg"), end = svg.rfind("</svg>");
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin)
        throw Error("inline_svg: the text holds no whole <svg> element; give what gnuplot or Graphviz wrote");
    svg = svg.substr(begin, end + 6 - begin);

    // Only inside tags: a label may well read id="x".
    constexpr std::string_view before_id[] = {" id=\"", " id='", "href=\"#", "href='#", "url(#"};
    std::string out;
    out.reserve(svg.size() + svg.size() / 16);
    bool in_tag = false;
    while (!svg.empty()) {
        in_tag = svg[0] == '<' || (in_tag && svg[0] != '>');
        std::size_t taken = 1;
        bool names_id = false;
        for (const std::string_view mark : before_id)
            if (in_tag && svg.starts_with(mark)) {
                taken = mark.size();
                names_id = true;
            }
        out += svg.substr(0, taken);
        if (names_id) out += prefix;
        svg.remove_prefix(taken);
    }
    return out;
}

} // namespace chalkgrad
