// The tape: recording, rewinding, long chains, threads, handles, printing. Ops serve as users' programs would.
#include <boost/test/unit_test.hpp>

#include <pthread.h>

#include <fstream>
#include <sstream>
#include <thread>

#include <chalkgrad/autograd/tape/custom.hpp>
#include <chalkgrad/autograd/tape/tape.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/norm/guarded_root.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

#include "../../support.hpp"
#include "expect.hpp"

namespace test_tape {
BOOST_AUTO_TEST_SUITE(tape)

using namespace chalkgrad;
using namespace chalkgrad::testing;
using Doubles = Array<double>;

namespace {

/// Runs f on a thread with a stack of `bytes`; what it throws fails the test.
template <class F> void with_stack(std::size_t bytes, F f) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    BOOST_REQUIRE_EQUAL(pthread_attr_setstacksize(&attributes, bytes), 0);
    pthread_t thread;
    BOOST_REQUIRE_EQUAL(pthread_create(
                            &thread, &attributes,
                            [](void* p) -> void* {
                                (*static_cast<F*>(p))();
                                return nullptr;
                            },
                            &f),
        0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
}

} // namespace

BOOST_AUTO_TEST_CASE(long_chains_need_no_stack) { // G23
    double value = 0, slope = 0;
    with_stack(256 * 1024, [&] {
        Tape t;
        const auto x = t.variable(1.0);
        const auto c = t.constant(1e-6);
        Var<double> y = x;
        for (int i = 0; i < 200000; ++i) y = y + c * y;
        y.backward();
        value = y.item();
        slope = x.grad()();
    });
    BOOST_TEST(std::abs(value - 1.2214026360199814) < 1e-10);
    BOOST_TEST(std::abs(slope - 1.2214026360199814) < 1e-10);

    // A million lines: forward, backward, destruction.
    with_stack(256 * 1024, [&] {
        Tape t;
        const auto x = t.variable(1.0);
        Var<double> y = x;
        for (int i = 0; i < 1000000; ++i) y = y + x;
        y.backward();
        value = y.item();
        slope = x.grad()();
    });
    BOOST_TEST(value == 1000001);
    BOOST_TEST(slope == 1000001);
}

BOOST_AUTO_TEST_CASE(steady_loops_allocate_nothing) { // G25
    Tape t;
    const auto x = t.variable(Doubles(xt::ones<double>({64, 64}) * 0.5));
    const auto gamma = t.variable(Doubles(xt::ones<double>({64}) * 1.5));
    const auto mark = t.mark();
    std::size_t fresh = 0, bytes = 0, lines = 0;
    double total = 0;
    for (int i = 0; i < 1000; ++i) {
        const auto y = rms_norm(x, gamma);
        const auto loss = mean(y * y);
        loss.backward();
        total += loss.item();
        t.zero_grad();
        if (i == 3) {
            fresh = t.pool().fresh();
            bytes = t.pool().bytes();
            lines = t.size();
        }
        if (i > 3) BOOST_REQUIRE_EQUAL(t.size(), lines);
        t.rewind(mark);
    }
    BOOST_TEST(t.pool().fresh() == fresh);
    BOOST_TEST(t.pool().bytes() == bytes);
    BOOST_TEST(std::abs(total / 1000 - 2.25) < 1e-4);

#if !defined(__SANITIZE_ADDRESS__) // which keeps freed memory for a while
    // Ten thousand more rounds: resident memory stays where it is.
    const auto resident = [] {
        std::ifstream file("/proc/self/statm");
        long pages = 0, in_memory = 0;
        file >> pages >> in_memory;
        return in_memory * 4096;
    };
    const long before_rounds = resident();
    for (int i = 0; i < 10000; ++i) {
        mean(rms_norm(x, gamma)).backward();
        t.zero_grad();
        t.rewind(mark);
    }
    BOOST_TEST(resident() - before_rounds < (1 << 20));
#endif

    // The tracked total instead of its value: visible in size().
    auto kept = t.constant(0.0);
    const std::size_t before = t.size();
    for (int i = 0; i < 10; ++i) kept = kept + mean(rms_norm(x));
    BOOST_TEST(t.size() == before + 30);
}

BOOST_AUTO_TEST_CASE(recorded_values_cannot_change) { // G26
    Tape t;
    Doubles numbers{0.5, -1};
    const auto x = t.variable(numbers);
    const auto y = exp(x);
    const auto z = sum(y * y);
    numbers(0) = 100; // the user's array is not the tape's
    Doubles copy = y.value();
    copy(0) = 100; // nor is a copy of a value
    z.backward();
    expect(x.grad(), Doubles{5.43656365691809, 0.2706705664732254}, 1e-13);
    const auto h = t.variable(Doubles{3, 4});
    expect((h + rms_norm_floor(h)).value(), Doubles{3.848528137423857, 5.131370849898476}, 1e-14);
}

BOOST_AUTO_TEST_CASE(tapes_in_threads_do_not_meet) { // G46
    const double loss[] = {3.792129733281525, 3.7973795251563143, 3.814123093174024, 3.843829559794574};
    const double slope[] = {2.5e-51, 0.10748959789771692, 0.22983426183346556, 0.3666667581391625};
    std::vector<std::thread> threads;
    std::vector<std::string> failures(4);
    for (int k = 0; k < 4; ++k)
        threads.emplace_back([&, k] {
            for (int i = 0; i < 200; ++i) {
                Tape t;
                const auto x = t.variable(Doubles{0.1 * k, -1, 2});
                const auto l = sum(silu(x) * x);
                l.backward();
                if (std::abs(l.item() - loss[k]) > 1e-13 * loss[k] ||
                    std::abs(x.grad()(0) - slope[k]) > 1e-13 * std::abs(slope[k]) + 1e-40)
                    failures[k] = "wrong numbers";
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& failure : failures) BOOST_TEST(failure == "");
}

BOOST_AUTO_TEST_CASE(users_ops) {
    Tape t;
    const auto x = t.variable(Doubles{1, -2, 3}, "x");
    const auto cube = custom(
        "cube", [](const Doubles& a) { return Doubles(a * a * a); },
        [](const Doubles& a, const Doubles&, const Doubles& gy) { return Doubles(3. * a * a * gy); }, x);
    expect(cube.value(), Doubles{1, -8, 27});
    cube.backward(Doubles{1, 1, 2});
    expect(x.grad(), Doubles{3, 12, 54});
    const auto two = custom(
        "scale", [](const Doubles& a, const Doubles& b) { return Doubles(a * b); },
        [](const Doubles& a, const Doubles& b, const Doubles&, const Doubles& gy) {
            return std::tuple(Doubles(gy * b), Doubles(gy * a));
        },
        x, cube);
    expect(two.value(), Doubles{1, 16, 81});
    const auto wrong = custom(
        "wrong", [](const Doubles& a) { return a; },
        [](const Doubles&, const Doubles&, const Doubles&) {
            return Doubles{1, 2};
        },
        x);
    BOOST_TEST(says(refusal([&] { sum(wrong).backward(); }), {"wrong", "(2)", "(3)"}));
    Tape shapes(Tape::Mode::shapes_only);
    const auto s = shapes.leaf<double>({3}, nullptr, true, "s");
    BOOST_TEST(says(refusal([&] {
        custom(
            "cube", [](const Doubles& a) { return a; },
            [](const Doubles& a, const Doubles&, const Doubles&) { return a; }, s);
    }),
        {"cube", "shape-only"}));
}

BOOST_AUTO_TEST_CASE(stale_and_foreign_handles) {
    Tape t, other;
    const auto x = t.variable(Doubles{1, 2}, "x");
    const auto mark = t.mark();
    const auto y = x + x;
    t.rewind(mark);
    BOOST_TEST(says(refusal([&] { y.value(); }), {"value", "rewind"}));
    const auto again = x * x; // takes the same line
    BOOST_TEST(says(refusal([&] { y + x; }), {"add", "rewind"}));
    expect(again.value(), Doubles{1, 4});
    const auto z = other.variable(Doubles{1, 2}, "z");
    const std::string message = refusal([&] { x + z; });
    BOOST_TEST(says(message, {"add", "two tapes", "(2)"}));
    BOOST_TEST(says(refusal([&] { Var<double>() + x; }), {"add"}));
    BOOST_TEST(says(refusal([&] { x.grad(); }), {"grad", "not computed", "backward()"}));
    BOOST_TEST(says(refusal([&] { again.grad(); }), {"keep_grad"}));
    BOOST_TEST(says(refusal([&] { again.backward(); }), {"backward", "(2)", "cotangent"}));
    BOOST_TEST(says(refusal([&] { again.backward(Doubles{1, 2, 3}); }), {"(3)", "(2)"}));
    BOOST_TEST(says(refusal([&] { sum(t.constant(Doubles{1, 2})).backward(); }), {"no variable"}));
    BOOST_TEST(says(refusal([&] { t.variable(Doubles{1, 2, 3}, "three") + x; }), {"add", "(3)", "(2)"}));
}

BOOST_AUTO_TEST_CASE(a_refused_op_leaves_no_line) {
    Tape t;
    const auto x = t.variable(Doubles{1, 2}, "x");
    const std::size_t lines = t.size();
    const auto scope = t.scope("block");
    const std::string message = refusal([&] { rms_norm(x, {}, -1); });
    BOOST_TEST(says(message, {"rms_norm", "eps", "-1", "in block"}));
    BOOST_TEST(t.size() == lines);
}

BOOST_AUTO_TEST_CASE(handles_outlive_the_tape_object) {
    Var<double> y;
    {
        Tape t;
        y = t.variable(Doubles{1, 2}) * 3;
    }
    expect(y.value(), Doubles{3, 6});
}

BOOST_AUTO_TEST_CASE(shape_only_tapes) {
    Tape t(Tape::Mode::shapes_only);
    const auto x = t.leaf<double>({1u << 20, 1u << 20}, nullptr, true, "x"); // 8 TiB, never allocated
    const auto y = rms_norm(x);
    BOOST_TEST((y.shape() == Shape{1u << 20, 1u << 20}));
    BOOST_TEST(t.pool().bytes() == 0u);
    BOOST_TEST(says(refusal([&] { y.value(); }), {"value", "rms_norm", "shape-only"}));
    BOOST_TEST(says(refusal([&] { y.backward(Doubles{1}); }), {"shape-only"}));
    BOOST_TEST(says(refusal([&] { Tape().leaf<double>({1u << 30, 1u << 30}, nullptr, true); }), {"no numbers"}));
}

BOOST_AUTO_TEST_CASE(empty_and_single_arrays) {
    Tape t;
    const auto a = t.variable(Doubles(Doubles::shape_type{4, 0}));
    const auto b = t.variable(Doubles(xt::ones<double>({4, 1}) * 2.));
    const auto l = sum(a + b); // G29
    l.backward();
    BOOST_TEST(l.item() == 0);
    expect(b.grad(), Doubles(xt::zeros<double>({4, 1})));
    BOOST_TEST(
        (std::vector<std::size_t>(a.grad().shape().begin(), a.grad().shape().end()) == std::vector<std::size_t>{4, 0}));
}

BOOST_AUTO_TEST_CASE(plain_numbers_and_printing) {
    Tape t;
    const auto x = t.variable(Doubles{2, -1, 3, 0}, "x");
    expect((1.0 - x).value(), Doubles{-1, 2, -2, 1});
    expect((2 * x).value(), Doubles{4, -2, 6, 0});
    expect((x / 2).value(), Doubles{1, -0.5, 1.5, 0});
    expect((-x).value(), Doubles{-2, 1, -3, 0});
    std::ostringstream out;
    out << x;
    BOOST_TEST(out.str() == "x (4) double\n[2, -1, 3, 0]");
    out.str("");
    const auto scope = t.scope("block");
    sum(x * x).backward();
    out << t;
    BOOST_TEST(says(out.str(), {"line", "variable", "mul", "block", "not computed", "-1 … 3, rms 1.871"}));
}

BOOST_AUTO_TEST_CASE(other_layouts_mean_the_same) { // G20
    const xt::xarray<double, xt::layout_type::column_major> column{{1, 2, 3}, {4, 5, 6}};
    const Doubles row{{1, 2, 3}, {4, 5, 6}};
    Tape t;
    expect(t.variable(column).value(), row);
    expect(t.variable(xt::transpose(Doubles(xt::transpose(row)))).value(), row);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_tape
