// Mixtures of experts: who is picked, what weighs how much, and where gradients go.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/nn/layers/moe.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>

#include "../../ops/arrays.hpp"

namespace test_moe {
BOOST_AUTO_TEST_SUITE(moe)

using namespace chalkgrad;
using namespace chalkgrad::nn;
using namespace chalkgrad::testing;

namespace {

constexpr std::size_t d = 4, width = 3, count = 5;

MoeOptions usual() {
    return {.expert = {.d = d, .width = width, .bias = true}, .experts = count, .per_token = 2, .router_bias = true};
}

/// One expert of a mixture as an FFN of its own.
Ffn expert(const Moe& moe, std::size_t e) {
    const Ffn one(moe.options.expert);
    const auto copy = [&](const Parameter& many, const Parameter& single) {
        if (!many) return;
        const double* const from = many.value().data() + e * single.shape().size();
        Array<double> value(std::vector<std::size_t>(single.shape().begin(), single.shape().end()));
        std::copy(from, from + value.size(), value.begin());
        single.assign(value);
    };
    copy(moe.experts.first.weight, one.first.weight);
    copy(moe.experts.first.bias, one.first.bias);
    copy(moe.experts.up.weight, one.up.weight);
    copy(moe.experts.up.bias, one.up.bias);
    copy(moe.experts.second.weight, one.second.weight);
    copy(moe.experts.second.bias, one.second.bias);
    return one;
}

} // namespace

BOOST_AUTO_TEST_CASE(is_the_weighted_sum_of_the_picked_experts) {
    for (const bool on_input : {false, true}) {
        MoeOptions o = usual();
        o.weight_input = on_input;
        o.expert.bias = !on_input;
        o.scale = 1.5;
        o.shared_width = 2;
        const Moe moe(o);
        Generator rng(1);
        initialize_for_check(moe, rng);
        Tape tape;
        Binding<double> on(tape);
        const auto x = tape.variable(rng.standard_normal({3, 2, d}));
        const Array<double> y = moe(on, x).value();
        const auto logits = moe.router(on, x);
        const Array<double> of_all = (*moe.shared)(on, x).value();
        for (std::size_t t = 0; t < 6; ++t) {
            // By hand: the two largest logits, softmax over the two.
            const double* const z = logits.data() + t * count;
            std::size_t best = 0, second = count;
            for (std::size_t e = 1; e < count; ++e)
                if (z[e] > z[best]) best = e;
            for (std::size_t e = 0; e < count; ++e)
                if (e != best && (second == count || z[e] > z[second])) second = e;
            const double p = 1 / (1 + std::exp(z[second] - z[best]));
            Array<double> expected = Array<double>::from_shape({d});
            for (std::size_t j = 0; j < d; ++j) expected(j) = of_all.data()[t * d + j];
            for (const auto& [e, weight] : {std::pair(best, 1.5 * p), {second, 1.5 * (1 - p)}}) {
                const Ffn one = expert(moe, e);
                Binding<double> alone(tape);
                Array<double> row = Array<double>::from_shape({1, d});
                for (std::size_t j = 0; j < d; ++j) row.data()[j] = x.data()[t * d + j] * (on_input ? weight : 1);
                const auto part = one(alone, tape.constant(row));
                for (std::size_t j = 0; j < d; ++j) expected(j) += part.data()[j] * (on_input ? 1 : weight);
            }
            for (std::size_t j = 0; j < d; ++j) check_near(y.data()[t * d + j], expected(j), 1e-13, 1e-14);
        }
    }
}

BOOST_AUTO_TEST_CASE(no_gradient_reaches_an_expert_that_nobody_picked) {
    const Moe moe(usual());
    Generator rng(2);
    initialize_for_check(moe, rng);
    Tape tape;
    Binding<double> on(tape);
    const auto x = tape.variable(rng.standard_normal({1, d}));
    const auto p = moe.route(on, x);
    moe(on, x).backward(rng.standard_normal({1, d}));
    std::size_t picked = 0;
    for (std::size_t e = 0; e < count; ++e) {
        picked += p.data()[e] != 0;
        for (const Parameter& weights :
            {moe.experts.first.weight, moe.experts.up.weight, moe.experts.second.weight, moe.experts.second.bias}) {
            const std::size_t n = weights.shape().size() / count;
            double largest = 0;
            for (std::size_t i = 0; i < n; ++i)
                largest = std::max(largest, std::abs(on(weights).grad().data()[e * n + i]));
            BOOST_TEST((largest != 0) == (p.data()[e] != 0));
        }
    }
    BOOST_TEST(picked == 2u);
}

BOOST_AUTO_TEST_CASE(weights_of_the_routers) {
    Generator rng(3);
    const Array<double> logits = rng.standard_normal({1, count});
    const auto route = [&](MoeOptions o, const std::vector<double>& correction = {}) {
        o.correction = !correction.empty();
        o.router_bias = false;
        o.expert.d = count;
        const Moe moe(o);
        initialize(moe, rng);
        moe.router.weight.assign(xt::eye<double>(count)); // the input is the logits
        if (o.correction) moe.correction.assign(array({count}, correction));
        Tape tape;
        Binding<double> on(tape);
        return moe.route(on, tape.variable(logits)).value();
    };
    const auto total = [](const Array<double>& p) {
        double sum = 0;
        for (const double v : p) sum += v;
        return sum;
    };
    MoeOptions o = usual();
    check_near(total(route(o)), 1, 1e-15);
    o.scale = 2.5;
    check_near(total(route(o)), 2.5, 1e-15);
    o.scale = 1;
    o.normalize = false;
    BOOST_TEST(total(route(o)) < 0.999);
    o.per_token = count;
    check_near(total(route(o)), 1, 1e-15);
    o = usual();
    o.scoring = Scoring::sigmoid;
    check_near(total(route(o)), 1, 1e-15);
    o.normalize = false;
    const Array<double> s = route(o);
    for (std::size_t e = 0; e < count; ++e)
        if (s.data()[e] != 0) check_near(s.data()[e], 1 / (1 + std::exp(-logits.data()[e])), 1e-15);
    // A correction decides who is picked, not with what weight.
    o.per_token = 1;
    for (std::size_t e = 0; e < count; ++e) {
        std::vector<double> push(count, 0);
        push[e] = 10;
        const Array<double> pushed = route(o, push);
        for (std::size_t k = 0; k < count; ++k)
            check_near(pushed.data()[k], k == e ? 1 / (1 + std::exp(-logits.data()[k])) : 0, 1e-15);
    }
}

BOOST_AUTO_TEST_CASE(ties_nan_and_tapes_of_shapes) {
    MoeOptions o = usual();
    o.router_bias = false;
    const Moe moe(o);
    Generator rng(4);
    initialize(moe, rng);
    moe.router.weight.assign(Array<double>(std::vector<std::size_t>{d, count}, 0.0));
    Tape tape;
    Binding<double> on(tape);
    check_array(
        moe.route(on, tape.variable(rng.standard_normal({1, d}))).value(), array({1, count}, {0.5, 0.5, 0, 0, 0}));
    const auto y = moe(on, tape.variable(Array<double>(std::vector<std::size_t>{2, d}, quiet_nan)));
    BOOST_TEST(std::isnan(y.data()[0]));

    Tape shapes(Tape::Mode::shapes_only);
    Binding<double> bound(shapes);
    BOOST_TEST((moe(bound, shapes.leaf<double>({2, 7, d}, nullptr, true)).shape() == Shape{2, 7, d}));
}

BOOST_AUTO_TEST_CASE(what_is_refused) {
    MoeOptions o = usual();
    o.weight_input = true;
    check_refused([&] { Moe moe(o); }, "moe", {"weight_input", "biases"});
    o.weight_input = false;
    o.per_token = 6;
    check_refused([&] { Moe moe(o); }, "moe", {"6 of 5"});
    o.per_token = 0;
    check_refused([&] { Moe moe(o); }, "moe", {"0 of 5"});
    o.experts = 0;
    check_refused([&] { Moe moe(o); }, "moe", {"0 of 0"});
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_moe
