// Gradients of the tape: their shapes, their life, sweeps towards intermediates, and sweeps that throw.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/tape/custom.hpp>
#include <chalkgrad/autograd/tape/tape.hpp>
#include <chalkgrad/autograd/tape/trace.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

#include "../../support.hpp"
#include "expect.hpp"

namespace test_gradients {
BOOST_AUTO_TEST_SUITE(gradients)

using namespace chalkgrad;
using namespace chalkgrad::testing;
using Doubles = Array<double>;

BOOST_AUTO_TEST_CASE(one_leaf_in_two_slots) { // G19
    const Doubles w{1, 2, 3};
    {
        Tape t;
        const auto leaf = t.variable(w, "w");
        const auto loss = sum(leaf * leaf);
        loss.backward();
        BOOST_TEST(loss.item() == 14);
        expect(leaf.grad(), Doubles{2, 4, 6});
    }
    Tape t;
    const auto a = t.variable(w), b = t.variable(w);
    sum(a * b).backward();
    expect(a.grad(), w);
    expect(b.grad(), w);
}

BOOST_AUTO_TEST_CASE(shared_subexpression) { // G21
    Tape t;
    const auto a = t.variable(1.5);
    const auto b = a * a, c = b + b * b, d = c * b + a;
    d.backward();
    BOOST_TEST(d.item() == 17.953125);
    BOOST_TEST(a.grad()() == 60.0625);
    const auto e = t.variable(1.0);
    const auto f = e + e;
    (f + f).backward();
    BOOST_TEST(e.grad()() == 4);
}

BOOST_AUTO_TEST_CASE(same_variable_twice_in_one_op) { // G22
    Tape t;
    const auto x = t.variable(Doubles{{1, 2}, {3, 4}});
    const auto y = matmul(x, x);
    expect(y.value(), Doubles{{7, 10}, {15, 22}});
    y.backward(Doubles{{1, 0}, {-1, 2}});
    expect(x.grad(), Doubles{{-1, 9}, {1, 13}});
    const auto slope = [](auto f) {
        Tape t;
        const auto x = t.variable(3.0);
        f(x).backward();
        return x.grad()();
    };
    BOOST_TEST(slope([](const auto& x) { return x * x; }) == 6);
    BOOST_TEST(slope([](const auto& x) { return x - x; }) == 0);
    BOOST_TEST(slope([](const auto& x) { return x / x; }) == 0);
}

BOOST_AUTO_TEST_CASE(second_backward_accumulates_in_leaves_only) { // G24
    Tape t;
    const auto a = t.variable(2.0);
    const auto b = 3 * a;
    b.keep_grad();
    const auto c = b * b;
    c.backward();
    BOOST_TEST(a.grad()() == 36);
    BOOST_TEST(b.grad()() == 12);
    c.backward();
    BOOST_TEST(a.grad()() == 72);
    BOOST_TEST(b.grad()() == 12); // of the last sweep alone
    t.zero_grad();
    BOOST_TEST(!a.has_grad());
    BOOST_TEST(!b.has_grad());
    c.backward();
    BOOST_TEST(a.grad()() == 36);
}

BOOST_AUTO_TEST_CASE(broadcast_gradients_have_their_operands_shape) { // G27
    Tape t;
    const auto a = t.variable(Doubles{{1, 2, 3}, {-1, 0.5, 4}});
    const auto b = t.variable(Doubles(xt::reshape_view(Doubles{2., -3.}, {2, 1})));
    const auto r = t.variable(Doubles{1, -1, 2});
    const auto c = t.variable(0.5);
    const auto u = t.constant(Doubles{{1, 2, 3}, {4, 5, 6}});
    sum(u * ((a * b + r) * c)).backward();
    expect(a.grad(), Doubles{{1, 2, 3}, {-6, -7.5, -9}});
    expect(b.grad(), Doubles(xt::reshape_view(Doubles{7, 11.25}, {2, 1})));
    expect(r.grad(), Doubles{2.5, 3.5, 4.5});
    BOOST_TEST(c.grad().dimension() == 0u);
    BOOST_TEST(c.grad()() == -23.5);
}

BOOST_AUTO_TEST_CASE(grad_of_intermediates_touches_nothing) {
    Tape t;
    const auto x = t.variable(Doubles{1, 2});
    const auto h = x * x;
    const auto y = sum(h * h);
    y.backward();
    const Doubles before = x.grad();
    const auto g = grad(y, std::vector<Var<double>>{h, x});
    expect(g[0], Doubles{2, 8});
    expect(g[1], Doubles{4, 32});
    expect(x.grad(), before);
    const auto other = t.variable(1.0, "other");
    BOOST_TEST(says(refusal([&] { grad(y, std::vector<Var<double>>{other}); }), {"grad", "other", "does not depend"}));
    expect(x.grad(), before);
    expect(grad(h, std::vector<Var<double>>{x}, Doubles{1, 10})[0], Doubles{2, 40});
}

BOOST_AUTO_TEST_CASE(a_sweep_towards_an_intermediate_stops_there) {
    // The norm's own rule would be asked for no gradient at all, and has nowhere to write one.
    Tape t;
    const auto x = t.variable(Doubles{1, 2, 3}), gamma = t.variable(Doubles{2, -1, 3});
    const auto h = rms_norm(x, gamma, 1e-6);
    expect(grad(sum(h * h), std::vector<Var<double>>{h})[0], Doubles(2 * h.value()));
    expect(grad(h, std::vector<Var<double>>{h}, Doubles{1, 2, 3})[0], Doubles{1, 2, 3});
}

BOOST_AUTO_TEST_CASE(the_cotangent_stays_the_callers) {
    // The sweep reads it where it is: the tape may neither change it nor take its memory for the next buffer.
    Tape t;
    const auto x = t.variable(Doubles{1, 2, 3, 4, 5});
    const Doubles gy{1, -2, 3, -4, 5}, nines{9, 9, 9, 9, 9};
    int calls = 0;
    const auto y = custom(
        "twice", [](const Doubles& a) { return Doubles(2 * a); },
        [&calls](const Doubles&, const Doubles&, const Doubles& g) {
            if (++calls == 2) throw std::runtime_error("the user's own");
            return Doubles(2 * g);
        },
        x);
    y.backward(gy);
    expect(x.grad(), Doubles(2 * gy));
    BOOST_CHECK_THROW(y.backward(gy), std::runtime_error);
    expect(grad(y, std::vector<Var<double>>{x, y}, gy)[1], gy);
    for (int i = 0; i < 4; ++i) t.variable(nines);
    expect(gy, Doubles{1, -2, 3, -4, 5});
    y.keep_grad();
    y.backward(gy);
    t.zero_grad(); // kept gradients are the tape's own
    t.variable(nines);
    expect(gy, Doubles{1, -2, 3, -4, 5});
}

BOOST_AUTO_TEST_CASE(a_throwing_backward_changes_no_gradient) {
    Tape t;
    const auto x = t.variable(2.0, "x"), z = t.variable(3.0, "z");
    (x * z).backward();
    const auto copy = [](const Doubles& a) { return Doubles(a); };
    int calls = 0;
    const auto broken = custom(
        "broken", copy,
        [&calls](const Doubles& a, const Doubles&, const Doubles&) {
            if (++calls == 1) throw std::runtime_error("the user's own");
            return Doubles(a);
        },
        x);
    const auto y = broken * z;
    BOOST_CHECK_THROW(y.backward(), std::runtime_error);
    BOOST_TEST(x.grad()() == 3);
    BOOST_TEST(z.grad()() == 2);
    y.backward(); // and the tape is as good as before
    BOOST_TEST(z.grad()() == 4);
    BOOST_TEST(x.grad()() == 5);
}

BOOST_AUTO_TEST_CASE(first_number_that_is_not_finite) {
    Tape t;
    const auto x = t.variable(Doubles{1, 0}, "x");
    BOOST_TEST(!first_nonfinite(sum(x * x)).has_value());
    {
        const auto scope = t.scope("attention");
        const auto y = 1.0 / x;
        const auto found = first_nonfinite(sum(y * 0.5));
        BOOST_REQUIRE(found.has_value());
        BOOST_TEST((found->direction == NonFinite::Direction::forward));
        BOOST_TEST(found->line == y.line());
        BOOST_TEST(says(to_string(*found), {"forward", "inf", "[1]", "div", "attention"}));
    }
    Tape u; // all values finite, a slope is not
    const auto z = u.variable(Doubles{4, 0}, "z");
    const auto found = first_nonfinite(sum(sqrt(z)));
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST((found->direction == NonFinite::Direction::backward));
    BOOST_TEST(says(to_string(*found), {"backward", "inf", "[1]", "z"}));
    BOOST_TEST(!z.has_grad());
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_gradients
