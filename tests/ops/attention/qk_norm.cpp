// qk_norm_per_head, qk_norm_whole, qknorm_scores: the axis, the order of the heads, what is refused.
#include <chalkgrad/ops/attention/qk_norm.hpp>

#include "../call.hpp"

namespace test_qk_norm {
BOOST_AUTO_TEST_SUITE(qk_norm)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

auto per_head(std::size_t heads) {
    return [heads](const auto& v) { return qk_norm_per_head(v[0], heads, input(v, 1)); };
}
auto whole(std::size_t heads) {
    return [heads](const auto& v) { return qk_norm_whole(v[0], heads, input(v, 1)); };
}

} // namespace

// G32
BOOST_AUTO_TEST_CASE(one_head_or_all) {
    on_every_isa([] {
        const Array<double> q = {{3, 4, 0, 1}};
        const auto head = call<double>(per_head(2), {q}, {1, 0, 0, 0}), all = call<double>(whole(2), {q}, {1, 0, 0, 0});
        check_all(head.y, std::vector{0.8485281034827336, 1.1313708046436448, 0.0, 1.414212148161654}, 1e-15);
        check_all(head.g[0], std::vector{0.1810193368888523, -0.13576448569607852, 0.0, 0.0}, 1e-15);
        BOOST_TEST(head.g[0][3] == 0);
        check_all(all.y, std::vector{1.1766967203139753, 1.5689289604186338, 0.0, 0.39223224010465846}, 1e-15);
        check_all(all.g[0], std::vector{0.2564595624949963, -0.18103023681288286, 0.0, -0.045257559203220714}, 1e-15);
    });
}

// Two tokens, two heads of one feature: with so wide an ε every number stays readable.
BOOST_AUTO_TEST_CASE(heads_come_first) {
    Tape tape;
    const Var<double> q = tape.variable(Array<double>({{1, 2}, {3, 4}}));
    const Var<double> y = qk_norm_per_head(q, 2, Var<double>(), 1e12);
    BOOST_TEST(y.shape() == Shape({2, 2, 1}));
    const double expected[] = {1e-6, 3e-6, 2e-6, 4e-6};
    for (std::size_t i = 0; i < 4; ++i) check_near(y.data()[i], expected[i], 1e-10);
    const Var<double> batch = tape.variable(Array<double>(std::vector<std::size_t>{5, 3, 8}, 1.0));
    BOOST_TEST(qk_norm_whole(batch, 4).shape() == Shape({5, 4, 3, 2}));
}

BOOST_AUTO_TEST_CASE(gains_are_shared_by_heads_or_not) {
    const Array<double> q = {{1, 2, 3, 4}, {2, 1, 0, 1}};
    const std::vector<double> gy = {1, 2, 3, 4, 5, 6, 7, 8};
    const auto head = call<double>(per_head(2), {q, {1, 2}}, gy);
    BOOST_TEST(head.g[1].size() == 2u);
    BOOST_TEST(call<double>(whole(2), {q, {1, 2, 3, 4}}, gy).g[1].size() == 4u);
    // γ̄ sums over tokens and heads.
    const auto plain = call<double>(per_head(2), {q}, gy);
    check_near(head.g[1][0], 1 * plain.y[0] + 3 * plain.y[2] + 5 * plain.y[4] + 7 * plain.y[6], 1e-14);
}

// Scores are τ times cosines, whatever the lengths; τ̄ = Σ s̄ cos.
BOOST_AUTO_TEST_CASE(scores_are_cosines) {
    on_every_isa([] {
        const auto f = [](const auto& v) { return qknorm_scores(v[0], v[1], v[2]); };
        const auto got = call<double>(
            f, {{{3, 4}, {1e-200, 0}}, {{5, 0}, {0, 1e200}, {-6, -8}}, Array<double>(2.0)}, {1, 2, 3, 4, 5, 6});
        check_all(got.y, std::vector{1.2, 1.6, -2.0, 0.0, 0.0, 0.0}, 1e-15);
        check_near(got.g[2][0], 0.6 + 2 * 0.8 - 3, 1e-14);
    });
}

BOOST_AUTO_TEST_CASE(refusals) {
    Tape tape;
    const auto variable = [&](const Shape& shape) {
        return tape.leaf<double>(shape, std::vector<double>(shape.size(), 1.0).data(), true);
    };
    const Var<double> q = variable({3, 6}), row = variable({6}), two = variable({2}), three = variable({3}), none;
    check_refused(tape, "qk_norm_per_head", [&] { return qk_norm_per_head(row, 2); });
    check_refused(tape, "qk_norm_per_head", [&] { return qk_norm_per_head(q, 4); });
    check_refused(tape, "qk_norm_whole", [&] { return qk_norm_whole(q, 0); });
    check_refused(tape, "qk_norm_per_head", [&] { return qk_norm_per_head(q, 2, two); });
    check_refused(tape, "qk_norm_whole", [&] { return qk_norm_whole(q, 2, three); });
    check_refused(tape, "rms_norm", [&] { return qk_norm_per_head(q, 2, none, quiet_nan); });
    const Var<double> k = variable({3, 5}), tau = variable({}), batch = variable({2, 3, 6}),
                      other = variable({3, 3, 6});
    check_refused(tape, "qknorm_scores", [&] { return qknorm_scores(q, k, tau); });
    check_refused(tape, "qknorm_scores", [&] { return qknorm_scores(q, row, tau); });
    check_refused(tape, "qknorm_scores", [&] { return qknorm_scores(q, q, two); });
    check_refused(tape, "matmul", [&] { return qknorm_scores(batch, other, tau); });
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_qk_norm
