// Formulas of block Jacobians: right for every placement, and seen to be wrong when they are.
#include <boost/test/unit_test.hpp>

#include <map>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/experiments/present/block_jacobian.hpp>
#include <chalkgrad/nn/layers/catalog.hpp>
#include <chalkgrad/nn/layers/residual.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/shape/shape_ops.hpp>
#include <chalkgrad/ops/streams/mhc_mix.hpp>

namespace test_block_jacobian {
BOOST_AUTO_TEST_SUITE(block_jacobian)

using namespace chalkgrad;

namespace {

/// A tape whose leaves are drawn.
struct Drawn {
    Tape tape;
    Generator rng;
    explicit Drawn(std::uint64_t seed) : rng(seed) {}
    Var<double> operator()(const Shape& shape, const char* name) {
        return tape.variable(rng.standard_normal(shape), name);
    }
};

BlockJacobian jacobian_of(const Var<double>& x, const Var<double>& y) {
    const Graph graph = graph_of(x.tape(), {x.line()});
    return chalkgrad::block_jacobian(x.tape(), graph, topology_of(graph), x.line(), y.line());
}

void check_formula(const Var<double>& x, const Var<double>& y, const std::string& formula) {
    const BlockJacobian j = jacobian_of(x, y);
    BOOST_TEST(j.formula == formula);
    BOOST_TEST(j.error < 1e-13, formula);
}

} // namespace

BOOST_AUTO_TEST_CASE(every_placement_has_its_formula) {
    const std::map<std::string, std::string> formulas = {{"pre", "J = (I + J_ffn J_N) (I + J_attention J_N)"},
        {"post", "J = J_N (I + J_ffn) J_N (I + J_attention)"},
        {"peri", "J = (I + J_N J_ffn J_N) (I + J_N J_attention J_N)"},
        {"output_only", "J = (I + J_N J_ffn) (I + J_N J_attention)"},
        {"deepnorm", "J = J_N (α I + J_ffn) J_N (α I + J_attention)"}};
    for (const nn::Placement placement : nn::placements()) {
        const Var<double> x = Drawn(1)({3, 5}, "h");
        const BlockJacobian j = jacobian_of(x, nn::stand_in_block(placement, x));
        const auto formula = formulas.find(nn::name(placement));
        if (formula != formulas.end()) BOOST_TEST(j.formula == formula->second);
        BOOST_TEST(j.holds, nn::name(placement) << ": " << j.error);
        BOOST_TEST(j.error < 1e-13, nn::name(placement));
        BOOST_TEST(!x.name().empty());
    }
}

BOOST_AUTO_TEST_CASE(streams_that_mix) {
    Drawn draw(2);
    const Var<double> x = draw({2, 5}, "X");
    const Var<double> mixed = mhc_mix_param(x, draw({2, 2}, "m"));
    const Var<double> u = matmul(draw({1, 2}, "pre"), x);
    const Var<double> o = matmul(rms_norm(u, draw({5}, "gamma"), 1e-6), draw({5, 5}, "W"));
    const Var<double> y = mixed + draw({2, 1}, "post") * o;
    check_formula(x, y, "J = J_mix + J_write J_F J_N J_read");
}

BOOST_AUTO_TEST_CASE(maps_that_the_streams_determine) {
    // Each map alone, then all of them: its term stands there exactly when it moves. Terms that were left out would show.
    const std::map<std::string, std::string> formulas = {{"A", "J = J_mix + A′X + J_write J_F J_N J_read"},
        {"pre", "J = J_mix + J_write J_F J_N (J_read + pre′X)"},
        {"post", "J = J_mix + J_write J_F J_N J_read + post′F"},
        {"A, pre, post", "J = J_mix + A′X + J_write J_F J_N (J_read + pre′X) + post′F"}};
    for (const auto& [moving, formula] : formulas) {
        Drawn draw(3);
        const auto moves = [&](const char* map) { return moving.find(map) != std::string::npos; };
        const Var<double> x = draw({2, 5}, "X"), row = reshape(x, {1, 10});
        const auto map = [&](const char* its_name, std::ptrdiff_t rows, std::ptrdiff_t columns) {
            const auto n = static_cast<std::size_t>(rows * columns);
            if (!moves(its_name))
                return draw({static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)}, its_name);
            return reshape(sigmoid(matmul(row, draw({10, n}, its_name))), {rows, columns});
        };
        const Var<double> mixed = matmul(map("A", 2, 2), x), u = matmul(map("pre", 1, 2), x);
        const Var<double> o = matmul(rms_norm(u, draw({5}, "gamma"), 1e-6), draw({5, 5}, "W"));
        const Var<double> y = mixed + map("post", 2, 1) * o;
        check_formula(x, y, formula);
    }
}

