// gradcheck of what it was not made for: empty arrays, single numbers, functions that throw, return their input, or compute in float.
#include <boost/test/unit_test.hpp>

#include <stdexcept>

#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/autograd/tape/cast.hpp>
#include <chalkgrad/autograd/tape/custom.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>
#include <chalkgrad/ops/shape/slice.hpp>

namespace test_gradcheck_inputs {
BOOST_AUTO_TEST_SUITE(gradcheck_inputs)

using namespace chalkgrad;
using Doubles = Array<double>;
using Vars = std::vector<Var<double>>;

namespace {

void says(const GradcheckReport& report, Verdict verdict, const char* words) {
    BOOST_TEST((report.verdict == verdict), to_string(report));
    BOOST_TEST(report.why.find(words) != std::string::npos, "\"" << words << "\" is not in " << to_string(report));
}

/// What gradcheck throws says these words.
template <class F> void throws(F f, const char* words) {
    BOOST_CHECK_EXCEPTION(f(), std::exception,
        [&](const std::exception& e) { return std::string(e.what()).find(words) != std::string::npos; });
}

const std::vector<Doubles> two = {{1, 2}, {3, -4}};

} // namespace

BOOST_AUTO_TEST_CASE(empty_arrays_are_named) {
    const auto twice = [](const Vars& x) { return x[0] * 2; };
    says(gradcheck(twice, {Doubles::from_shape({0})}), Verdict::inconclusive, "x0 of shape (0) has no numbers");
    says(gradcheck([](const Vars& x) { return sum(x[0]) + x[1]; }, {Doubles::from_shape({0, 3}), {1, 2}}),
        Verdict::inconclusive, "x0 of shape (0, 3) has no numbers");
    says(gradcheck(
             [](const Vars& x) {
                 return Vars{slice(x[0], "[:0]"), exp(x[0])};
             },
             {{1, 2}}),
        Verdict::inconclusive, "has no numbers");
}

BOOST_AUTO_TEST_CASE(single_and_whole_numbers_are_numbers) {
    const auto single = gradcheck([](const Vars& x) { return exp(x[0]) * x[1]; }, {Doubles(0.5), Doubles(1.5)});
    BOOST_TEST((single.verdict == Verdict::pass), to_string(single));
    BOOST_TEST(single.elements == 2u);
    BOOST_TEST((gradcheck([](const Vars& x) { return square(x[0]); }, {{1, 2, 3}}).verdict == Verdict::pass));
    // A step at every whole number has no slope there, and none elsewhere either.
    const auto floor_of = [](double slope) {
        return gradcheck(
            [slope](const Vars& x) {
                return custom(
                    "floor", [](const Doubles& a) { return Doubles(xt::floor(a)); },
                    [slope](const Doubles&, const Doubles&, const Doubles& gy) { return Doubles(slope * gy); }, x[0]);
            },
            {{1.25, 2.5, 3.75}});
    };
    BOOST_TEST((floor_of(0).verdict == Verdict::inconclusive));
    BOOST_TEST((floor_of(1).verdict == Verdict::fail), to_string(floor_of(1)));
}

BOOST_AUTO_TEST_CASE(what_f_throws_at_the_point_arrives_as_it_is) {
    throws([] { gradcheck([](const Vars&) -> Var<double> { throw Error("my_op: not so"); }, two); }, "my_op: not so");
    throws([] { gradcheck([](const Vars&) -> Var<double> { throw std::runtime_error("boom"); }, two); }, "boom");
    int calls = 0;
    says(gradcheck(
             [&](const Vars& x) {
                 if (++calls == 2) throw Error("my_op: not again");
                 return x[0] + x[1];
             },
             two),
        Verdict::fail, "could not be called again: my_op: not again");
    says(gradcheck(
             [](const Vars& x) {
                 return custom(
                     "thrower", [](const Doubles& a) { return a; },
                     [](const Doubles&, const Doubles&, const Doubles&) -> Doubles {
                         throw std::runtime_error("no backward");
                     },
                     x[0]);
             },
             {{1, 2}}),
        Verdict::fail, "no backward");
}

BOOST_AUTO_TEST_CASE(outputs_that_are_inputs_or_constants) {
    BOOST_TEST((gradcheck([](const Vars& x) { return x[0]; }, {{1, 2}}).verdict == Verdict::pass));
    const auto constant = [](const Vars& x) { return x[0].tape().constant(Doubles{3, 4}); };
    says(gradcheck(constant, {{1, 2}}), Verdict::inconclusive, "no output depends on x0");
    says(gradcheck(
             [&](const Vars& x) {
                 return Vars{exp(x[0]), constant(x).named("c")};
             },
             {{1, 2}}),
        Verdict::inconclusive, "output c depends on no input");
    // Each output has an input of its own: nothing is missing.
    BOOST_TEST((gradcheck([](const Vars& x) { return Vars{exp(x[0]), x[1] * 2}; }, two).verdict == Verdict::pass));
    says(gradcheck([](const Vars& x) { return exp(x[0]); }, two), Verdict::inconclusive, "no output depends on x1");
    throws([] { gradcheck([](const Vars&) { return Var<double>(); }, two); }, "was never set");
    throws([] { gradcheck([](const Vars&) { return Vars{}; }, two); }, "no output");
    throws(
        [] {
            const Tape other;
            gradcheck([&](const Vars&) { return other.variable(Doubles{1, 2}) * 2; }, two);
        },
        "another tape");
}

BOOST_AUTO_TEST_CASE(numbers_that_are_none_are_named) {
    says(gradcheck([](const Vars& x) { return square(x[0]); }, {{1, HUGE_VAL}}), Verdict::inconclusive, "x0[1] is inf");
    says(
        gradcheck([](const Vars& x) { return log(x[0]).named("y"); }, {{1, -2}}), Verdict::inconclusive, "y[1] is nan");
    says(
        gradcheck([](const Vars& x) { return log(x[0]).named("y"); }, {{1, 0}}), Verdict::inconclusive, "y[1] is -inf");
    // A smooth point with a gradient that is no number is a wrong gradient: a² / a for a.
    const auto odd = gradcheck(
        [](const Vars& x) {
            return custom(
                "square", [](const Doubles& a) { return Doubles(a * a); },
                [](const Doubles& a, const Doubles&, const Doubles& gy) { return Doubles(2. * a * a / a * gy); }, x[0]);
        },
        {{0, 2}});
    BOOST_TEST((odd.verdict == Verdict::fail), to_string(odd));
}

BOOST_AUTO_TEST_CASE(single_precision_is_named) { // G18
    const Tape tape;
    const auto x = tape.variable(Doubles{0.3}, "x");
    throws([&] { gradcheck(Vars{cast<double>(cast<float>(x)) * x}, Vars{x}); }, "is of type float");
    // x² in float, inside an op that says it computes in double.
    const auto in_float = [](const Vars& v) {
        return custom(
            "single",
            [](const Doubles& a) {
                Doubles y = a;
                for (double& e : y) e = static_cast<float>(e) * static_cast<float>(e);
                return y;
            },
            [](const Doubles& a, const Doubles&, const Doubles& gy) { return Doubles(2. * a * gy); }, v[0]);
    };
    says(gradcheck(in_float, {{0.3, 1.7}}), Verdict::inconclusive, "single precision");
}

BOOST_AUTO_TEST_CASE(variables_that_are_none_or_given_twice_are_refused) { // G19
    const Tape tape;
    const auto w = tape.variable(Doubles{1, 2, 3}, "w");
    const auto c = tape.constant(Doubles{1, 2, 3}, "c");
    throws([&] { gradcheck(Vars{w * c}, Vars{c}); }, "is no variable");
    throws([&] { gradcheck(Vars{w * w}, Vars{w, w}); }, "given twice");
    // One leaf in both places, and two leaves with the same numbers.
    const auto product = sum(w * w);
    BOOST_TEST((gradcheck(Vars{product}, Vars{w}).verdict == Verdict::pass));
    BOOST_TEST(grad(product, Vars{w}).front() == (Doubles{2, 4, 6}));
    const Doubles same{1, 2, 3};
    BOOST_TEST((gradcheck([](const Vars& x) { return sum(x[0] * x[1]); }, {same, same}).verdict == Verdict::pass));
    const Tape shapes(Tape::Mode::shapes_only);
    const auto s = shapes.variable(same, "s");
    throws([&] { gradcheck(Vars{s * s}, Vars{s}); }, "shape-only");
}

BOOST_AUTO_TEST_CASE(ties_are_kinks) { // G05
    const auto report = gradcheck([](const Vars& x) { return 3 * amax(x[0]); }, {{2, 5, 5, 1, 5}});
    BOOST_TEST((report.verdict == Verdict::kink), to_string(report));
    BOOST_TEST_REQUIRE(report.kinks.size() == 3u);
    for (const Kink& kink : report.kinks) {
        BOOST_TEST(std::abs(kink.left) < 1e-12);
        BOOST_TEST(std::abs(kink.right - 3) < 1e-12);
        BOOST_TEST(std::abs(kink.analytic - 1) < 1e-15); // shared evenly: 3 in all
    }
}

BOOST_AUTO_TEST_CASE(layouts_of_the_point_do_not_matter) { // G20
    const xt::xtensor<double, 2, xt::layout_type::column_major> columns{{-0.7, -0.4, -0.1}, {-0.6, -0.3, 0.05}};
    const Doubles rows = columns, of_view = xt::transpose(Doubles(xt::transpose(columns)));
    const auto f = [](const Vars& x) { return sigmoid(x[0]); };
    for (const Doubles& point : {rows, of_view}) {
        const auto report = gradcheck(f, {point});
        BOOST_TEST((report.verdict == Verdict::pass), to_string(report));
        BOOST_TEST(report.worst.analytic == gradcheck(f, {rows}).worst.analytic);
    }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_gradcheck_inputs
