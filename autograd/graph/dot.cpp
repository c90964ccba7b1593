// Writing DOT.
#include <chalkgrad/autograd/graph/dot.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/text.hpp>

namespace chalkgrad {
namespace {

struct Colours {
    const char *fill, *line;
};
struct Palette {
    const char *background, *text, *quiet, *frame, *stream, *cotangent;
    const char* notes[5]; ///< by Note::Kind
    Colours looks[10];    ///< by Box::Look

    Colours of(Box::Look look) const { return looks[static_cast<std::size_t>(look)]; }
    const char* of(Note::Kind kind) const { return notes[static_cast<std::size_t>(kind)]; }
};
constexpr Palette light = {"#FFFFFF", "#000000", "#454545", "#BFBFBF", "#000000", "#C24E00",
    {"#454545", "#4A4100", "#003F66", "#7A2E00", "#454545"},
    {{"#FFFFFF", "#000000"}, {"#FFFFFF", "#000000"}, {"#FBF5B7", "#8A7D00"}, {"#FFFFFF", "#8C8C8C"},
        {"#FFFFFF", "#000000"}, {"#F0AE4A", "#8F5600"}, {"#D6EAF7", "#0072B2"}, {"#CBEDE2", "#00795A"},
        {"#F0DCE9", "#A33F7B"}, {"#F5F5F5", "#595959"}}};
constexpr Palette dark = {"#14181F", "#F5F5F5", "#B8C0CC", "#5C6675", "#FFFFFF", "#FF9D5C",
    {"#B8C0CC", "#EDE07A", "#9AD8FF", "#FFB88A", "#B8C0CC"},
    {{"#14181F", "#F5F5F5"}, {"#14181F", "#F5F5F5"}, {"#423D12", "#E8D95A"}, {"#14181F", "#8C96A5"},
        {"#14181F", "#FFFFFF"}, {"#8F5600", "#FFC46B"}, {"#123A55", "#6EC1FF"}, {"#0B4437", "#5FD7B4"},
        {"#4D1F3A", "#F29FCB"}, {"#262C36", "#B8C0CC"}}};

/// "line-17" as a DOT name, "n17": the first letters are told apart, and a letter comes first.
std::string dot_name(const std::string& prefix, const std::string& id) {
    std::string name = prefix;
    for (const char c : id.starts_with("line-") ? "n" + id.substr(5) : id)
        if (c != '-') name += c;
    return name;
}

/// Graphviz reads the backslashes of a tooltip twice.
std::string tooltip_text(std::string_view text, std::size_t longest) {
    std::string twice;
    for (const char c : text) twice.append(c == '\\' ? 2 : 1, c);
    return dot_text(twice, longest);
}

class Writer {
public:
    Writer(const std::vector<Drawing>& drawings, const DotOptions& options)
        : drawings_(drawings), options_(options), palette_(options.theme == DotOptions::Theme::dark ? dark : light) {}

