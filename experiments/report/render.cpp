// Pictures of graphs: what `dot` is told, and what of its work is refused.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/experiments/report/render.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace chalkgrad {

std::string render_dot(std::string_view dot, std::string_view format) {
    constexpr double patience = 120;
    if (auto picture = render_dot_within(dot, format, patience)) return *std::move(picture);
    throw Error(fmt::format("render_dot: dot was not done after {} seconds; draw a smaller graph", patience));
}

std::optional<std::string> render_dot_within(std::string_view dot, std::string_view format, double seconds) {
    require_format("render_dot", format, {"svg", "pdf", "png", "plain", "json", "dot"});
    if (dot.find('\0') != dot.npos)
        throw Error("render_dot: the DOT text holds a NUL byte; escape or drop it in the label it comes from");
    std::vector<std::string> command{"dot", fmt::format("-T{}", format)};
    const auto unless_said = [&](std::string_view attribute, std::string_view value, std::string_view parts) {
        if (dot.find(attribute) != dot.npos) return; // what a command says outdoes what the text says
        for (const char part : parts) command.push_back(fmt::format("-{}{}={}", part, attribute, value));
    };
    unless_said("fontname", picture_fonts, "GNE");
    if (format == "png") unless_said("dpi", "144", "G");
    // Above about a thousand boxes network simplex may take minutes; two rounds give nearly the same picture.
    if (std::count(dot.begin(), dot.end(), '\n') > 2000)
        for (const char* const limit : {"nslimit", "nslimit1"}) unless_said(limit, "2", "G");
    return drawn_by("render_dot", "graphviz", command, dot, format, seconds, {"Warning: ", "dot: "});
}

} // namespace chalkgrad
