// Users' ops that throw, change their shape, give NaN, keep what they are handed, or use their own tape: one sentence each, and a tape
// that works as before. For the sanitizers, too.
#include <boost/test/unit_test.hpp>

#include <functional>
#include <new>

#include <chalkgrad/autograd/tape/custom.hpp>
#include <chalkgrad/autograd/tape/trace.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

#include "../../support.hpp"

namespace test_hostile_lambdas {
BOOST_AUTO_TEST_SUITE(hostile_lambdas)

using namespace chalkgrad;
using chalkgrad::testing::refusal;
using Doubles = Array<double>;
using Forward = std::function<Doubles(const Doubles&)>;
using Backward = std::function<Doubles(const Doubles&, const Doubles&, const Doubles&)>;

namespace {

const Forward square_of = [](const Doubles& x) { return Doubles(x * x); };
const Backward twice_x = [](const Doubles& x, const Doubles&, const Doubles& gy) { return Doubles(2. * x * gy); };

/// A tape with one variable, whose square has the slopes 2, −4, 6.
struct Bench {
    Tape tape;
    Var<double> x = tape.variable(Doubles{1, -2, 3}, "x");

    Var<double> odd(const Forward& forward, const Backward& backward = twice_x) const {
        return custom("odd", forward, backward, x);
    }
    void works() const {
        x.zero_grad();
        sum(custom("square", square_of, twice_x, x)).backward();
        BOOST_TEST((x.grad() == Doubles{2, -4, 6}));
        BOOST_TEST((x.value() == Doubles{1, -2, 3}));
    }
};

/// A forward that does as it should in its first calls; recording makes two.
Forward later(int calls, const Forward& then) {
    return [=, made = 0](const Doubles& x) mutable { return made++ < calls ? square_of(x) : then(x); };
}

} // namespace

BOOST_AUTO_TEST_CASE(forwards_that_throw_or_change_their_shape) {
    const std::pair<Forward, const char*> wrong[] = {
        {[](const Doubles&) -> Doubles { throw std::runtime_error("enough"); }, "odd: forward threw: enough"},
        {[](const Doubles&) -> Doubles { throw std::bad_alloc(); }, "odd: forward threw: std::bad_alloc"},
        {[](const Doubles&) -> Doubles { throw 42; }, "odd: forward threw something that is no std::exception"},
        {[](const Doubles&) {
             return Doubles{1, 2};
         },
            "odd: forward gave shape (2) where it gave (3) before; its shape must depend on the inputs' shapes only"},
        {[](const Doubles&) {
             return Doubles::from_shape({1 << 10, 0, 7});
         },
            "odd: forward gave shape (1024, 0, 7) where it gave (3) before; its shape must depend on the inputs' "
            "shapes only"},
        {[](const Doubles&) { return Doubles(); },
            "odd: forward gave shape () where it gave (3) before; its shape must depend on the inputs' shapes only"},
    };
    const Bench b;
    for (const auto& [forward, sentence] : wrong) {
        const std::size_t lines = b.tape.size();
        BOOST_TEST(refusal([&] { b.odd(later(1, forward)); }) == sentence);
        BOOST_TEST(b.tape.size() == lines);
        b.works();
    }
    BOOST_TEST(refusal([&] { b.odd(wrong[0].first); }) == wrong[0].second);
    BOOST_TEST(refusal([&] {
        b.odd([](const Doubles&) { return Doubles::from_shape(std::vector<std::size_t>(9, 1)); });
    }) == "shape: more than 8 axes; reshape the array to fewer");
    b.works();
}

BOOST_AUTO_TEST_CASE(backwards_that_throw_or_give_something_else) {
    const std::pair<Backward, const char*> wrong[] = {
        {[](const Doubles&, const Doubles&, const Doubles&) -> Doubles { throw std::runtime_error("enough"); },
            "odd: vjp threw: enough"},
        {[](const Doubles&, const Doubles&, const Doubles&) -> Doubles { throw 42; },
            "odd: vjp threw something that is no std::exception"},
        {[](const Doubles&, const Doubles&, const Doubles&) {
             return Doubles{1, 2, 3, 4};
         },
            "odd: vjp gave a gradient of shape (4) for input 'x' of shape (3); sum it over what was broadcast"},
        {[](const Doubles&, const Doubles&, const Doubles&) { return Doubles::from_shape({0}); },
            "odd: vjp gave a gradient of shape (0) for input 'x' of shape (3); sum it over what was broadcast"},
    };
    const Bench b;
    for (const auto& [backward, sentence] : wrong) {
        b.works();
        const auto loss = sum(b.odd(square_of, backward));
        BOOST_TEST(refusal([&] { loss.backward(); }) == sentence);
        BOOST_TEST((b.x.grad() == Doubles{2, -4, 6})); // of the sweep before
        b.works();
    }
}

BOOST_AUTO_TEST_CASE(numbers_that_are_none) {
    const Bench b;
    const auto y = b.odd([](const Doubles& x) { return Doubles(x * std::nan("")); });
    const auto value = first_nonfinite(sum(y));
    BOOST_REQUIRE(value.has_value());
    BOOST_TEST(value->line == y.line());
    BOOST_TEST(to_string(*value).find("odd") != std::string::npos);
    const Bench other;
    const auto z =
        other.odd(square_of, [](const Doubles& x, const Doubles&, const Doubles&) { return Doubles(x / 0.); });
    const auto gradient = first_nonfinite(sum(z));
    BOOST_REQUIRE(gradient.has_value());
    BOOST_TEST((gradient->direction == NonFinite::Direction::backward));
    b.works();
    other.works();
}

// Kept references stay memory as long as the op lives; what is written through them, or resized, is no number of the tape.
BOOST_AUTO_TEST_CASE(arrays_that_are_kept_written_or_emptied) {
    const Bench b;
    std::vector<Doubles*> kept;
    const auto keep = [&](const Doubles& x) { kept.push_back(const_cast<Doubles*>(&x)); };
    const auto y = b.odd(
        [&](const Doubles& x) {
            keep(x);
            return square_of(x);
        },
        [&](const Doubles& x, const Doubles& its, const Doubles& gy) {
            const Doubles result = twice_x(x, its, gy);
            for (const Doubles* a : {&x, &its, &gy}) keep(*a);
            return result;
        });
    for (const bool emptied : {false, true}) {
        b.x.zero_grad();
        sum(y).backward();
        BOOST_TEST((b.x.grad() == Doubles{2, -4, 6}));
        for (Doubles* a : kept) {
            a->fill(7);
            if (emptied) a->resize({0});
        }
        BOOST_TEST((y.value() == Doubles{1, 4, 9}));
    }
    b.works();
    const auto thief = [](const Doubles& x) { return std::move(const_cast<Doubles&>(x)); };
    const auto same = b.odd(thief, [=](const Doubles&, const Doubles&, const Doubles& gy) { return thief(gy); });
    BOOST_TEST((same.value() == Doubles{1, -2, 3}));
    b.x.zero_grad();
    same.backward({1, 2, 3});
    same.backward({1, 2, 3});
    BOOST_TEST((b.x.grad() == Doubles{2, 4, 6}));
    b.works();
}

BOOST_AUTO_TEST_CASE(lambdas_that_use_their_own_tape) {
    const Bench b;
    int depth = 0;
    Forward forward = [&](const Doubles& x) {
        const auto mark = b.tape.mark();
        auto more = b.tape.variable(x);
        for (int i = 0; i < 3000; ++i) more = more + 1; // many blocks of lines
        if (++depth < 3) custom("odd", forward, twice_x, b.x);
        --depth;
        sum(more).backward();
        b.tape.rewind(mark);
        return square_of(x);
    };
    std::vector<std::string> told;
    const auto y = b.odd(forward, [&](const Doubles& x, const Doubles& y, const Doubles& gy) {
        const std::function<void()> meddling[] = {[&] { sum(b.x).backward(); },
            [&] { grad(sum(b.x), std::vector{b.x}); }, [&] { b.x.zero_grad(); }, [&] { b.tape.zero_grad(); },
            [&] { b.tape.clear(); }, [&] { exp(b.x).keep_grad(); }};
        for (const auto& f : meddling) told.push_back(refusal(f));
        return twice_x(x, y, gy);
    });
    const auto loss = sum(y * y);
    const std::string running = ": a sweep of this tape is running; ";
    for (const bool towards : {false, true}) {
        told.clear();
        if (towards) {
            BOOST_TEST((grad(loss, {b.x})[0] == Doubles{4, -32, 108}));
        } else {
            loss.backward();
            BOOST_TEST((b.x.grad() == Doubles{4, -32, 108}));
        }
        BOOST_TEST(told == (std::vector<std::string>{"backward" + running + "a rule must not start another",
                               "backward" + running + "a rule must not start another",
                               "zero_grad" + running + "call it after", "zero_grad" + running + "call it after",
                               "rewind" + running + "rewind after it", "keep_grad" + running + "call it after"}),
            boost::test_tools::per_element());
    }
    b.works();
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_hostile_lambdas
