// Attention: rows that see nothing, heads that share keys, the cap before the mask, tiles, sinks, normalised queries, refusals.
#include "../arrays.hpp"

#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/ops/attention/qk_norm.hpp>
#include <chalkgrad/ops/attention/sdpa.hpp>

namespace test_sdpa {
BOOST_AUTO_TEST_SUITE(sdpa)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

Array<double> with_shape(Array<double> x, const std::vector<std::size_t>& shape) {
    x.reshape(shape);
    return x;
}

Gradients<double> run_sdpa(const Array<double>& q, const Array<double>& k, const Array<double>& v,
    const Array<double>& gy, const AttentionOptions& options = {}, const Array<double>* mask = nullptr,
    bool composed = false) {
    std::vector<Array<double>> inputs{q, k, v};
    if (mask != nullptr) inputs.push_back(*mask);
    const auto attention = [&](const std::vector<Var<double>>& x) {
        const Var<double> m = mask != nullptr ? x[3] : Var<double>();
        return composed ? sdpa_composed(x[0], x[1], x[2], options, m) : chalkgrad::sdpa(x[0], x[1], x[2], options, m);
    };
    return gradients<double>(attention, inputs, gy);
}

/// The same value, and the same gradients of q, k and v.
void check_same(const Gradients<double>& a, const Gradients<double>& b, double absolute) {
    check_array(a.y, b.y, 0, absolute);
    for (std::size_t i = 0; i < 3; ++i) check_array(a.gx[i], b.gx[i], 0, absolute);
}

} // namespace

// G09
BOOST_AUTO_TEST_CASE(row_with_every_key_masked) {
    on_every_isa([] {
        const Array<double> mask = {{0, -inf, 0}, {-inf, -inf, -inf}};
        const Gradients<double> r = run_sdpa({{1, 0.5}, {-1, 2}}, {{0.3, -0.2}, {1, 1}, {-0.5, 0.4}},
            {{1, 0}, {0, 2}, {3, -1}}, {{1, -2}, {0.5, 4}}, {}, &mask);
        check_array(r.y, {{1.8250419983207804, -0.41252099916039026}, {0, 0}}, 1e-12, 1e-14);
        check_array(r.gx[0], {{-0.5483696230556565, 0.41127721729174244}, {0, 0}}, 1e-12, 1e-14);
        check_array(r.gx[1],
            {{-0.6854620288195707, -0.3427310144097854}, {0, 0}, {0.6854620288195707, 0.3427310144097854}}, 1e-12,
            1e-14);
        check_array(r.gx[2],
            {{0.5874790008396098, -1.1749580016792196}, {0, 0}, {0.41252099916039026, -0.8250419983207805}}, 1e-12,
            1e-14);
        for (const std::size_t i : {1, 3, 4, 5}) BOOST_TEST(r.gx[3].data()[i] == 0);
        for (const std::size_t j : {0, 1}) {
            BOOST_TEST(r.y(1, j) == 0);
            BOOST_TEST(r.gx[0](1, j) == 0);
            BOOST_TEST(r.gx[1](1, j) == 0);
        }
    });
}

// A finite mask is not −inf: the row becomes the mean of the values.
BOOST_AUTO_TEST_CASE(finite_mask) {
    const Array<double> mask = matrix(1, 2, {-1e9, -1e9});
    const Gradients<double> r =
        run_sdpa(matrix(1, 1, {1}), matrix(2, 1, {2, 2}), matrix(2, 1, {1, 4}), matrix(1, 1, {1}), {}, &mask);
    check_near(r.y(0, 0), 2.5, 1e-15);
}

// G31: heads share keys block by block (0, 0, 1, 1), and their gradients add up there.
BOOST_AUTO_TEST_CASE(query_heads_share_key_heads) {
    const Array<double> q = with_shape({1, 2, 3, 4}, {4, 1, 1}), k = with_shape({5, 6}, {2, 1, 1}),
                        v = with_shape({10, 20}, {2, 1, 1});
    const Gradients<double> r = run_sdpa(q, k, v, with_shape({1, 2, 3, 4}, {4, 1, 1}));
    check_array(r.y, with_shape({10, 10, 20, 20}, {4, 1, 1}), 0);
    check_array(r.gx[2], with_shape({3, 7}, {2, 1, 1}), 0);
}

