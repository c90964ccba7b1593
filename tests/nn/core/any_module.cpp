// Parts of the user's own in the place of ours: activations, norms, attention, FFNs.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/autograd/graph/drawing.hpp>
#include <chalkgrad/autograd/graph/topology.hpp>
#include <chalkgrad/nn/core/ledger.hpp>
#include <chalkgrad/nn/layers/stack.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/shape/shape_ops.hpp>

#include "../../ops/arrays.hpp"

namespace test_any_module {
BOOST_AUTO_TEST_SUITE(any_module)

using namespace chalkgrad;
using namespace chalkgrad::nn;
using namespace chalkgrad::testing;

namespace {

constexpr std::size_t d = 6;

/// x ⊙ a, a vector of its own.
struct Scaled {
    Parameter a;
    explicit Scaled(std::size_t n) : a("a", {n}, "scaled", constant(1)) {}
    template <class T> Var<T> operator()(Binding<T>& on, const Var<T>& x) const { return x * on(a); }
    void visit(const Visitor& v) const { v(a); }
};
/// x W.
struct Mixed {
    Linear map;
    explicit Mixed(std::size_t n) : map("w", n, n, false, "mixed") {}
    template <class T> Var<T> operator()(Binding<T>& on, const Var<T>& x) const { return map(on, x); }
    void visit(const Visitor& v) const { v(map); }
};
/// γ x/rms(x), in two lines.
struct LeanNorm {
    Scaled gain;
    template <class T> Var<T> operator()(Binding<T>& on, const Var<T>& x) const {
        return gain(on, rms_norm(x, {}, 1e-6));
    }
    void visit(const Visitor& v) const { v(gain); }
};

const auto squared = [](const auto& x) { return relu(x) * relu(x); };
const auto scaled = [](std::size_t n) { return Scaled(n); };
const auto mixed = [](std::size_t n) { return Mixed(n); };

BlockOptions usual() { return {.d = d, .attention = {.heads = 2}, .ffn = {.width = 8}}; }
/// Every part of the user's own.
BlockOptions all_own(Placement placement) {
    BlockOptions o = usual();
    o.placement = placement;
    o.norm.own = {"lean_norm", [](std::size_t n) { return LeanNorm{Scaled(n)}; }};
    o.own_attention = {"mixer", mixed};
    o.own_ffn = {"network", mixed};
    return o;
}
std::vector<std::string> names_of(const Block& block) {
    std::vector<std::string> names;
    for (const auto& [name, parameter] : parameters_of(block)) names.push_back(name);
    return names;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_placement_holds_them) {
    for (const Placement placement : all_placements()) {
        const Block block(all_own(placement));
        Generator rng(3);
        initialize_for_check(block, rng);
        Tape tape;
        Binding<double> on(tape);
        const bool streams = placement == Placement::mhc;
        const auto x = tape.variable(rng.standard_normal(streams ? Shape{4, 3, d} : Shape{3, d}), "x");
        const auto y = block(on, x);
        auto all = on.variables();
        BOOST_TEST(all.size() == parameters_of(block).size());
        all.push_back(x);
        BOOST_TEST_CONTEXT(name(placement)) {
            BOOST_TEST((gradcheck({y}, all).verdict == Verdict::pass));
            const Graph graph = graph_of(tape, {x.line()});
            const Topology topology = topology_of(graph);
            BOOST_TEST(topology.placement == name(placement));
            for (const Topology::Norm& norm : topology.norms) BOOST_TEST(norm.scope.starts_with("norm"), norm.scope);
            std::string titles;
            for (const Box& box : draw(graph).boxes) {
                titles += "[" + box.title + "]";
                if (box.title.starts_with("norm")) {
                    BOOST_TEST((box.look == Box::Look::norm));
                    BOOST_TEST_REQUIRE(!box.notes.empty());
                    BOOST_TEST(box.notes[0].text == "lean_norm");
                }
            }
            BOOST_TEST(titles.find("[mixer]") != std::string::npos, titles);
            BOOST_TEST(titles.find("[network]") != std::string::npos, titles);
        }
    }
}

BOOST_AUTO_TEST_CASE(each_place_has_parameters_of_its_own) {
    const std::vector<std::string> expected = {"mixer.w", "network.w", "norm1.lean_norm.a", "norm2.lean_norm.a"};
    BOOST_TEST(names_of(Block(all_own(Placement::pre))) == expected, boost::test_tools::per_element());
    const Stack apart(2, all_own(Placement::pre));
    BOOST_TEST(ledger_of(apart).distinct == 4 * d * d + 4 * d);
    BlockOptions tied = all_own(Placement::pre); // a module that is made already stands in both layers
    tied.own_ffn = {"network", Mixed(d)};
    BOOST_TEST(ledger_of(Stack(2, tied)).distinct == 3 * d * d + 4 * d);
    BOOST_TEST(ledger_of(Stack(2, tied)).aliases == d * d);
}

BOOST_AUTO_TEST_CASE(activations) {
    for (const bool gated : {true, false})
        for (const Packing packing : {Packing::separate, Packing::gate_first}) {
            if (!gated && packing != Packing::separate) continue;
            BlockOptions o = usual();
            o.ffn = {.width = 5, .gated = gated, .packing = packing, .own = {"scaled", scaled}};
            const Block block(o);
            BOOST_TEST(std::get<Ffn>(block.ffn).options.own.name() == "scaled");
            Generator rng(4);
            initialize_for_check(block, rng);
            Tape tape;
            Binding<double> on(tape);
            const auto x = tape.variable(rng.standard_normal({3, d}), "x");
            const auto y = block(on, x);
            BOOST_TEST((gradcheck({y}, on.variables()).verdict == Verdict::pass));
            const auto names = names_of(block);
            BOOST_TEST(std::count(names.begin(), names.end(), "ffn.scaled.a") == 1);
        }
    // What silu of the user's own makes is what ours makes; among experts too.
    FfnOptions ours{.d = d, .width = 5}, own = ours;
    own.own = {"silu", [](const auto& x) { return silu(x); }};
    const Moe a({.expert = ours, .experts = 3, .per_token = 2}), b({.expert = own, .experts = 3, .per_token = 2});
    const auto run = [](const Moe& moe) {
        Generator rng(5);
        initialize(moe, rng);
        Tape tape;
        Binding<double> on(tape);
        return moe(on, tape.variable(rng.standard_normal({3, d}))).value();
    };
    check_array(run(a), run(b), 1e-14);
}

BOOST_AUTO_TEST_CASE(in_every_scalar_that_they_take) {
    const AnyModule any("squared", squared), in_double("doubled", [](const Var<double>&x) { return 2 * x; });
    const auto run = [&]<class T>(const AnyModule& module, T) {
        Tape tape;
        Binding<T> on(tape);
        return module(on, tape.variable(Array<T>{T(-1), T(2)})).value()(1);
    };
    BOOST_TEST(run(any, 0.0) == 4);
    BOOST_TEST(run(any, 0.0f) == 4);
    BOOST_TEST(run(any, 0.0L) == 4);
    BOOST_TEST(run(in_double, 0.0) == 4);
    check_refused([&] { run(in_double, 0.0f); }, "doubled", {"takes no float", "const auto& x"});
    Tape shapes(Tape::Mode::shapes_only);
    Binding<bfloat16> on(shapes);
    BOOST_TEST((any(on, shapes.leaf<bfloat16>({2, 3}, nullptr, true)).shape() == Shape{2, 3}));
}

BOOST_AUTO_TEST_CASE(what_is_refused) {
    Tape tape, other;
    Binding<double> on(tape);
    const auto x = tape.variable(Array<double>{{1, 2, 3}}, "x"), y = other.variable(Array<double>{{1, 2, 3}});
    const auto says = [&](const AnyModule& module, const std::vector<std::string>& words) {
        check_refused([&] { module(on, x); }, "part", words);
    };
    says({"part", [](const auto& u) { return matmul(u, transpose(u)); }}, {"makes (1, 1) of (1, 3)", "keep the shape"});
    says({"part", [](const Var<double>&) { return Var<double>(); }}, {"empty Var"});
    says({"part", [&](const Var<double>&) { return y; }}, {"another tape"});
    says({"part", scaled}, {"makes modules"});
    check_refused([] { AnyModule("", squared); }, "AnyModule", {"empty"});
    check_refused([] { Block({.d = d}); }, "ffn", {"width is 0", ".ffn = {.width"});
    BlockOptions o = all_own(Placement::pre);
    const Block block(o);
    Generator rng(6);
    initialize(block, rng);
    const auto h = tape.variable(Array<double>(std::vector<std::size_t>{2, d}, 1.));
    check_refused([&] { block(on, h, h); }, "block", {"mask"});
    o = usual();
    o.attention.qk_norm = {.axis = QkAxis::per_head_gains, .norm = {.own = {"lean", squared}}};
    check_refused([&] { Block{o}; }, "norm", {"gains by head"});
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_any_module