    std::string write() {
        out_ = fmt::format(
            "digraph chalkgrad {{\n"
            "  graph [rankdir=TB, newrank=true, ranksep=0.32, nodesep=0.4, fontname=\"DejaVu Sans\", fontsize=13, "
            "bgcolor=\"{}\", fontcolor=\"{}\"];\n"
            "  node [fontname=\"DejaVu Sans\", fontsize=14, fontcolor=\"{}\", margin=\"0.14,0.07\", height=0.4];\n"
            "  edge [fontname=\"DejaVu Sans\", fontsize=10, color=\"{}\", fontcolor=\"{}\", arrowsize=0.7];\n",
            palette_.background, palette_.text, palette_.text, palette_.quiet, palette_.quiet);
        if (options_.legend) out_ += fmt::format("  label=<{}>; labelloc=b;\n", legend());
        std::string tops;
        for (std::size_t k = 0; k < drawings_.size(); ++k) {
            const Drawing& drawing = drawings_[k];
            backward_ = std::any_of(drawing.arrows.begin(), drawing.arrows.end(),
                [](const Arrow& a) { return a.look == Arrow::Look::cotangent; });
            dot_prefix_ = drawings_.size() > 1 ? fmt::format("d{}_", k) : "";
            id_prefix_ = drawings_.size() > 1 ? fmt::format("d{}-", k) : "";
            std::string title = dot_text(drawing.title, 200);
            if (!drawing.subtitle.empty()) title += "\\n" + dot_text(drawing.subtitle, 400);
            out_ += fmt::format(
                "  subgraph cluster_{}drawing {{\n    id=\"{}drawing\"; label=\"{}\"; labelloc=t; fontsize=18; "
                "peripheries=0; margin=12;\n",
                dot_prefix_, id_prefix_, title);
            write_frame(drawing, 0, 2);
            out_ += "  }\n";
            for (const Arrow& arrow : drawing.arrows) write_arrow(drawing, arrow);
            if (drawings_.size() > 1 && !drawing.boxes.empty())
                tops += (tops.empty() ? "" : " -> ") + name(drawing.boxes.front());
        }
        // From left to right in the order given.
        if (drawings_.size() > 1 && !tops.empty())
            out_ += fmt::format("  {{ rank=same; edge [style=invis]; {}; }}\n", tops);
        return out_ + "}\n";
    }

private:
    std::string name(const Box& box) const { return dot_name(dot_prefix_, box.id); }

    void write_frame(const Drawing& drawing, std::size_t frame, std::size_t depth) {
        const std::string indent(2 * depth, ' ');
        for (const Box& box : drawing.boxes)
            if (box.frame == frame) write_box(box, indent);
        for (std::size_t child = 1; child < drawing.frames.size(); ++child) {
            const Frame& inner = drawing.frames[child];
            if (inner.parent != frame) continue;
            out_ += fmt::format(
                "{0}subgraph cluster_{1} {{\n{0}  id=\"{2}{3}\"; label=\"{4}\"; tooltip=\"{5}\"; labeljust=l;\n{0}  "
                "style=rounded; color=\"{6}\"; fontcolor=\"{7}\"; fontsize=13; labelloc=b;\n",
                indent, dot_name(dot_prefix_, inner.id), id_prefix_, inner.id, dot_text(inner.title),
                tooltip_text(inner.title, 2000), palette_.frame, palette_.quiet);
            if (inner.on_stream) out_ += indent + "  margin=32;\n"; // room for the shapes beside the line
            out_ += indent + (inner.copies > 1 ? "  peripheries=1; penwidth=2.5;\n" : "  peripheries=1;\n");
            write_frame(drawing, child, depth + 1);
            out_ += indent + "}\n";
        }
    }

    void write_box(const Box& box, const std::string& indent) {
        const Colours colours = palette_.of(box.look);
        const bool add = box.look == Box::Look::add,
                   small = box.look == Box::Look::parameter || box.look == Box::Look::constant;
        std::string label = dot_text(box.title);
        if (!box.notes.empty()) {
            std::string rows = dot_html(box.title);
            for (const Note& note : box.notes) {
                const std::string text = dot_html(note.text, 90);
                rows += fmt::format("<BR/><FONT POINT-SIZE=\"{}\" COLOR=\"{}\">{}</FONT>",
                    note.kind == Note::Kind::attribute || note.kind == Note::Kind::parameter ? 11 : 12,
                    palette_.of(note.kind), note.kind == Note::Kind::missing ? "<I>" + text + "</I>" : text);
            }
            label = rows;
        }
        const char open = box.notes.empty() ? '"' : '<', close = box.notes.empty() ? '"' : '>';
        out_ +=
            fmt::format("{}{} [id=\"{}{}\", class=\"{}\", label={}{}{}, tooltip=\"{}\", fillcolor=\"{}\", color=\"{}\"",
                indent, name(box), id_prefix_, box.id, word(box.look), open, label, close,
                tooltip_text(box.tooltip.empty() ? box.title : box.tooltip, 2000), colours.fill, colours.line);
        if (add && box.notes.empty())
            out_ += ", shape=circle, style=filled, width=0.36, fixedsize=true, fontsize=18, penwidth=1.8";
        else if (add) out_ += ", shape=ellipse, style=filled, penwidth=1.8, margin=\"0.02,0.01\"";
        else if (small) out_ += ", shape=box, style=filled, fontsize=11, height=0.28, margin=\"0.08,0.04\"";
        else out_ += ", shape=box, style=\"filled,rounded\"";
        if (box.look == Box::Look::norm) out_ += ", penwidth=2.2";
        if (box.look == Box::Look::input || box.look == Box::Look::output) out_ += ", penwidth=1.6";
        // What the stream passes stands in one column, and its branches leave to one side.
        if (box.on_stream) out_ += fmt::format(", group=\"{}stream\", ordering=out", dot_prefix_);
        out_ += "];\n";
    }