// G10: the scores are the keys themselves, and the values pick out the weights.
BOOST_AUTO_TEST_CASE(cap_before_mask) {
    on_every_isa([] {
        const Array<double> mask = matrix(1, 3, {0, -inf, 0});
        const Gradients<double> r = run_sdpa(matrix(1, 1, {1}), matrix(3, 1, {3, 10, -4}),
            {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, matrix(1, 3, {1, 3, -2}), {.scale = 1, .softcap = 2}, &mask);
        check_array(r.y, matrix(1, 3, {0.976759673743599, 0, 0.02324032625640104}), 1e-12);
        check_array(r.gx[1], matrix(3, 1, {0.01230623784890994, 0, -0.0048113664226363834}), 1e-12);
    });
}

// Far beyond the cap the slope is tiny, and right to the last digits all the same.
BOOST_AUTO_TEST_CASE(slope_where_the_cap_holds) {
    const Gradients<double> r = run_sdpa(
        matrix(1, 1, {1}), matrix(2, 1, {40, 0}), matrix(2, 1, {1, 0}), matrix(1, 1, {1}), {.scale = 1, .softcap = 2});
    const long double e = std::exp(-40.0L), sech2 = 4 * e / ((1 + e) * (1 + e)), z = 2 * std::tanh(20.0L),
                      p = 1 / (1 + std::exp(-z));
    check_near(r.gx[1](0, 0), static_cast<double>(p * (1 - p) * sech2), 1e-14);
}

BOOST_AUTO_TEST_CASE(visible_keys) {
    // The values pick out the weights; equal scores make them uniform over what is seen.
    const std::size_t n = 5;
    Array<double> q = Array<double>::from_shape({n, 1}), v = Array<double>::from_shape({n, n});
    q.fill(0);
    v.fill(0);
    for (std::size_t i = 0; i < n; ++i) v(i, i) = 1;
    const auto check = [&](const AttentionOptions& options, auto visible) {
        Tape tape;
        const Var<double> y = chalkgrad::sdpa(tape.constant(q), tape.constant(q), tape.constant(v), options);
        for (std::size_t i = 0; i < n; ++i) {
            int seen = 0;
            for (std::size_t j = 0; j < n; ++j) seen += visible(i, j);
            for (std::size_t j = 0; j < n; ++j) check_near(y.value()(i, j), visible(i, j) ? 1.0 / seen : 0.0, 1e-15);
        }
    };
    check({}, [](auto, auto) { return true; });
    check({.causal = true}, [](auto i, auto j) { return j <= i; });
    check({.causal = true, .window = 2}, [](auto i, auto j) { return j <= i && j + 2 > i; });
    check({.causal = true, .window = 100}, [](auto i, auto j) { return j <= i; });
    check({.window = 2}, [](auto i, auto j) { return j + 2 > i; });
}

// Lengths around the tile, more queries than keys and fewer, masks that repeat along every axis.
BOOST_AUTO_TEST_CASE(tiles_agree_with_the_whole_matrix) {
    on_every_isa([] {
        Generator rng(5);
        for (const auto& [queries, keys] : std::vector<std::pair<std::size_t, std::size_t>>{
                 {31, 31}, {32, 32}, {33, 33}, {70, 70}, {70, 40}, {3, 65}, {65, 3}})
            for (const AttentionOptions& options : {AttentionOptions{}, AttentionOptions{.causal = true},
                     AttentionOptions{.causal = true, .window = 9, .softcap = 2}, AttentionOptions{.window = 20}}) {
                const Array<double> q = rng.standard_normal({2, 4, queries, 3}),
                                    k = rng.standard_normal({2, 2, keys, 3}), v = rng.standard_normal({2, 2, keys, 5}),
                                    gy = rng.standard_normal({2, 4, queries, 5});
                BOOST_TEST_CONTEXT(queries << " queries, " << keys << " keys, causal " << options.causal << ", window "
                                           << options.window.value_or(0)) {
                    check_same(run_sdpa(q, k, v, gy, options), run_sdpa(q, k, v, gy, options, nullptr, true), 1e-12);
                    for (const Shape& shape :
                        {Shape{queries, keys}, Shape{2, 1, 1, keys}, Shape{4, queries, 1}, Shape{}}) {
                        const Array<double> mask = rng.standard_normal(shape);
                        const Gradients<double> tiled = run_sdpa(q, k, v, gy, options, &mask),
                                                whole = run_sdpa(q, k, v, gy, options, &mask, true);
                        check_same(tiled, whole, 1e-12);
                        check_array(tiled.gx[3], whole.gx[3], 0, 1e-11);
                    }
                }
            }
    });
}

BOOST_AUTO_TEST_CASE(wanted_gradients_only) {
    Generator rng(6);
    const Array<double> q = rng.standard_normal({2, 4, 3}), k = rng.standard_normal({1, 5, 3}),
                        v = rng.standard_normal({1, 5, 2}), gy = rng.standard_normal({2, 4, 2}),
                        mask = rng.standard_normal({4, 5});
    const Gradients<double> all = run_sdpa(q, k, v, gy, {}, &mask);
    for (std::size_t wanted = 0; wanted < 4; ++wanted) {
        Tape tape;
        const auto leaf = [&](const Array<double>& x, std::size_t i) {
            return i == wanted ? tape.variable(x) : tape.constant(x);
        };
        const Var<double> inputs[] = {leaf(q, 0), leaf(k, 1), leaf(v, 2), leaf(mask, 3)};
        chalkgrad::sdpa(inputs[0], inputs[1], inputs[2], {}, inputs[3]).backward(gy);
        check_array(inputs[wanted].grad(), all.gx[wanted], 1e-15, 1e-16);
    }
}

BOOST_AUTO_TEST_CASE(nothing_to_see) {
    const auto empty = [](std::vector<std::size_t> shape) { return Array<double>::from_shape(shape); };
    Array<double> q = empty({2, 3, 4}), gy = empty({2, 3, 2});
    q.fill(1);
    gy.fill(1);
    const Gradients<double> no_keys = run_sdpa(q, empty({2, 0, 4}), empty({2, 0, 2}), gy);
    for (const double y : no_keys.y) BOOST_TEST(y == 0);
    for (const double g : no_keys.gx[0]) BOOST_TEST(g == 0);
    const Gradients<double> no_queries = run_sdpa(empty({2, 0, 4}), q, q, empty({2, 0, 4}));
    BOOST_TEST(no_queries.y.size() == 0);
    for (const double g : no_queries.gx[1]) BOOST_TEST(g == 0);
    BOOST_TEST(
        run_sdpa(empty({0, 2, 3, 4}), empty({0, 2, 3, 4}), empty({0, 2, 3, 4}), empty({0, 2, 3, 4})).gx[2].size() == 0);
}

BOOST_AUTO_TEST_CASE(sinks) {
    on_every_isa([] {
        Generator rng(9);
        const Array<double> q = rng.standard_normal({2, 34, 3}), k = rng.standard_normal({1, 34, 3}),
                            v = rng.standard_normal({1, 34, 2}), gy = rng.standard_normal({2, 34, 2});
        const AttentionOptions options{.causal = true, .window = 5};
        const auto run = [&](const Array<double>& sinks, bool composed) {
            return gradients<double>(
                [&](auto& x) {
                    return composed ? sdpa_sinks_composed(x[0], x[1], x[2], x[3], options)
                                    : sdpa_sinks(x[0], x[1], x[2], x[3], options);
                },
                {q, k, v, sinks}, gy);
        };
        // A sink of −inf is none.
        const Gradients<double> none = run({-inf, -inf}, false);
        check_same(none, run_sdpa(q, k, v, gy, options), 1e-14);
        for (const double g : none.gx[3]) BOOST_TEST(g == 0);
        const Gradients<double> some = run({0.5, 1000}, false), whole = run({0.5, 1000}, true);
        check_same(some, whole, 1e-13);
        check_array(some.gx[3], whole.gx[3], 1e-12, 1e-14);
        BOOST_TEST(std::abs(some.gx[3](0)) > 1e-2);
        for (std::size_t i = 34 * 2; i < 2 * 34 * 2; ++i)
            BOOST_TEST(some.y.data()[i] == 0); // the second sink takes all
    });
    // One key with a score of 0 beside a sink of 0: each takes half.
    Tape tape;
    const Var<double> one = tape.variable(matrix(1, 1, {0})), v = tape.variable(matrix(1, 1, {3})),
                      sink = tape.variable(Array<double>{0.0});
    const Var<double> y = sdpa_sinks(one, one, v, sink);
    y.backward(matrix(1, 1, {1}));
    check_near(y.item(), 1.5, 1e-15);
    check_near(sink.grad()(0), -0.75, 1e-15); // −½ · 1.5
    // A row that sees nothing gives all to its sink: no output, no gradient.
    const Var<double> hidden = tape.constant(matrix(1, 1, {-inf}));
    sink.zero_grad();
    const Var<double> z = sdpa_sinks(one, one, v, sink, {}, hidden);
    z.backward(matrix(1, 1, {1}));
    BOOST_TEST(z.item() == 0);
    BOOST_TEST(sink.grad()(0) == 0);
}

BOOST_AUTO_TEST_CASE(refusals) {
    Tape tape;
    const auto leaf = [&](std::vector<std::size_t> shape) { return tape.variable(Array<double>::from_shape(shape)); };
    const auto call = [&](std::vector<std::size_t> q, std::vector<std::size_t> k, std::vector<std::size_t> v,
                          AttentionOptions o = {}) {
        return [=, &leaf] { return chalkgrad::sdpa(leaf(q), leaf(k), leaf(v), o); };
    };
    check_refused(call({3, 2, 4}, {2, 2, 4}, {2, 2, 4}), "sdpa", {"multiple"}); // G31
    check_refused(call({2, 2, 4}, {4, 2, 4}, {4, 2, 4}), "sdpa", {"multiple"});
    check_refused(call({2, 2, 4}, {0, 2, 4}, {0, 2, 4}), "sdpa", {"multiple"});
    check_refused(call({2, 2, 4}, {2, 2, 3}, {2, 2, 4}), "sdpa", {"number of features"});
    check_refused(call({2, 2, 4}, {2, 3, 4}, {2, 2, 4}), "sdpa", {"one value for each key"});
    check_refused(call({2, 2, 4}, {2, 3, 4}, {1, 3, 4}), "sdpa", {"number of heads"});
    check_refused(call({5, 2, 2, 4}, {4, 2, 2, 4}, {4, 2, 2, 4}), "sdpa", {"in front"});
    check_refused(call({2, 2, 0}, {2, 2, 0}, {2, 2, 3}), "sdpa", {"at least one feature"});
    check_refused(call({2, 2, 4}, {2, 4}, {2, 4}), "sdpa", {"as many axes"});
    check_refused(call({4}, {4}, {4}), "sdpa", {"heads, tokens, features"});
    check_refused(call({1, 2, 4}, {1, 2, 4}, {1, 2, 4}, {.scale = std::nan("")}), "sdpa", {"scale"});
    check_refused(call({1, 2, 4}, {1, 2, 4}, {1, 2, 4}, {.window = 0}), "sdpa", {"window"});
    check_refused(call({1, 2, 4}, {1, 2, 4}, {1, 2, 4}, {.softcap = 0}), "sdpa", {"softcap"});
    check_refused(call({1, 2, 4}, {1, 2, 4}, {1, 2, 4}, {.softcap = inf}), "sdpa", {"softcap"});
    for (const std::vector<std::size_t>& mask :
        std::vector<std::vector<std::size_t>>{{2, 3}, {3, 2, 2}, {1, 1, 2, 2}, {0}})
        check_refused(
            [&] {
                return chalkgrad::sdpa(leaf({2, 2, 4}), leaf({2, 2, 4}), leaf({2, 2, 4}), {}, leaf(mask));
            },
            "sdpa", {"broadcast"});
    check_refused(
        [&] {
            return sdpa_sinks(leaf({4, 2, 4}), leaf({2, 2, 4}), leaf({2, 2, 4}), leaf({2}));
        },
        "sdpa_sinks", {"(4)"});
    // G32: the length of the gain tells the two norms apart.
    const auto q = leaf({4, 5, 2}), k = leaf({2, 5, 2});
    check_refused([&] { return sdpa_qknorm_per_head(q, k, k, leaf({8}), leaf({4})); }, "rms_norm", {"(8)"});
    check_refused(
        [&] {
            return sdpa_qknorm_whole(leaf({5, 8}), leaf({5, 4}), leaf({5, 4}), leaf({2}), leaf({2}), 4, 2);
        },
        "rms_norm", {"(2)"});
    check_refused(
        [&] {
            return sdpa_qknorm_whole(leaf({5, 8}), leaf({5, 4}), leaf({5, 4}), leaf({8}), leaf({4}), 3, 2);
        },
        "sdpa_qknorm", {"3 heads"});
    check_refused([&] { return sdpa_qknorm_l2(q, k, k, leaf({1})); }, "sdpa_qknorm", {"tau"});
}

// Longer queries give the same scores: their gradient has no part along them.
BOOST_AUTO_TEST_CASE(length_of_normalised_queries_does_not_matter) {
    Generator rng(12);
    Tape tape;
    const Var<double> q = tape.variable(rng.standard_normal({2, 3, 4})),
                      k = tape.variable(rng.standard_normal({1, 3, 4})),
                      v = tape.variable(rng.standard_normal({1, 3, 2})), tau = tape.variable(5.0);
    const Var<double> y = sdpa_qknorm_l2(q, k, v, tau, 1e-12, Guard::additive, {.causal = true});
    y.backward(rng.standard_normal({2, 3, 2}));
    for (std::size_t row = 0; row < 6; ++row) {
        double along = 0, length = 0;
        for (std::size_t j = 0; j < 4; ++j) {
            along += q.grad().data()[4 * row + j] * q.data()[4 * row + j];
            length += std::abs(q.grad().data()[4 * row + j] * q.data()[4 * row + j]);
        }
        BOOST_TEST(std::abs(along) <= 1e-11 * length + 1e-15);
    }
    BOOST_TEST(std::abs(tau.grad()()) > 1e-4);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_sdpa
