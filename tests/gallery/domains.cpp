// Right functions that were called wrong: steps leave their domain, or outrun them. With many seeds each.
#include <boost/test/unit_test.hpp>

#include <numbers>

#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

#include "spoken.hpp"

namespace test_domains {
BOOST_AUTO_TEST_SUITE(domains)

using namespace chalkgrad;
using namespace chalkgrad::spoken;

// Steps that leave the domain, or outrun the function, tell nothing.
BOOST_AUTO_TEST_CASE(right_where_steps_leave_the_domain) { // N09
    using std::numbers::pi;
    const auto log_of = each([](auto x) {
        using std::log;
        return log(x);
    });
    const auto reciprocal = slope([](auto x) { return decltype(x)(1) / x; });
    for (const Doubles& x :
        {Doubles{1e-6, 0.25, 0.75}, Doubles{1e-6, 0.25, 0.749999}, Doubles{1e-5, 2}, Doubles{1e-6}, Doubles{1e-12, 1}})
        never_fails("log", log_of, reciprocal, x);
    never_fails("sqrt", each([](auto x) {
        using std::sqrt;
        return sqrt(x);
    }),
        slope([](auto x) {
            using std::sqrt;
            return decltype(x)(0.5) / sqrt(x);
        }),
        {1e-6, 2});
    for (const double near : {1e-3, 1e-6, 1e-9})
        for (const Form form : forms)
            for (std::uint64_t seed = 0; seed < seeds; ++seed) {
                if (form == Form::rule) continue; // there is no asin of dual numbers
                const auto asin_of = [](const double* x, std::size_t n, double* y) {
                    for (std::size_t i = 0; i < n; ++i) y[i] = std::asin(x[i]);
                };
                Tape tape;
                const auto x = tape.variable(Doubles{1 - near, 0.3}, "x");
                const auto y = custom(
                    "asin",
                    [=](const Doubles& a) {
                        Doubles r = a;
                        asin_of(a.data(), a.size(), r.data());
                        return r;
                    },
                    [](const Doubles& a, const Doubles&, const Doubles& gy) {
                        return Doubles(gy / xt::sqrt((1. - a) * (1. + a)));
                    },
                    x);
                GradcheckOptions options;
                options.seed = seed;
                const GradcheckReport report = gradcheck(Vars{y}, Vars{x}, options);
                BOOST_TEST((report.verdict != Verdict::fail), "asin, " << near << ": " << to_string(report));
            }
    for (const double fast : {30., 1e3, 1e4, 1e6})
        never_fails("sin", each([=](auto x) {
            using std::sin;
            return sin(decltype(x)(fast) * x);
        }),
            slope([=](auto x) {
                using std::cos;
                return decltype(x)(fast) * cos(decltype(x)(fast) * x);
            }),
            {0.7, -0.3, 1.1});
    is_always(Verdict::fail, "log by a thousandth", log_of, slope([](auto x) { return decltype(x)(1.001) / x; }),
        {0.2, 0.25, 0.55});
    is_always(Verdict::fail, "log by a millionth", log_of, slope([](auto x) { return decltype(x)(1.000001) / x; }),
        {1e-6, 0.25, 0.749999});
    // Two slopes, 0 and infinite, whose product is a number; every op by itself is right.
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        GradcheckOptions options;
        options.seed = seed;
        const GradcheckReport report =
            gradcheck([](const Vars& x) { return pow(sqrt(sum(square(x[0]))), 2); }, {{0, 0, 0}}, options);
        BOOST_TEST((report.verdict == Verdict::inconclusive), to_string(report));
    }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_domains