    void write_arrow(const Drawing& drawing, const Arrow& arrow) {
        // A cotangent's arrow is laid out with the data and drawn with its head at the other end.
        const bool back = arrow.look == Arrow::Look::cotangent;
        const Box &from = drawing.boxes[back ? arrow.to : arrow.from],
                  &to = drawing.boxes[back ? arrow.from : arrow.to];
        out_ += fmt::format("  {} -> {} [id=\"{}{}\", class=\"{}\", edgetooltip=\"{}\"", name(from), name(to),
            id_prefix_, arrow.id, word(arrow.look), tooltip_text(from.title + (back ? " ← " : " → ") + to.title, 200));
        const bool residual = arrow.look == Arrow::Look::residual;
        if (residual && (from.frame != 0 || to.frame != 0) && !arrow.label.empty()) {
            // Room for a label inside a frame may bend the line: here it stands to the right of where the arrow begins.
            const double right = 3.3 * static_cast<double>(arrow.label.size()) + 9, down = 13;
            out_ += fmt::format(", taillabel=\"{}\", labelangle={:.0f}, labeldistance={:.2f}", dot_text(arrow.label),
                std::atan2(right, down) * 180 / 3.14159265, std::hypot(right, down) / 10);
        } else if (!arrow.label.empty()) {
            // Set off from the line by spaces that pictures keep, more from a heavy one.
            out_ += fmt::format(", label=\"{}{}\", labeltooltip=\"{}\"", residual ? "\u00A0\u00A0\u00A0" : "\u00A0",
                dot_text(arrow.label), tooltip_text(arrow.label, 60));
        }
        if (residual) {
            out_ += fmt::format(", penwidth=4, color=\"{}\", weight=1000", palette_.stream);
            if (backward_) out_ += ", tailport=s, headport=n"; // the cotangent beside it would push it off the middle
            // One unbroken line, with a head where it ends.
            out_ += to.look == Box::Look::output ? ", arrowsize=0.5" : ", dir=none";
        }
        // With a label of its own it is not laid out as one with the stream's line, which would bend.
        if (back)
            out_ += fmt::format(
                ", label=\" \", style=dashed, penwidth=1.3, color=\"{}\", dir=back, weight=0", palette_.cotangent);
        out_ += "];\n";
    }

