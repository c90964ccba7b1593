// Cross-entropy: values, ignored rows, extreme logits, refusals.
#include "../arrays.hpp"

#include <chalkgrad/ops/reduce/cross_entropy.hpp>

namespace test_cross_entropy {
BOOST_AUTO_TEST_SUITE(cross_entropy)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

using Targets = Array<std::int64_t>;

auto loss_of(const Targets& targets, LossReduction reduction = LossReduction::mean, std::int64_t ignore = -100) {
    return
        [=](const std::vector<Var<double>>& z) { return chalkgrad::cross_entropy(z[0], targets, reduction, ignore); };
}

} // namespace

BOOST_AUTO_TEST_CASE(equal_logits_know_nothing) {
    on_every_isa([] {
        const auto got =
            gradients<double>(loss_of({1, 0}), {array({2, 4}, {3, 3, 3, 3, -5, -5, -5, -5})}, array({}, {1}));
        check_array(got.y, array({}, {std::log(4)}), 1e-15);
        check_array(got.gx[0], array({2, 4}, {0.125, -0.375, 0.125, 0.125, -0.375, 0.125, 0.125, 0.125}), 1e-15);
    });
}

BOOST_AUTO_TEST_CASE(rows_that_do_not_count) {
    on_every_isa([] {
        const Array<double> z = array({3, 2}, {0, 1, quiet_nan, quiet_nan, 2, 0});
        const auto mean = gradients<double>(loss_of({1, -100, 1}), {z}, array({}, {2}));
        const double p = 1 / (1 + std::exp(1.0)), q = 1 / (1 + std::exp(-2.0));
        check_array(mean.y, array({}, {(-std::log(1 - p) - std::log(1 - q)) / 2}), 1e-14);
        check_array(mean.gx[0], array({3, 2}, {p, -p, 0, 0, q, -q}), 1e-14);
        const auto sum = gradients<double>(loss_of({1, 7, 1}, LossReduction::sum, 7), {z}, array({}, {1}));
        check_array(sum.y, array({}, {-std::log(1 - p) - std::log(1 - q)}), 1e-14);
        check_array(sum.gx[0], array({3, 2}, {p, -p, 0, 0, q, -q}), 1e-14);
    });
}

BOOST_AUTO_TEST_CASE(extreme_logits) {
    on_every_isa([] {
        auto got = gradients<double>(loss_of({0, 1}), {array({2, 2}, {1e6, 1e6 + 1, -1000, -2000})}, array({}, {1}));
        check_array(got.y, array({}, {(1 + std::log1p(std::exp(-1)) + 1000) / 2}), 1e-15);
        check_array(got.gx[0], array({2, 2}, {-0.5 / (1 + std::exp(-1)), 0.5 / (1 + std::exp(-1)), 0.5, -0.5}), 1e-15);
        // The class that came was hidden; nothing was left to choose from.
        got = gradients<double>(loss_of({1, 0}), {array({2, 2}, {0, -inf, -inf, -inf})}, array({}, {1}));
        check_array(got.y, array({}, {inf}));
        check_array(got.gx[0], array({2, 2}, {0.5, -0.5, 0, 0}));
        got = gradients<double>(loss_of({1, 0}), {array({2, 2}, {0, quiet_nan, 0, 0})}, array({}, {1}));
        BOOST_TEST(std::isnan(got.y()));
        check_array(got.gx[0], array({2, 2}, {quiet_nan, quiet_nan, -0.25, 0.25}));
    });
}

BOOST_AUTO_TEST_CASE(more_axes_or_none) {
    const Array<double> z = array({2, 1, 2}, {0, 1, 2, 0});
    const auto batched = gradients<double>(loss_of(array<std::int64_t>({2, 1}, {1, 0})), {z}, array({}, {1}));
    const auto flat = gradients<double>(loss_of(Targets{1, 0}), {array({2, 2}, {0, 1, 2, 0})}, array({}, {1}));
    check_array(batched.y, flat.y);
    check_array(
        batched.gx[0], array({2, 1, 2}, {flat.gx[0](0, 0), flat.gx[0](0, 1), flat.gx[0](1, 0), flat.gx[0](1, 1)}));
    BOOST_TEST(gradients<double>(loss_of(Targets(0)), {array({1}, {3})}, array({}, {1})).y() == 0);
}

// N06: a sum over no token is 0, so that the sums of parts add up; there is no mean.
BOOST_AUTO_TEST_CASE(nothing_to_count) {
    const Array<double> z = array({2, 3}, {1, 2, 3, 4, quiet_nan, inf});
    on_every_isa([&] {
        const auto got = gradients<double>(loss_of({-100, -100}, LossReduction::sum), {z}, array({}, {7}));
        check_array(got.y, array({}, {0}));
        check_array(got.gx[0], array({2, 3}, {0, 0, 0, 0, 0, 0}));
    });
    const auto of_no_rows =
        gradients<double>(loss_of(Targets::from_shape({0}), LossReduction::sum), {array({0, 3}, {})}, array({}, {1}));
    check_array(of_no_rows.y, array({}, {0}));
    BOOST_TEST(of_no_rows.gx[0].size() == 0u);
    const auto composed =
        gradients<double>([](auto& v) { return cross_entropy_composed(v[0], Targets{-100}, LossReduction::sum); },
            {array({1, 2}, {1, 2})}, array({}, {7}));
    check_array(composed.y, array({}, {0}));
    check_array(composed.gx[0], array({1, 2}, {0, 0}));
}

BOOST_AUTO_TEST_CASE(refusals) {
    Tape tape;
    const Var<double> z = tape.variable(array({2, 3}, {1, 2, 3, 4, 5, 6}));
    const auto refused = [&](const Targets& targets, const std::vector<std::string>& words) {
        check_refused([&] { chalkgrad::cross_entropy(z, targets); }, "cross_entropy", words);
    };
    refused({0, 3}, {"target 3", "0 to 2"});
    refused({0, -1}, {"target -1"});
    refused({-100, -100}, {"none of the 2 targets", "a sum is 0"});
    refused({0, 1, 2}, {"(3)", "(2)"});
    refused(array<std::int64_t>({2, 1}, {0, 1}), {"(2, 1)"});
    check_refused([&] { chalkgrad::cross_entropy(tape.variable(1.0), Targets(0)); }, "cross_entropy", {"()"});
    check_refused(
        [&] {
            chalkgrad::cross_entropy(tape.variable(Array<double>::from_shape({0, 3})), Targets::from_shape({0}));
        },
        "cross_entropy");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_cross_entropy
