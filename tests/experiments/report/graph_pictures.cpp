// Pictures of blocks: what Graphviz makes of them. The residual line is straight, every skip edge is seen, no label lies on
// another or on a box, and no name can break them.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/graph/dot.hpp>
#include <chalkgrad/autograd/graph/topology.hpp>
#include <chalkgrad/experiments/report/render.hpp>
#include <chalkgrad/nn/layers/catalog.hpp>
#include <chalkgrad/nn/layers/stack.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>

namespace test_graph_pictures {
BOOST_AUTO_TEST_SUITE(graph_pictures)

using namespace chalkgrad;

namespace {

struct Rectangle {
    double left, bottom, right, top;
    std::string what;
    bool meets(const Rectangle& other, double slack) const {
        return left + slack < other.right && other.left + slack < right && bottom + slack < other.top &&
               other.bottom + slack < top;
    }
};

/// What Graphviz laid out, in points: boxes, texts on edges, and the heavy lines as (x, y) of their ends and bends.
struct Layout {
    std::vector<Rectangle> boxes, labels;
    std::vector<std::vector<std::pair<double, double>>> residual;

    explicit Layout(const std::string& dot) {
        const nlohmann::json json = nlohmann::json::parse(render_dot(dot, "json"));
        for (const auto& object : json.at("objects")) {
            if (!object.contains("pos")) continue;
            double x, y;
            std::sscanf(object.at("pos").get<std::string>().c_str(), "%lf,%lf", &x, &y);
            const double w = 36 * std::stod(object.at("width").get<std::string>()),
                         h = 36 * std::stod(object.at("height").get<std::string>());
            boxes.push_back({x - w, y - h, x + w, y + h, object.at("name")});
        }
        if (!json.contains("edges")) return;
        for (const auto& edge : json.at("edges")) {
            const std::string kind = edge.value("class", "");
            for (const char* const draws : {"_ldraw_", "_tldraw_"}) {
                double size = 10;
                if (!edge.contains(draws)) continue;
                for (const auto& step : edge.at(draws)) {
                    if (step.at("op") == "F") size = step.at("size");
                    if (step.at("op") != "T") continue;
                    const double x = step.at("pt")[0], y = step.at("pt")[1], w = step.at("width").get<double>() / 2;
                    const std::string text = step.at("text");
                    double ink = x - w; // behind the spaces that set it off, which are 0.318 of the size wide
                    for (std::size_t at = 0; text.compare(at, 2, "\u00A0") == 0; at += 2) ink += 0.318 * size;
                    labels.push_back({ink, y, x + w, y + 0.7 * size, text});
                }
            }
            if (kind != "residual") continue;
            residual.emplace_back();
            for (const auto& step : edge.at("_draw_"))
                if (step.at("op") == "b")
                    for (const auto& point : step.at("points")) residual.back().emplace_back(point[0], point[1]);
        }
    }
};

void check_layout(const std::string& dot, const std::string& what) {
    const Layout layout(dot);
    for (const auto& line : layout.residual) {
        BOOST_REQUIRE(line.size() >= 2);
        double least = HUGE_VAL, most = -HUGE_VAL;
        for (const auto& [x, y] : line) least = std::min(least, x), most = std::max(most, x);
        BOOST_TEST(most - least < 1, what << ": the residual line bends by " << most - least << " points");
        // A line of no length would be hidden by its boxes.
        BOOST_TEST(std::abs(line.front().second - line.back().second) > 5, what);
        for (const Rectangle& label : layout.labels) {
            const Rectangle heavy{least - 2, std::min(line.front().second, line.back().second), most + 2,
                std::max(line.front().second, line.back().second), "the line"};
            BOOST_TEST(!label.meets(heavy, 0), what << ": " << label.what << " touches the residual line");
        }
    }
    for (std::size_t i = 0; i < layout.labels.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k)
            BOOST_TEST(!layout.labels[i].meets(layout.labels[k], 1),
                what << ": " << layout.labels[i].what << " lies on another label");
        for (const Rectangle& box : layout.boxes)
            BOOST_TEST(
                !layout.labels[i].meets(box, 1), what << ": " << layout.labels[i].what << " lies on " << box.what);
    }
    for (std::size_t i = 0; i < layout.boxes.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
            BOOST_TEST(!layout.boxes[i].meets(layout.boxes[k], 0), what << ": two boxes overlap");
}

struct Recorded {
    Tape tape{Tape::Mode::shapes_only};
    Graph graph;
    explicit Recorded(const nn::BlockEntry& block) {
        const nn::Recorded lines = block.record(tape, 0);
        graph = graph_of(tape, lines.input_lines(), {lines.output.line()});
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(every_block_is_laid_out_well) {
    for (const nn::BlockEntry& block : nn::blocks()) {
        const Recorded recorded(block);
        Drawing drawing = draw(recorded.graph);
        drawing.title = block.name;
        drawing.subtitle = block.formula;
        check_layout(to_dot({drawing}), block.name);
        DrawOptions ops;
        ops.level = DrawOptions::Level::op;
        check_layout(to_dot({draw(recorded.graph, ops)}), block.name + ", every op");
        DrawOptions both;
        both.backward = true;
        both.notes.assign(recorded.graph.nodes.size(),
            {{Note::Kind::value, "value rms 0.1234"}, {Note::Kind::missing, "gradient not computed"}});
        check_layout(to_dot({draw(recorded.graph, both)}), block.name + ", backward");
    }
}

BOOST_AUTO_TEST_CASE(a_block_at_module_level_is_a_handful_of_boxes) {
    for (const char* const name : {"pre", "post", "peri", "output_only", "deepnorm", "parallel", "mhc"}) {
        const Recorded recorded(nn::find_block(name));
        const Drawing drawing = draw(recorded.graph);
        BOOST_TEST(drawing.boxes.size() >= 6u, name);
        BOOST_TEST(drawing.boxes.size() <= 12u, name << ": " << drawing.boxes.size());
        // Every skip edge is there: as many heavy lines as the stream has stretches between boxes.
        std::size_t heavy = 0, on_stream = 0;
        for (const Arrow& arrow : drawing.arrows) heavy += arrow.look == Arrow::Look::residual;
        for (const Box& box : drawing.boxes) on_stream += box.on_stream;
        BOOST_TEST(heavy == on_stream - 1, name);
        BOOST_TEST(heavy >= 3u, name);
    }
}

BOOST_AUTO_TEST_CASE(side_by_side_with_everything_on) {
    std::vector<Drawing> drawings;
    for (const char* const name : {"pre", "post", "peri", "output_only", "deepnorm", "parallel", "mhc"}) {
        const Recorded recorded(nn::find_block(name));
        drawings.push_back(draw(recorded.graph));
        drawings.back().title = name;
    }
    for (const auto theme : {DotOptions::Theme::light, DotOptions::Theme::dark}) {
        DotOptions options;
        options.theme = theme;
        const std::string dot = to_dot(drawings, options);
        check_layout(dot, "side by side");
        BOOST_TEST(to_dot(drawings, options) == dot);
    }
    // From left to right in the order given.
    const Layout layout(to_dot(drawings));
    double before = -HUGE_VAL;
    for (std::size_t k = 0; k < drawings.size(); ++k)
        for (const Rectangle& box : layout.boxes)
            if (box.what.starts_with(fmt::format("d{}_n", k)) && box.top > 0) {
                BOOST_TEST(box.left > before);
                before = box.left;
                break;
            }
}

/// A language model of `layers` Pre-LN blocks of Llama 3.1 8B's sizes, as shapes; every third block with a window if `unlike`.
Graph model(std::size_t layers, bool unlike) {
    nn::BlockOptions block{
        .d = 4096, .attention = {.heads = 32, .kv_heads = 8, .rope = RopeOptions()}, .ffn = {.width = 14336}};
    nn::LanguageModelOptions options;
    options.vocabulary = 128256;
    for (std::size_t k = 0; k < layers; ++k) {
        options.blocks.push_back(block);
        if (unlike && k % 3 == 0) options.blocks.back().attention.window = 16 + k;
    }
    const nn::LanguageModel whole(options);
    const Tape tape(Tape::Mode::shapes_only);
    nn::Binding<double> on(tape);
    const Array<std::int64_t> ids = xt::xarray<std::int64_t>{1, 2, 3, 4};
    const Var<double> y = whole(on, ids);
    return graph_of(tape, {}, {y.line()});
}

double seconds(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

BOOST_AUTO_TEST_CASE(whole_models_in_seconds) {
    for (const bool unlike : {false, true}) {
        for (const auto level : {DrawOptions::Level::module, DrawOptions::Level::op}) {
            std::string coarser, dot;
            std::size_t boxes = 0;
            const double took = seconds([&] {
                const Graph graph = model(36, unlike);
                BOOST_TEST(topology_of(graph).placement == "pre");
                DrawOptions options;
                options.level = level;
                const Drawing drawing = draw_at_most(graph, options, 1200, coarser);
                boxes = drawing.boxes.size();
                dot = to_dot({drawing});
                BOOST_TEST(render_dot(dot, "svg").size() > 1000u);
            });
            const bool module = level == DrawOptions::Level::module;
            BOOST_TEST_MESSAGE((module ? "module" : "op")
                               << (unlike ? ", unlike: " : ": ") << boxes << " boxes, " << took << " s " << coarser);
            BOOST_TEST(took < (module ? 2 : 5) * 4.0); // with room for a busy machine
            if (module) check_layout(dot, "36 layers");
            if (!unlike) BOOST_TEST(dot.find("×36") != std::string::npos);
            if (!unlike) BOOST_TEST(boxes < (module ? 20u : 60u));
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_too_large_is_drawn_coarser) {
    const Graph graph = model(4, true);
    DrawOptions options;
    options.level = DrawOptions::Level::op;
    std::string coarser;
    BOOST_TEST(draw_at_most(graph, options, 1000, coarser).boxes.size() > 50u);
    BOOST_TEST(coarser.empty());
    BOOST_TEST(draw_at_most(graph, options, 50, coarser).boxes.size() < 50u);
    BOOST_TEST(coarser.find("it shows modules") != std::string::npos);
    coarser.clear();
    BOOST_TEST(draw_at_most(graph, options, 15, coarser).boxes.size() <= 15u);
    BOOST_TEST(coarser.find("the outermost scopes") != std::string::npos);
    coarser.clear();
    BOOST_CHECK_THROW(draw_at_most(graph, options, 2, coarser), Error);
}

BOOST_AUTO_TEST_CASE(no_name_breaks_a_picture) { // G36, G37, and their kind
    for (const std::string& name : {std::string("w \"gate\""), std::string("<lambda> & y"), std::string("a|b{c}"),
             std::string("back\\slash\\n\\l"), std::string("two\nlines"), std::string("γ⊙x + β 🙂"),
             std::string("</TD></TABLE>"), std::string("&amp; &#65; <b>"), std::string("p:0"), std::string("strict"),
             std::string("\xFF\xC0\x80 \x01"), std::string(20'000, 'x'), std::string("<script>alert(1)</script>"),
             std::string("]; a -> b [")}) {
        const Tape tape;
        const Scope scope = tape.scope(name);
        const Var<double> w = tape.variable(1.0, name), x = tape.variable(2.0, name);
        const Var<double> y = (w * x).named(name);
        const Var<double> z = y + x;
        const Graph graph = graph_of(tape, {x.line()});
        for (const auto level : {DrawOptions::Level::module, DrawOptions::Level::op}) {
            DrawOptions options;
            options.level = level;
            options.depth = 1;
            options.notes.assign(tape.size(), {{Note::Kind::value, name}});
            Drawing drawing = draw(graph, options);
            drawing.title = drawing.subtitle = name;
            const std::string svg = render_dot(to_dot({drawing, drawing}), "svg");
            BOOST_TEST(svg.find("<script>") == std::string::npos);
            BOOST_TEST(svg.find("<TABLE>") == std::string::npos);
            if (name.size() < 60 && name.find_first_of("<>&\"\n\x01\\") == std::string::npos)
                BOOST_TEST(svg.find(">" + name + "<") != std::string::npos, name);
        }
    }
}

BOOST_AUTO_TEST_CASE(empty_and_not_finite) {
    const Tape empty;
    BOOST_TEST(render_dot(to_dot({draw(graph_of(empty))}), "svg").find("</svg>") != std::string::npos);
    BOOST_TEST(render_dot(to_dot(std::vector<Drawing>{}), "svg").find("</svg>") != std::string::npos);
    const Tape tape;
    const Var<double> x = tape.variable(std::nan(""), "x");
    const Var<double> y = x * 2;
    const std::string dot = to_dot({draw(graph_of(tape))});
    BOOST_TEST(dot.find("mul") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_graph_pictures