    std::string legend() const {
        std::set<Box::Look> looks;
        bool parameters = false, residual = false, cotangent = false;
        for (const Drawing& drawing : drawings_) {
            for (const Box& box : drawing.boxes) {
                looks.insert(box.look);
                for (const Note& note : box.notes) parameters |= note.kind == Note::Kind::parameter;
            }
            for (const Arrow& arrow : drawing.arrows) {
                residual |= arrow.look == Arrow::Look::residual;
                cotangent |= arrow.look == Arrow::Look::cotangent;
            }
        }
        std::string cells;
        const auto swatch = [&](Colours colours, const char* text, int border = 1) {
            cells += fmt::format("<TD BORDER=\"{}\" STYLE=\"ROUNDED\" BGCOLOR=\"{}\" COLOR=\"{}\">{}</TD>", border,
                colours.fill, colours.line, text);
        };
        if (looks.contains(Box::Look::norm)) swatch(palette_.of(Box::Look::norm), "norm", 2);
        if (looks.contains(Box::Look::attention)) swatch(palette_.of(Box::Look::attention), "attention");
        if (looks.contains(Box::Look::activation)) swatch(palette_.of(Box::Look::activation), "activation, gate");
        if (looks.contains(Box::Look::linear)) swatch(palette_.of(Box::Look::linear), "linear");
        if (looks.contains(Box::Look::parameter)) swatch(palette_.of(Box::Look::parameter), "parameter");
        else if (parameters)
            cells += fmt::format("<TD><FONT COLOR=\"{}\">parameters</FONT></TD>", palette_.of(Note::Kind::parameter));
        if (looks.contains(Box::Look::add)) cells += "<TD>⊕ add</TD>";
        const auto line = [&](const char* colour, int height, const char* text) {
            cells += fmt::format(
                "<TD><TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"0\"><TR><TD "
                "FIXEDSIZE=\"TRUE\" WIDTH=\"28\" HEIGHT=\"{}\" "
                "BGCOLOR=\"{}\"></TD></TR></TABLE></TD><TD>{}</TD>",
                height, colour, text);
        };
        if (residual) line(palette_.stream, 4, "residual stream");
        if (cotangent) line(palette_.cotangent, 2, "cotangent, against the data");
        if (cells.empty()) return " ";
        return fmt::format(
            "<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"6\" CELLPADDING=\"4\"><TR>{}</TR></TABLE>", cells);
    }

    static const char* word(Box::Look look) {
        constexpr const char* words[] = {
            "input", "output", "parameter", "constant", "add", "norm", "linear", "activation", "attention", "other"};
        return words[static_cast<std::size_t>(look)];
    }
    static const char* word(Arrow::Look look) {
        return look == Arrow::Look::residual ? "residual" : look == Arrow::Look::cotangent ? "cotangent" : "data";
    }

    const std::vector<Drawing>& drawings_;
    const DotOptions& options_;
    const Palette& palette_;
    std::string out_, dot_prefix_, id_prefix_;
    bool backward_ = false; ///< of the drawing being written
};

using Escapes = std::initializer_list<std::pair<char, std::string_view>>;

/// Well-formed UTF-8 of at most `longest` characters; those in `escapes` are written as it says.
std::string escaped(std::string_view text, std::size_t longest, Escapes escapes) {
    std::string out;
    std::size_t count = 0;
    while (!text.empty()) {
        if (count++ == longest) return out + "…";
        const std::size_t length = utf8_length(text);
        const std::string_view bytes = text.substr(0, std::max<std::size_t>(length, 1));
        const char c = bytes[0]; // of a longer character no byte that DOT or XML reads
        const auto escape = std::find_if(escapes.begin(), escapes.end(), [&](const auto& e) { return e.first == c; });
        const bool control = (c >= 0 && c < 0x20 && c != '\n') || c == 0x7F;
        if (length == 0) out += "\uFFFD";
        else if (control || bytes == "\uFFFE" || bytes == "\uFFFF") out += ' ';
        else out += escape != escapes.end() ? escape->second : bytes;
        text.remove_prefix(bytes.size());
    }
    return out;
}

} // namespace

std::string dot_text(std::string_view text, std::size_t longest) {
    return escaped(text, longest, {{'"', "\\\""}, {'\\', "\\\\"}, {'&', "&amp;"}, {'\n', "\\n"}});
}

std::string dot_html(std::string_view text, std::size_t longest) {
    if (text.empty()) return "&#160;"; // Graphviz refuses an element without text
    return escaped(text, longest,
        {{'"', "&quot;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'\\', "\\\\"}, {'\n', "<BR/>"}});
}

std::string to_dot(const std::vector<Drawing>& drawings, const DotOptions& options) {
    return Writer(drawings, options).write();
}

std::string to_dot(const Graph& graph, const std::string& title) {
    DrawOptions options;
    options.level = DrawOptions::Level::op;
    options.fold_repeats = false;
    Drawing drawing = draw(graph, options);
    drawing.title = title;
    DotOptions plain;
    plain.legend = false;
    return to_dot({drawing}, plain);
}

} // namespace chalkgrad
