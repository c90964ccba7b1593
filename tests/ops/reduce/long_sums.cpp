// Sums of some hundred thousand floats, wherever an op has one: as exact along the first axis as along the last.
#include "../call.hpp"

#include <chalkgrad/ops/attention/sdpa.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/linear/embedding.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/dyisru.hpp>
#include <chalkgrad/ops/norm/dyt.hpp>
#include <chalkgrad/ops/norm/layer_norm.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/reduce/cross_entropy.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>
#include <chalkgrad/ops/reduce/softmax.hpp>
#include <chalkgrad/ops/shape/shape_ops.hpp>
#include <chalkgrad/ops/streams/mhc_mix.hpp>

namespace test_long_sums {
BOOST_AUTO_TEST_SUITE(long_sums)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

constexpr std::size_t many = 1 << 18;

/// Equal numbers drift most: every addition rounds the same way.
Array<double> filled(const std::vector<std::size_t>& shape, float number = 0.1f) {
    Array<double> x = Array<double>::from_shape(shape);
    std::fill(x.begin(), x.end(), static_cast<double>(number));
    return x;
}

/// Value and gradients in float against those in double, for a cotangent of 0.1 and 0.3 in turn.
template <class F> void check_floats(const char* what, const std::vector<Array<double>>& inputs, F f) {
    const auto run = [&]<class T>(T) {
        Tape tape;
        std::vector<Var<T>> x;
        for (const Array<double>& input : inputs) x.push_back(tape.variable(converted<T>(input)));
        const Var<T> y = f(x);
        Array<double> gy = filled(std::vector<std::size_t>(y.shape().begin(), y.shape().end()));
        for (std::size_t i = 1; i < gy.size(); i += 2) gy.data()[i] = 0.3f;
        y.backward(converted<T>(gy));
        std::vector<std::vector<T>> results{{y.data(), y.data() + y.size()}};
        for (const Var<T>& v : x) results.emplace_back(v.grad().begin(), v.grad().end());
        return results;
    };
    on_every_isa([&] {
        const auto got = run(0.0f);
        const auto expected = run(0.0);
        for (std::size_t k = 0; k < got.size(); ++k) {
            double worst = 0, largest = 0.1;
            for (std::size_t i = 0; i < expected[k].size(); ++i) {
                worst = std::max(worst, std::abs(got[k][i] - expected[k][i]));
                largest = std::max(largest, std::abs(expected[k][i]));
            }
            BOOST_TEST(worst <= 2e-5 * largest,
                what << ", " << (k == 0 ? "value" : "gradient ") << k << ": off by " << worst << " of " << largest);
        }
    });
}

} // namespace

// N04
BOOST_AUTO_TEST_CASE(reductions) {
    const std::vector<Array<double>> tall{filled({many, 2})}, wide{filled({2, many})};
    for (const bool first : {true, false}) {
        const std::vector<Array<double>>& x = first ? tall : wide;
        const Axes axis = first ? 0 : 1;
        check_floats("sum", x, [=](auto& v) { return sum(v[0], axis); });
        check_floats("mean", x, [=](auto& v) { return mean(v[0], axis); });
        check_floats("logsumexp", x, [=](auto& v) { return logsumexp(v[0], axis); });
        check_floats("softmax", x, [=](auto& v) { return softmax(v[0], first ? 0 : 1); });
    }
    check_floats("middle", {filled({2, many, 2})}, [](auto& v) { return sum(v[0], 1); });
    check_floats("all", tall, [](auto& v) { return mean(v[0]); });
    Array<double> two = filled({many, 2});
    for (std::size_t i = 0; i < two.size(); i += 4) two.data()[i] = two.data()[i + 1] = 0.5;
    check_floats("var_biased", {two}, [](auto& v) { return var_biased(v[0], 0); });
    check_floats("winners of amax", tall, [](auto& v) { return amax(v[0], 0); });
    check_floats("mask", {filled({many, 2}), filled({2})}, [](auto& v) { return softmax(v[0], -1, v[1]); });
}