BOOST_AUTO_TEST_CASE(a_mixture_that_is_one_op_with_its_matrix) {
    Drawn draw(4);
    const Var<double> x = draw({3, 2, 5}, "X");
    const Var<double> mixed = mhc_mix_xdep(x, draw({10, 4}, "W"), draw({2, 2}, "B"), draw({}, "alpha"));
    const Var<double> u = matmul(draw({1, 2}, "pre"), x);
    const Var<double> y =
        mixed + draw({2, 1}, "post") * matmul(rms_norm(u, draw({5}, "gamma"), 1e-6), draw({5, 5}, "W"));
    check_formula(x, y, "J = (A X)′ + J_write J_F J_N J_read");
}

BOOST_AUTO_TEST_CASE(the_block_of_the_paper) {
    const Tape tape;
    const nn::Recorded block = nn::find_block("mhc_x_dependent").record(tape, 1);
    const Graph graph = graph_of(tape, {block.inputs[0].line()}, {block.output.line()});
    const BlockJacobian j =
        chalkgrad::block_jacobian(tape, graph, topology_of(graph), block.inputs[0].line(), block.output.line());
    BOOST_TEST(j.formula ==
               "J = (J_mix + A′X + J_write J_ffn J_norm2 (J_read + pre′X) + post′F) "
               "(J_mix + A′X + J_write J_attention J_norm1 (J_read + pre′X) + post′F)");
    BOOST_TEST(j.error < 1e-13);
}

BOOST_AUTO_TEST_CASE(two_branches_side_by_side) {
    Drawn draw(2);
    const Var<double> x = draw({3, 4}, "h");
    const Var<double> n = rms_norm(x, draw({4}, "gamma"), 1e-6);
    const auto branch = [&](const char* name) {
        const Scope scope = draw.tape.scope(name);
        return matmul(n, draw({4, 4}, "W"));
    };
    const Var<double> a = branch("attention");
    const Var<double> y = x + a + branch("ffn");
    check_formula(x, y, "J = I + J_attention J_N + J_ffn J_N");
}

BOOST_AUTO_TEST_CASE(a_formula_that_does_not_hold_is_seen) {
    // Told that a Pre-LN block has no add after its first, the product of the parts misses a step.
    const Tape tape;
    Generator rng(1);
    const Var<double> x = tape.variable(rng.standard_normal({3, 5}), "h");
    const Var<double> y = nn::stand_in_block(nn::Placement::pre, x);
    Graph graph = graph_of(tape, {x.line()});
    const Topology topology = topology_of(graph);
    for (ResidualAdd& add : graph.residual_adds) add.scaled = true; // α I is then the whole carrier: still right
    BOOST_TEST(chalkgrad::block_jacobian(tape, graph, topology, x.line(), y.line()).holds);
    std::swap(graph.residual_adds[0].carrier, graph.residual_adds[0].branch);
    graph.residual_adds[0].scaled = false; // I in the place of the branch
    BOOST_TEST(!chalkgrad::block_jacobian(tape, graph, topology, x.line(), y.line()).holds);
    graph.residual_adds.clear();
    BOOST_CHECK_THROW(chalkgrad::block_jacobian(tape, graph, topology, x.line(), y.line()), Error);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_block_jacobian
