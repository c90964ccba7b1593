// Rotary embedding: what it keeps, the two pairings, positions far out, partial rotation, refusals.
#include "../arrays.hpp"

#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/ops/attention/rope.hpp>

namespace test_rope {
BOOST_AUTO_TEST_SUITE(rope)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

Array<double> turned(const Array<double>& x, const RopeOptions& options) {
    Tape tape;
    return chalkgrad::rope(tape.constant(x), options).value();
}

} // namespace

BOOST_AUTO_TEST_CASE(first_token_stays_and_pairs_turn) {
    on_every_isa([] {
        const Array<double> x = {{1, 2, 3, 4}, {1, 2, 3, 4}};
        const double c0 = std::cos(1.0), s0 = std::sin(1.0), c1 = std::cos(0.1),
                     s1 = std::sin(0.1); // base 100: speeds 1 and 1/10
        check_array(turned(x, {.base = 100}),
            {{1, 2, 3, 4}, {c0 - 3 * s0, 2 * c1 - 4 * s1, s0 + 3 * c0, 2 * s1 + 4 * c1}}, 1e-15);
        check_array(turned(x, {.style = RopeStyle::interleaved, .base = 100}),
            {{1, 2, 3, 4}, {c0 - 2 * s0, s0 + 2 * c0, 3 * c1 - 4 * s1, 3 * s1 + 4 * c1}}, 1e-15);
    });
}

// The point of it: the score of a query and a key depends on their distance only.
BOOST_AUTO_TEST_CASE(scores_depend_on_the_distance) {
    Generator rng(1);
    const Array<double> q = rng.standard_normal({1, 10}), k = rng.standard_normal({1, 10});
    for (const RopeStyle style : {RopeStyle::halves, RopeStyle::interleaved}) {
        const auto score = [&](std::ptrdiff_t at_q, std::ptrdiff_t at_k) {
            const Array<double> a = turned(q, {.style = style, .offset = at_q}),
                                b = turned(k, {.style = style, .offset = at_k});
            double s = 0;
            for (std::size_t j = 0; j < 10; ++j) s += a(0, j) * b(0, j);
            return s;
        };
        check_near(score(7, 3), score(1004, 1000), 1e-12);
        check_near(score(7, 3), score(0, -4), 1e-13);
        BOOST_TEST(std::abs(score(7, 3) - score(7, 4)) > 1e-3);
    }
}

BOOST_AUTO_TEST_CASE(backward_turns_back) {
    on_every_isa([] {
        Generator rng(2);
        for (const RopeStyle style : {RopeStyle::halves, RopeStyle::interleaved}) {
            Tape tape;
            const Var<double> x = tape.variable(rng.standard_normal({2, 3, 11}));
            const Var<double> y = chalkgrad::rope(x, {.style = style, .offset = 5, .rotary_dim = 6});
            y.backward(y.value());
            check_array(x.grad(), x.value(), 1e-14, 1e-15);
            for (std::size_t row = 0; row < 6; ++row)
                for (std::size_t j = 6; j < 11; ++j) BOOST_TEST(y.data()[11 * row + j] == x.data()[11 * row + j]);
        }
    });
}

