// custom(): what lambdas may return, and generic ones in every scalar.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/autograd/check/jacobian.hpp>
#include <chalkgrad/autograd/tape/cast.hpp>
#include <chalkgrad/autograd/tape/custom.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>

namespace test_users_ops {
BOOST_AUTO_TEST_SUITE(users_ops)

using namespace chalkgrad;
using Doubles = Array<double>;
using Vars = std::vector<Var<double>>;

namespace {

const auto cube = [](const auto& x) { return xt::eval(x * x * x); };
const auto cube_vjp = [](const auto& x, const auto&, const auto& gy) { return xt::eval(3. * x * x * gy); };
/// x·tanh(x), its backward from saved y where it can.
const auto soft = [](const auto& x) { return xt::eval(x * xt::tanh(x)); };
const auto soft_vjp = [](const auto& x, const auto&, const auto& gy) {
    const auto t = xt::eval(xt::tanh(x));
    return xt::eval(gy * (t + x * (1. - t * t)));
};

template <class T> std::vector<T> numbers(const Array<T>& x) { return {x.begin(), x.end()}; }

} // namespace

BOOST_AUTO_TEST_CASE(generic_lambdas_run_in_every_scalar) {
    const Tape tape;
    const auto x = tape.variable(Doubles{0.5, -1, 2, 3}, "x");
    const auto y = sum(custom("cube", cube, cube_vjp, x));
    y.backward();
    BOOST_TEST(numbers(x.grad()) == (std::vector<double>{0.75, 3, 12, 27}));
    BOOST_TEST(numbers(jvp(y, x, Doubles{1, 0, 0, 0})) == std::vector<double>{0.75});
    BOOST_TEST(numbers(hvp(y, x, Doubles{1, 1, 1, 1})) == (std::vector<double>{3, -6, 12, 18}));
    const auto report = gradcheck({custom("soft", soft, soft_vjp, x)}, {x});
    BOOST_TEST((report.verdict == Verdict::pass), to_string(report));
    BOOST_TEST(report.notes == "");
    const auto wrong = [](const auto& x, const auto&, const auto& gy) { return xt::eval((3. + 1e-9) * x * x * gy); };
    BOOST_TEST((gradcheck({custom("cube", cube, wrong, x)}, {x}).verdict == Verdict::fail)); // seen by dual numbers
    // Those over Array<double> run in double, also where only the result says so.
    const auto plain = custom(
        "plain", [](const auto& a) { return Doubles(a * a * a); }, cube_vjp, x);
    BOOST_CHECK_THROW(jvp(plain, x, Doubles{1, 0, 0, 0}), Error);
    BOOST_TEST((gradcheck({plain}, {x}).verdict == Verdict::pass));
}

BOOST_AUTO_TEST_CASE(every_scalar_of_a_tape) {
    const Tape tape;
    const auto x = tape.variable(Doubles{0.5, -1, 2}, "x");
    const auto check = [&](const auto& narrow, double most) {
        const auto y = custom("cube", cube, cube_vjp, narrow);
        const auto slopes = grad(cast<double>(y), std::vector{x}, Doubles{1, 1, 1})[0];
        const std::vector<double> right = {0.75, 3, 12};
        for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(std::abs(slopes(i) - right[i]) <= most * right[i]);
        BOOST_TEST(static_cast<double>(y.data()[2]) == 8);
    };
    check(x, 0);
    check(cast<float>(x), 1e-6);
    check(cast<long double>(x), 0);
    check(cast<half>(x), 1e-3);
    check(cast<bfloat16>(x), 1e-2);
}

BOOST_AUTO_TEST_CASE(what_lambdas_may_return) {
    const Tape tape;
    const auto x = tape.variable(Doubles{1, -2, 3}, "x"), w = tape.variable(2., "w");
    // A number is an array of rank 0; so is the gradient of one.
    const auto scaled_sum = custom(
        "scaled_sum", [](const auto& x, const auto& w) { return w() * xt::sum(x)(); },
        [](const auto& x, const auto& w, const auto&, const auto& gy) {
            return std::pair(xt::eval(w() * gy() * xt::ones_like(x)), xt::sum(x)() * gy());
        },
        x, w);
    BOOST_TEST(scaled_sum.shape() == Shape());
    scaled_sum.backward();
    BOOST_TEST(numbers(x.grad()) == (std::vector<double>{2, 2, 2}));
    BOOST_TEST(w.grad()() == 2);
    BOOST_TEST(numbers(hvp(scaled_sum, w, Doubles(1.))) == std::vector<double>{0}); // linear in w
    // Fixed ranks and lists own their numbers too.
    const auto fixed = custom(
        "fixed", [](const Doubles& x) { return xt::xtensor<double, 1>(2. * x); },
        [](const Doubles&, const Doubles&, const Doubles& gy) { return std::vector{Doubles(2. * gy)}; }, x);
    BOOST_TEST(numbers(fixed.value()) == (std::vector<double>{2, -4, 6}));
    x.zero_grad();
    sum(fixed).backward();
    BOOST_TEST(numbers(x.grad()) == (std::vector<double>{2, 2, 2}));
}

BOOST_AUTO_TEST_CASE(kinks_are_seen_in_long_double) {
    const auto relu = [](const auto& x) { return xt::eval(xt::maximum(x, 0. * x)); };
    const auto relu_vjp = [](const auto& x, const auto&, auto gy) {
        for (std::size_t i = 0; i < gy.size(); ++i)
            if (!(x(i) > 0.)) gy(i) = 0.;
        return gy;
    };
    for (const double at : {0., 1e-9, -1e-9, 1e-4}) {
        const auto report = gradcheck(
            [&](const Vars& v) { return custom("relu", relu, relu_vjp, CustomOptions{.kinks = kinks_at({0})}, v[0]); },
            {{at, 2, -1}});
        BOOST_TEST((report.verdict == (at == 0 ? Verdict::kink : Verdict::pass)), at << ": " << to_string(report));
    }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_users_ops
