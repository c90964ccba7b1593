// gradcheck of users' ops whose lambdas throw, give other shapes or no numbers, or keep what they are handed.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <memory>

#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/autograd/tape/custom.hpp>

namespace test_gradcheck_lambdas {
BOOST_AUTO_TEST_SUITE(gradcheck_lambdas)

using namespace chalkgrad;
using Doubles = Array<double>;
using Vars = std::vector<Var<double>>;

namespace {

void says(const GradcheckReport& report, Verdict verdict, const std::string& words) {
    BOOST_TEST((report.verdict == verdict), to_string(report));
    BOOST_TEST(report.why.find(words) != std::string::npos, "\"" << words << "\" is not in " << to_string(report));
}

/// y = x² of one lambda each, with another backward.
template <class Vjp> auto square_with(Vjp vjp, CustomOptions options = {}) {
    return [=](const Vars& v) {
        return custom(
            "square", [](const Doubles& x) { return Doubles(x * x); }, vjp, options, v[0]);
    };
}
} // namespace

const std::vector<Doubles> point = {{0.5, -1.25, 2, 3}};

BOOST_AUTO_TEST_CASE(lambdas_that_misbehave_are_told_in_a_sentence) {
    const auto right = [](const Doubles& x, const Doubles&, const Doubles& gy) { return Doubles(2. * x * gy); };
    const auto with_forward = [&](auto forward) {
        return gradcheck([=](const Vars& v) { return custom("odd", forward, right, v[0]); }, point);
    };
    int calls = 0;
    const auto from = [&](int call, auto then) { // forward runs twice when it is recorded
        return with_forward(
            [&calls, call, then](const Doubles& x) { return ++calls > call ? then(x) : Doubles(x * x); });
    };
    says(from(2, [](const Doubles&) -> Doubles { throw std::runtime_error("enough"); }), Verdict::fail,
        "odd: forward threw: enough");
    calls = 0;
    says(from(2, [](const Doubles&) -> Doubles { throw 42; }), Verdict::fail,
        "odd: forward threw something that is no std::exception");
    calls = 0;
    says(from(2, [](const Doubles&) { return Doubles{1.}; }), Verdict::fail,
        "odd: forward gave shape (1) where it gave (4) before");
    says(with_forward([](const Doubles& x) { return Doubles(x * std::nan("")); }), Verdict::inconclusive, "not finite");
    says(gradcheck(square_with([](const Doubles&, const Doubles&, const Doubles&) -> Doubles {
        throw std::runtime_error("none");
    }),
             point),
        Verdict::fail, "square: vjp threw: none");
    says(gradcheck(square_with([](const Doubles&, const Doubles&, const Doubles&) { return Doubles{1.}; }), point),
        Verdict::fail, "vjp gave a gradient of shape (1) for input 'x0' of shape (4)");
    says(gradcheck(square_with([](const Doubles& x, const Doubles&, const Doubles&) {
        return std::vector<Doubles>{x, x};
    }),
             point),
        Verdict::fail, "vjp gave 2 gradients for 1 inputs");
    // What a lambda throws, or gives, need not be of the kind that one expects.
    says(gradcheck(square_with([](const Doubles&, const Doubles&, const Doubles&) -> Doubles { throw 42; }), point),
        Verdict::fail, "square: vjp threw something that is no std::exception");
    says(gradcheck(square_with([](const Doubles& x, const Doubles&, const Doubles& gy) {
        return Doubles(2. * x * gy * std::nan(""));
    }),
             point),
        Verdict::fail, "the gradient is not finite where the slope is");
    says(gradcheck(
             square_with([](const Doubles&, const Doubles&, const Doubles&) { return std::vector<Doubles>(); }), point),
        Verdict::fail, "vjp gave 0 gradients for 1 inputs");
    says(gradcheck(square_with([](const Doubles&, const Doubles&, const Doubles&) { return Doubles(); }), point),
        Verdict::fail, "vjp gave a gradient of shape () for input 'x0' of shape (4)");
    // References to what they are handed read no freed memory; views of it do not compile (tests/wrong).
    const auto kept = std::make_shared<const Doubles*>(nullptr);
    says(gradcheck(
             [=](const Vars& v) {
                 return custom(
                     "keeps",
                     [=](const Doubles& x) {
                         *kept = &x;
                         return Doubles(x * x);
                     },
                     [=](const Doubles&, const Doubles&, const Doubles& gy) { return Doubles(2. * **kept * gy); },
                     v[0]);
             },
             point),
        Verdict::fail, "keeps numbers of its last forward outside the tape");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_gradcheck_lambdas
