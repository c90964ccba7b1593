// A block of one's own: two branches side by side, attention and a mixer of tokens, with the norms where residual() puts them.
#include <chalkgrad/chalkgrad.hpp>
#include <chalkgrad/nn.hpp>
#include <fstream>
#include <iostream>

using namespace chalkgrad;
using namespace chalkgrad::nn;

// A module is parameters, a call and visit(). This one mixes each token with the one before it: x a + shift(x) b.
struct Mixer {
    Parameter a, b;
    explicit Mixer(std::size_t d) : a("a", {d}, "mixer", constant(1)), b("b", {d}, "mixer", normal(0.5)) {}

    template <class T> Var<T> operator()(Binding<T>& on, const Var<T>& x) const {
        const auto first = 0 * slice(x, {Range{.stop = 1}, Range{}}), others = slice(x, {Range{.stop = -1}, Range{}});
        return x * on(a) + concat({first, others}, 0) * on(b);
    }
    void visit(const Visitor& v) const { v(a), v(b); }
};

struct TwoBranches {
    GroupedAttention attention;
    AnyModule mixer;
    Norm norm;
    Placement placement;

    TwoBranches(std::size_t d, Placement its_placement)
        : attention({.d = d, .heads = 2}), mixer("mixer", Mixer(d)), norm("norm", d, {}), placement(its_placement) {}

    template <class T> Var<T> operator()(Binding<T>& on, const Var<T>& h) const {
        const auto branches = [&](const Var<T>& u) {
            Var<T> a;
            {
                const Scope scope = on.scope("attention");
                a = attention(on, u);
            }
            return a + mixer(on, u);
        };
        return residual(placement, h, branches, [&](const Var<T>& u, int) { return norm(on, u); });
    }
    void visit(const Visitor& v) const {
        v("attention", attention);
        v(mixer);
        v("norm", norm);
    }
};

int main(int argc, char** argv) {
    for (const Placement placement : {Placement::pre, Placement::post}) {
        const TwoBranches block(8, placement);
        Generator rng(0);
        initialize_for_check(block, rng); // gains off 1: gradcheck asks for it
        Tape tape;
        Binding<double> on(tape);
        const auto x = tape.variable(rng.standard_normal({3, 8}), "x");
        const auto y = block(on, x).named("y");
        auto all = on.variables();
        all.push_back(x);

        const Graph graph = graph_of(tape, {x.line()});
        const Topology topology = topology_of(graph);
        std::cout << "residual(" << name(placement) << "): gradcheck " << name(gradcheck({y}, all).verdict)
                  << "; read as " << topology.placement << '\n';
        for (const auto& sentence : topology.evidence) std::cout << "- " << sentence << '\n';
        const Drawing drawing = draw(graph);
        for (const Box& box : drawing.boxes) std::cout << '[' << box.title << "] ";
        std::cout << "\n\n";
        if (argc > 1) std::ofstream(argv[1]) << to_dot({drawing}); // dot -Tsvg FILE > picture.svg
    }
}
