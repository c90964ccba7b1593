// Graphs and DOT: what is a node, where the residual line runs, and text that cannot break the file.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/graph/dot.hpp>
#include <chalkgrad/autograd/graph/graph.hpp>
#include <chalkgrad/nn/layers/residual.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>

namespace test_graph {
BOOST_AUTO_TEST_SUITE(graph)

using namespace chalkgrad;

BOOST_AUTO_TEST_CASE(equal_names_stay_two_nodes) { // G38
    Tape t;
    const auto w1 = t.variable(1.0, "w"), w2 = t.variable(2.0, "w");
    t.variable(3.0, "lonely");
    const auto y = w1 * w1 + w2;
    const Graph graph = graph_of(t);
    BOOST_TEST(graph.nodes.size() == 5u);
    BOOST_TEST(graph.edges.size() == 4u);
    std::size_t twice = 0;
    for (const GraphEdge& edge : graph.edges) twice += edge.from == w1.line() && graph.nodes[edge.to].op == "mul";
    BOOST_TEST(twice == 2u);
    BOOST_TEST((graph.nodes[y.line()].kind == GraphNode::Kind::output));
    BOOST_TEST(graph.residual_adds.empty());
}

BOOST_AUTO_TEST_CASE(the_residual_line) {
    for (const nn::Placement placement : nn::placements()) {
        Tape t(Tape::Mode::shapes_only);
        const auto x = t.leaf<double>({4, 8}, nullptr, true, "h");
        const auto y = nn::stand_in_block(placement, x);
        const Graph graph = graph_of(t, {x.line()});
        BOOST_TEST(graph.residual_adds.size() == 2u, nn::name(placement));
        // The heavy edges alone lead from the input to the output.
        std::vector<char> reached(graph.nodes.size(), 0);
        reached[x.line()] = 1;
        for (const GraphEdge& edge : graph.edges)
            if (edge.residual && reached[edge.from]) reached[edge.to] = 1;
        BOOST_TEST(reached[y.line()] == 1, nn::name(placement));
        // Norms on the line: none in Pre, Peri and output-only; one for each add in Post and DeepNorm.
        std::size_t norms_on_line = 0, norms = 0;
        for (const GraphNode& node : graph.nodes)
            if (node.role == Role::norm) {
                ++norms;
                norms_on_line += node.on_stream;
            }
        const bool post = placement == nn::Placement::post || placement == nn::Placement::deepnorm;
        BOOST_TEST(norms_on_line == (post ? 2u : 0u), nn::name(placement));
        BOOST_TEST(norms == (placement == nn::Placement::peri ? 4u : 2u));
    }
}

BOOST_AUTO_TEST_CASE(elements_of_a_picture_are_named_by_tape_lines) {
    Tape t;
    const Var<double> x = t.variable(1.0, "x");
    const Scope scope = t.scope("inside");
    const Var<double> y = x * x, z = y * y;
    const std::string dot = to_dot(graph_of(t));
    for (const char* id :
        {"id=\"line-0\"", "id=\"line-1\"", "id=\"edge-0-1-0\"", "id=\"edge-0-1-1\"", "id=\"scope-1\""})
        BOOST_TEST(dot.find(id) != std::string::npos, id);
}

BOOST_AUTO_TEST_CASE(same_graph_same_bytes) { // G39
    const auto bytes = [] {
        Tape t(Tape::Mode::shapes_only);
        const auto x = t.leaf<double>({4, 8}, nullptr, true, "h");
        nn::stand_in_block(nn::Placement::peri, x);
        return to_dot(graph_of(t, {x.line()}), "peri");
    };
    const std::string first = bytes();
    Tape unrelated;
    unrelated.variable(1.0) + unrelated.variable(2.0);
    BOOST_TEST(bytes() == first);
    BOOST_TEST(first.find("0x") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(text_is_escaped) { // G36, G37
    BOOST_TEST(dot_text("w \"gate\"") == "w \\\"gate\\\"");
    BOOST_TEST(dot_text("<lambda> & y") == "<lambda> &amp; y");
    BOOST_TEST(dot_text("a|b{c}") == "a|b{c}");
    BOOST_TEST(dot_text("back\\n") == "back\\\\n");
    BOOST_TEST(dot_text("two\nlines") == "two\\nlines");
    BOOST_TEST(dot_text("γ⊙x + β") == "γ⊙x + β");
    BOOST_TEST(dot_text(std::string("a\0b\x01", 4)) == "a b ");
    BOOST_TEST(dot_text("\xFF\xC0\x80") == "\uFFFD\uFFFD\uFFFD");
    const std::string cut = dot_text(std::string(20000, 'x'));
    BOOST_TEST(cut == std::string(60, 'x').append("…"));
    Tape t;
    for (const char* name : {"Node", "graph", "edge", "0c", "1f", "a:b", "layers.0/w", "strict"}) t.variable(1.0, name);
    const std::string dot = to_dot(graph_of(t));
    for (int i = 0; i < 8; ++i) BOOST_TEST(dot.find("  n" + std::to_string(i) + " [") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_graph
