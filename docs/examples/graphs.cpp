#include <chalkgrad/chalkgrad.hpp>
#include <iostream>

using namespace chalkgrad;

int main() {
    Tape tape;
    const auto h = tape.variable(xt::xarray<double>{{1, 2}, {3, -1}}, "h");
    const auto w = tape.variable(xt::xarray<double>{{0.5, -1}, {2, 1}}, "W");
    const auto scope = tape.scope("pre-LN block"); // that is what the label says
    const auto y = rms_norm(h + matmul(h, w), {}, 1e-6).named("y");

    const Graph graph = graph_of(tape, {h.line()}, {y.line()});
    const Topology topology = topology_of(graph);
    std::cout << topology.placement << '\n';
    for (const auto& sentence : topology.evidence) std::cout << "- " << sentence << '\n';
    for (const auto& sentence : topology.contradictions) std::cout << "! " << sentence << '\n';

    const Drawing drawing = draw(graph);
    for (const Box& box : drawing.boxes) std::cout << '[' << box.title << "] ";
    std::cout << '\n' << to_dot({drawing}).substr(0, 19) << '\n'; // dot -Tsvg reads it
}