BOOST_AUTO_TEST_CASE(broadcast_operands) {
    check_floats("row", {filled({many, 2}), filled({2})}, [](auto& v) { return v[0] * v[1]; });
    check_floats("column", {filled({2, many}), filled({2, 1})}, [](auto& v) { return v[0] * v[1]; });
    check_floats("number", {filled({}), filled({many, 2})}, [](auto& v) { return v[0] / v[1]; });
    check_floats("where", {filled({2}), filled({many, 2})}, [](auto& v) {
        return where(Array<bool>{true, false}, v[0], v[1]);
    });
}

BOOST_AUTO_TEST_CASE(gains) {
    Array<double> x = filled({many, 2});
    for (std::size_t i = 0; i < x.size(); i += 2) x.data()[i] = 0.3f;
    check_floats("rms_norm", {x, filled({2})}, [](auto& v) { return rms_norm(v[0], v[1]); });
    check_floats("one gain", {x, filled({})}, [](auto& v) { return rms_norm(v[0], v[1]); });
    check_floats("layer_norm", {x, filled({2}), filled({2})}, [](auto& v) { return layer_norm(v[0], v[1], v[2]); });
    check_floats("dyt", {x, filled({}), filled({2}), filled({2})}, [](auto& v) { return dyt(v[0], v[1], v[2], v[3]); });
    check_floats("dyisru_b", {x, filled({2}), filled({2}), filled({2})},
        [](auto& v) { return dyisru_b(v[0], v[1], v[2], v[3]); });
    check_floats("long rows", {filled({1, many}), filled({many})}, [](auto& v) { return rms_norm(v[0], v[1]); });
}

BOOST_AUTO_TEST_CASE(losses_and_tables) {
    const Array<std::int64_t> same = Array<std::int64_t>::from_shape({many});
    Array<std::int64_t> targets = same;
    std::fill(targets.begin(), targets.end(), 1);
    for (const LossReduction reduction : {LossReduction::mean, LossReduction::sum})
        check_floats(
            "cross_entropy", {filled({many, 2})}, [&](auto& v) { return cross_entropy(v[0], targets, reduction); });
    check_floats("embedding", {filled({2, 2})}, [&](auto& v) { return embedding(v[0], targets); });
}

BOOST_AUTO_TEST_CASE(products) {
    check_floats("dot", {filled({many}), filled({many})}, [](auto& v) { return matmul(v[0], v[1]); });
    check_floats("row", {filled({many}), filled({many, 3})}, [](auto& v) { return matmul(v[0], v[1]); });
    check_floats("one output", {filled({many, 3}), filled({3, 1})}, [](auto& v) { return matmul(v[0], v[1]); });
    check_floats("layer", {filled({many, 3}), filled({3, 4})}, [](auto& v) { return matmul(v[0], v[1]); });
    check_floats("keys", {filled({1, 2, 8}), filled({1, many, 8}), filled({1, many, 8})},
        [](auto& v) { return sdpa(v[0], v[1], v[2]); });
    check_floats("queries", {filled({2, many, 2}), filled({1, 3, 2}), filled({1, 3, 2}), filled({2}), filled({1, 3})},
        [](auto& v) { return sdpa_sinks(v[0], v[1], v[2], v[3], {}, v[4]); });
}

BOOST_AUTO_TEST_CASE(streams) {
    Array<double> x = filled({many / 2, 2, 1}), m = filled({2, 2});
    for (std::size_t i = 0; i < x.size(); i += 2) x.data()[i] = 0.7f;
    m(0, 0) = 0.5;
    check_floats("mhc_mix_param", {x, m}, [](auto& v) { return mhc_mix_param(v[0], v[1], {.iterations = 2}); });
    check_floats("mhc_mix_xdep", {x, filled({2, 4}), m, filled({})},
        [](auto& v) { return mhc_mix_xdep(v[0], v[1], v[2], v[3], {.iterations = 2}); });
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_long_sums
