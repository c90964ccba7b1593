// Named initialisations against their formulas.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/nn/layers/block.hpp>

#include "../../ops/arrays.hpp"

namespace test_init {
BOOST_AUTO_TEST_SUITE(init)

using namespace chalkgrad;
using namespace chalkgrad::nn;
using namespace chalkgrad::testing;

BOOST_AUTO_TEST_CASE(deepnorm_constants) {
    const DeepNorm one = deepnorm(24); // (48)^¼, (192)^−¼
    check_near(one.alpha, std::sqrt(std::sqrt(48.0)), 1e-15);
    check_near(one.beta, 1 / std::sqrt(std::sqrt(192.0)), 1e-15);
    check_near(deepnorm(3).alpha, 1.5650845800732873, 1e-15);
    const DeepNorm encoder = deepnorm_encoder(6, 6), decoder = deepnorm_decoder(6);
    check_near(encoder.alpha, 0.81 * std::pow(6, 5.0 / 16), 1e-14);
    check_near(encoder.beta, 0.87 * std::pow(6, -5.0 / 16), 1e-14);
    check_near(decoder.alpha, std::pow(18, 0.25), 1e-15);
    check_near(decoder.beta, std::pow(72, -0.25), 1e-15);
    check_near(henry_tau(64), std::log2(64.0 * 63), 1e-15);
    check_refused([] { deepnorm(0); }, "deepnorm", {"0"});
    check_refused([] { henry_tau(1); }, "henry_tau", {"1"});
}

BOOST_AUTO_TEST_CASE(distributions) {
    Generator rng(5);
    const auto variance = [&](const Init& init) {
        const Array<double> x = init.draw({400, 300}, rng);
        double sum = 0, square = 0;
        for (const double v : x) {
            sum += v;
            square += v * v;
        }
        BOOST_TEST(std::abs(sum / 120000) < 0.02 * std::sqrt(square / 120000));
        return square / 120000;
    };
    check_near(variance(fan_in(400)), 1.0 / 400, 0.02);
    check_near(variance(normal(0.02)), 0.0004, 0.02);
    check_near(variance(xavier_normal(400, 300)), 2.0 / 700, 0.02);
    check_near(variance(xavier_uniform(400, 300)), 2.0 / 700, 0.02);
    check_near(variance(xavier_normal(400, 300, 0.5)), 0.5 / 700, 0.02);
    check_near(variance(depth_scaled(400, 12)), 1.0 / (24 * 400), 0.02);
    check_array(constant(3).draw({2}, rng), array({2}, {3, 3}));
    const Array<double> uniform = xavier_uniform(3, 3).draw({1000}, rng);
    BOOST_TEST(xt::amax(xt::abs(uniform))() < 1);
}

BOOST_AUTO_TEST_CASE(of_whole_blocks) {
    const Block block(
        {.d = 12, .placement = Placement::deepnorm, .attention = {.heads = 3, .kv_heads = 1}, .ffn = {.width = 20}});
    const auto sd = [](const Linear& linear) { return linear.weight.init().value; };
    const auto& attention = std::get<GroupedAttention>(block.attention);
    set_deepnorm_init(block, 0.25);
    check_near(sd(attention.wq), std::sqrt(2.0 / 24), 1e-15);
    check_near(sd(attention.wk), std::sqrt(2.0 / 16), 1e-15);
    check_near(sd(attention.wv), 0.25 * std::sqrt(2.0 / 16), 1e-15);
    check_near(sd(attention.wo), 0.25 * std::sqrt(2.0 / 24), 1e-15);
    check_near(sd(std::get<Ffn>(block.ffn).first), 0.25 * std::sqrt(2.0 / 32), 1e-15);
    check_near(sd(std::get<Ffn>(block.ffn).second), 0.25 * std::sqrt(2.0 / 32), 1e-15);
    BOOST_TEST(block.branches[0].norm.gamma.init().value == 1);
    set_depth_scaled_init(block, 8);
    check_near(sd(attention.wo), 1 / std::sqrt(16.0 * 12), 1e-15);
    check_near(sd(std::get<Ffn>(block.ffn).second), 1 / std::sqrt(16.0 * 20), 1e-15);
    check_near(sd(attention.wv), 0.25 * std::sqrt(2.0 / 16), 1e-15);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_init
