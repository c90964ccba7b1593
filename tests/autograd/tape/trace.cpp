// The written-down sweep: its steps, their order, and that it is backward() itself.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/autograd/tape/numbers.hpp>
#include <chalkgrad/autograd/tape/trace.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>

namespace test_trace {
BOOST_AUTO_TEST_SUITE(trace)

using namespace chalkgrad;

namespace {

struct Recorded {
    Tape tape;
    Var<double> x, gamma, w, constant, y;

    /// y = x + exp(rms_norm(x, gamma) w) c, over three rows.
    Recorded() {
        Generator rng(11);
        x = tape.variable(rng.standard_normal({3, 4}), "x");
        gamma = tape.variable(rng.normal(1, 0.3, {4}), "gamma");
        w = tape.variable(rng.standard_normal({4, 4}), "w");
        constant = tape.constant(rng.standard_normal({3, 4}), "c");
        y = x + exp(matmul(rms_norm(x, gamma), w)) * constant;
    }
    Array<double> cotangent() const { return Generator(12).standard_normal({3, 4}); }
};

std::vector<double> list(const Array<double>& a) { return {a.begin(), a.end()}; }

} // namespace

BOOST_AUTO_TEST_CASE(every_step_from_the_output_to_the_first_line) {
    Recorded r;
    const auto steps = trace_backward(r.y, r.cotangent());
    std::vector<std::string> ops;
    for (const SweepStep& step : steps) ops.push_back(r.tape.line(step.line).op);
    const std::vector<std::string> expected{"add", "mul", "exp", "matmul", "rms_norm"};
    BOOST_TEST(ops == expected, boost::test_tools::per_element());
    BOOST_TEST((steps[0].gradient == list(r.cotangent())));
    BOOST_TEST(steps[0].passed.size() == 2); // x and the product
    BOOST_TEST(steps[1].passed.size() == 1); // not the constant
    BOOST_TEST(steps[4].passed.size() == 2);
    BOOST_TEST(steps[4].passed[0].line == r.x.line());
    BOOST_TEST(steps[4].passed[1].line == r.gamma.line());
}

BOOST_AUTO_TEST_CASE(a_gradient_grows_step_by_step_to_that_of_backward) {
    Recorded traced, plain;
    const auto steps = trace_backward(traced.y, traced.cotangent());
    plain.y.backward(plain.cotangent());
    // The residual add passes ȳ on as it came; the norm adds its part.
    BOOST_TEST((steps[0].passed[0].gradient == list(traced.cotangent())));
    BOOST_TEST((steps[4].passed[0].gradient == list(plain.x.grad())));
    BOOST_TEST((steps[4].passed[0].gradient != steps[0].passed[0].gradient));
    BOOST_TEST((steps[4].passed[1].gradient == list(plain.gamma.grad())));
    BOOST_TEST((steps[3].passed[1].gradient == list(plain.w.grad())));
    // What a line passes on is what the next one begins with.
    BOOST_TEST((steps[3].passed[0].gradient == steps[4].gradient));
    BOOST_TEST((traced.x.grad() == plain.x.grad()));
}

BOOST_AUTO_TEST_CASE(an_input_used_twice_is_passed_to_once) {
    Tape t;
    const Var<double> x = t.variable(3.0, "x");
    const Var<double> y = x * x;
    const auto steps = trace_backward(y, Array<double>(2.0));
    BOOST_TEST(steps.size() == 1);
    BOOST_TEST(steps[0].passed.size() == 1);
    BOOST_TEST(steps[0].passed[0].gradient[0] == 12);
}

BOOST_AUTO_TEST_CASE(saved_numbers) {
    Recorded r;
    for (std::size_t i = 0; i < r.tape.size(); ++i) {
        const std::vector<double> saved = saved_of(r.tape, i);
        if (r.tape.line(i).op != "rms_norm") continue;
        BOOST_TEST(saved.size() == 3); // r of each row
        for (std::size_t t = 0; t < 3; ++t) {
            double square = 0;
            for (std::size_t j = 0; j < 4; ++j) square += r.x.value()(t, j) * r.x.value()(t, j);
            BOOST_TEST(saved[t] == 1 / std::sqrt(square / 4 + 1e-6), boost::test_tools::tolerance(1e-12));
        }
    }
    BOOST_TEST(saved_of(r.tape, 0).empty());
    BOOST_CHECK_THROW(saved_of(r.tape, r.tape.size()), Error);
}

BOOST_AUTO_TEST_CASE(all_intermediates_may_keep_their_gradients) {
    Recorded r;
    r.y.backward(r.cotangent());
    BOOST_TEST(!gradient_of(r.tape, r.y.line()));
    r.tape.zero_grad();
    keep_all_gradients(r.tape);
    r.y.backward(r.cotangent());
    for (std::size_t i = 0; i < r.tape.size(); ++i)
        BOOST_TEST(gradient_of(r.tape, i).has_value() == (i != r.constant.line()), "line " << i);
}

BOOST_AUTO_TEST_CASE(refusals_are_those_of_backward) {
    Recorded r;
    BOOST_CHECK_EXCEPTION(trace_backward(r.y, Array<double>(1.0)), Error,
        [](const Error& e) { return std::string(e.what()).find("cotangent has shape") != std::string::npos; });
    BOOST_CHECK_THROW(trace_backward(r.constant, r.cotangent()), Error);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_trace