// An angle in float would be off by 0.004 here.
BOOST_AUTO_TEST_CASE(float_far_out) {
    Generator rng(3);
    const Array<double> x = rng.standard_normal({4, 8});
    Tape tape;
    const Var<float> y = chalkgrad::rope(tape.constant(Array<float>(xt::cast<float>(x))), {.offset = 100'003});
    check_array(y.value(), turned(x, {.offset = 100'003}), 0, 1e-6);
}

BOOST_AUTO_TEST_CASE(nan_spoils_its_pair_only) {
    Array<double> x = {{1, 2, 3, 4}, {5, 6, 7, 8}};
    x(1, 0) = std::nan("");
    const Array<double> y = turned(x, {});
    for (std::size_t i = 0; i < 8; ++i) BOOST_TEST(std::isnan(y.data()[i]) == (i == 4 || i == 6));
    BOOST_TEST(turned(Array<double>::from_shape({3, 0, 4}), {}).size() == 0);
}

BOOST_AUTO_TEST_CASE(refusals) {
    const auto refuses = [](const Array<double>& x, const RopeOptions& options, const char* part) {
        check_refused([&] { turned(x, options); }, "rope", {part});
    };
    refuses(matrix(1, 3, {1, 2, 3}), {}, "(1, 3)");
    refuses(matrix(1, 4, {1, 2, 3, 4}), {.rotary_dim = 3}, "rotary_dim");
    refuses(matrix(1, 4, {1, 2, 3, 4}), {.rotary_dim = 6}, "at most 4");
    refuses(matrix(1, 4, {1, 2, 3, 4}), {.rotary_dim = 0}, "at least 2");
    refuses({1, 2}, {}, "(2)");
    refuses(matrix(1, 2, {1, 2}), {.base = 0}, "base");
    refuses(matrix(1, 2, {1, 2}), {.base = std::nan("")}, "base");
    refuses(matrix(1, 2, {1, 2}), {.base = HUGE_VAL}, "base");
}

// Numbers of the reference formulas, computed apart: Llama 3.1, gpt-oss, DeepSeek-V3.
BOOST_AUTO_TEST_CASE(speeds_of_stretched_models) {
    using Kind = RopeScaling::Kind;
    const auto check = [](const RopeOptions& options, std::size_t r,
                           const std::vector<std::pair<std::size_t, double>>& expected) {
        const std::vector<double> speeds = rope_speeds(options, r);
        BOOST_TEST_REQUIRE(speeds.size() == r / 2);
        for (const auto& [pair, speed] : expected)
            BOOST_TEST_CONTEXT("pair " << pair) check_near(speeds[pair], speed, 1e-13);
    };
    check({.base = 500000, .stretch = {.kind = Kind::llama3, .factor = 8, .context = 8192, .slow = 1, .fast = 4}}, 128,
        {{0, 1}, {28, 0.003211445994752591}, {29, 0.002166570763503359}, {32, 0.0005248461609929547},
            {34, 0.0001785078127679964}, {35, 9.556212353964683e-05}, {63, 3.068925988914511e-07}});
    check({.base = 150000,
              .stretch =
                  {.kind = Kind::yarn, .factor = 32, .context = 4096, .slow = 1, .fast = 32, .whole_pairs = false}},
        64,
        {{0, 1}, {8, 0.050813274815461475}, {9, 0.03170569618466377}, {12, 0.006794959489732219},
            {17, 0.0001293187012450632}, {18, 3.8308812373753384e-05}, {31, 3.0235114281192144e-07}});
    check({.base = 10000, .stretch = {.kind = Kind::yarn, .factor = 40, .context = 4096, .slow = 1, .fast = 32}}, 64,
        {{0, 1}, {10, 0.05623413251903491}, {11, 0.03900692656714386}, {16, 0.0055}, {22, 0.0001778279410038922},
            {23, 3.33380358040831e-05}, {31, 3.3338035804083097e-06}});
    check({.base = 100, .stretch = {.kind = Kind::linear, .factor = 8}}, 4, {{0, 1 / 8.}, {1, 1 / 80.}});
    check({.base = 100}, 4, {{0, 1}, {1, 0.1}});
}

BOOST_AUTO_TEST_CASE(a_stretch_slows_and_a_magnitude_multiplies) {
    on_every_isa([] {
        const RopeOptions plain{.base = 100};
        RopeOptions stretched = plain;
        stretched.stretch = {
            .kind = RopeScaling::Kind::yarn, .factor = 4, .context = 100, .slow = 1, .fast = 4, .magnitude = 1.5};
        const std::vector<double> speeds = rope_speeds(stretched, 4);
        const Array<double> y = turned({{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}}, stretched);
        for (std::size_t t = 0; t < 3; ++t)
            for (std::size_t i = 0; i < 2; ++i) {
                const double angle = static_cast<double>(t) * speeds[i], a = 1 + static_cast<double>(i), b = a + 2;
                check_near(y(t, i), 1.5 * (a * std::cos(angle) - b * std::sin(angle)), 1e-15, 1e-15);
                check_near(y(t, 2 + i), 1.5 * (a * std::sin(angle) + b * std::cos(angle)), 1e-15, 1e-15);
            }
        for (const auto kind : {RopeScaling::Kind::linear, RopeScaling::Kind::llama3, RopeScaling::Kind::yarn}) {
            RopeOptions once = plain; // a factor of 1 changes nothing
            once.stretch = {.kind = kind, .context = 100};
            check_array(turned({{1, 2, 3, 4}, {1, 2, 3, 4}}, once), turned({{1, 2, 3, 4}, {1, 2, 3, 4}}, plain), 1e-15);
        }
    });
    for (const RopeScaling& wrong : {RopeScaling{.kind = RopeScaling::Kind::linear, .factor = 0},
             RopeScaling{.kind = RopeScaling::Kind::llama3, .factor = 2},
             RopeScaling{.kind = RopeScaling::Kind::yarn, .context = 9, .slow = 4, .fast = 1},
             RopeScaling{.kind = RopeScaling::Kind::linear, .magnitude = inf}})
        check_refused([&] { turned(matrix(1, 2, {1, 2}), {.stretch = wrong}); }, "rope");
    check_refused(
        [] {
            turned(matrix(1, 2, {1, 2}), {.base = 1, .stretch = {.kind = RopeScaling::Kind::yarn, .context = 9}});
        },
        "rope");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_rope
