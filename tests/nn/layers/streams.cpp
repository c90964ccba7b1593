// Streams of mHC: what a doubly stochastic matrix bounds, and what it does not once it depends on the streams.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/check/jacobian.hpp>
#include <chalkgrad/nn/layers/block.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>

#include "../../ops/arrays.hpp"

namespace test_streams {
BOOST_AUTO_TEST_SUITE(streams)

using namespace chalkgrad;
using namespace chalkgrad::nn;
using namespace chalkgrad::testing;

namespace {

constexpr std::size_t n = 3, tokens = 2, d = 4;

struct Mixed {
    Array<double> h, y;
    double row_sum; ///< the largest Σ_j |∂y_i/∂h_j|
};

Mixed mix(const Streams& streams, Generator& rng) {
    Tape tape;
    Binding<double> on(tape);
    const auto h = tape.variable(rng.standard_normal({n, tokens, d}));
    const auto y = streams.maps(on, h).mixed;
    const Array<double> j = jacobian(y, h);
    Mixed result{h.value(), y.value(), 0};
    for (std::size_t r = 0; r < j.shape()[0]; ++r) {
        double sum = 0;
        for (std::size_t c = 0; c < j.shape()[1]; ++c) sum += std::abs(j(r, c));
        result.row_sum = std::max(result.row_sum, sum);
    }
    return result;
}

/// Whether each number of y lies between the smallest and largest of the streams at its place.
bool between(const Mixed& m) {
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < tokens * d; ++k) {
            double low = HUGE_VAL, high = -HUGE_VAL;
            for (std::size_t s = 0; s < n; ++s) {
                low = std::min(low, m.h.data()[s * tokens * d + k]);
                high = std::max(high, m.h.data()[s * tokens * d + k]);
            }
            const double y = m.y.data()[i * tokens * d + k];
            if (y < low - 1e-12 || y > high + 1e-12) return false;
        }
    return true;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_course_s_example) { // §12
    const Streams two(1, {.n = 2, .mixing = Mixing::fixed});
    Generator rng(0);
    initialize(two, rng);
    two.mix.assign(array({2, 2}, {0.75, 0.25, 0.25, 0.75}));
    Tape tape;
    Binding<double> on(tape);
    check_array(two.maps(on, tape.constant(array({2, 1, 1}, {2, 6}))).mixed.value(), array({2, 1, 1}, {3, 5}));
}

BOOST_AUTO_TEST_CASE(a_fixed_matrix_bounds_values_and_slopes) {
    Generator rng(1);
    const Streams fixed(d, {.n = n, .mixing = Mixing::fixed});
    initialize(fixed, rng);
    fixed.mix.assign(array({3, 3}, {0.5, 0.25, 0.25, 0.125, 0.5, 0.375, 0.375, 0.25, 0.375}));
    const Streams learned(d, {.n = n, .sinkhorn = {.iterations = 100, .order = SinkhornOrder::cols_first}});
    initialize_for_check(learned, rng);
    for (const Streams* streams : {&fixed, &learned})
        for (int k = 0; k < 5; ++k) {
            const Mixed m = mix(*streams, rng);
            BOOST_TEST(between(m));
            check_near(m.row_sum, 1, 1e-12);
        }
    // A matrix that is not doubly stochastic keeps neither.
    fixed.mix.assign(array({3, 3}, {1.5, -0.25, -0.25, 0, 1, 0, 0, 0, 1}));
    const Mixed m = mix(fixed, rng);
    BOOST_TEST(!between(m));
    BOOST_TEST(m.row_sum == 2);
}

BOOST_AUTO_TEST_CASE(a_matrix_that_depends_on_the_streams_bounds_values_only) {
    Generator rng(2);
    const Streams dependent(d,
        {.n = n, .mixing = Mixing::x_dependent, .sinkhorn = {.iterations = 100, .order = SinkhornOrder::cols_first}});
    initialize(dependent, rng);
    dependent.res_scale.assign(array({}, {4}));
    for (int k = 0; k < 5; ++k) {
        const Mixed m = mix(dependent, rng);
        BOOST_TEST(between(m));
        BOOST_TEST(m.row_sum > 1.5);
    }
    // With a scale of 0 it is a constant again.
    dependent.res_scale.assign(array({}, {0}));
    check_near(mix(dependent, rng).row_sum, 1, 1e-12);
}

BOOST_AUTO_TEST_CASE(equal_streams_and_one_token_at_a_time) {
    // With maps of 0, streams that depend on x are those that do not.
    Generator rng(3);
    const Streams learned(d, {.n = n}), dependent(d, {.n = n, .mixing = Mixing::x_dependent});
    initialize_for_check(learned, rng);
    initialize(dependent, rng);
    dependent.pre.assign(learned.pre.value());
    dependent.post.assign(learned.post.value());
    dependent.res.assign(learned.res.value());
    for (const Parameter& scale : {dependent.pre_scale, dependent.post_scale, dependent.res_scale})
        scale.assign(array({}, {0}));
    Tape tape;
    Binding<double> on(tape);
    const auto h = tape.variable(rng.standard_normal({n, 2, tokens, d}));
    const auto f = [](const Var<double>& u) { return tanh(u); };
    check_array(dependent(on, "mhc", h, f).value(), learned(on, "mhc", h, f).value(), 1e-14, 1e-15);
    const auto x = tape.variable(rng.standard_normal({tokens, d}));
    const Array<double> thrice = 3 * x.value();
    check_array(merge_streams(expand_streams(x, n)).value(), thrice, 1e-15);
}

BOOST_AUTO_TEST_CASE(what_is_refused) {
    check_refused([] { Streams(4, {.n = 0}); }, "mhc", {"0 streams"});
    const Streams streams(4, {.n = 3});
    Tape tape(Tape::Mode::shapes_only);
    Binding<double> on(tape);
    check_refused(
        [&] {
            streams.maps(on, tape.leaf<double>({2, 5, 4}, nullptr, true));
        },
        "mhc", {"(2, 5, 4)", "(3, …, d)"});
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_streams
