// Wrong backwards that once passed, as a rule and as lambdas of custom(), and right ones beside them; with many seeds each.
#include <boost/test/unit_test.hpp>

#include "spoken.hpp"

namespace test_hidden {
BOOST_AUTO_TEST_SUITE(hidden)

using namespace chalkgrad;
using namespace chalkgrad::spoken;

namespace {

/// The largest number, with a backward by the share of each that ties: share(how many tie, which of them).
constexpr auto largest = [](const auto* x, std::size_t n, auto* y) {
    y[0] = x[0];
    for (std::size_t i = 1; i < n; ++i)
        if (y[0] < x[i]) y[0] = x[i];
};
template <class Share> auto shared_out(Share share) {
    return [=](const auto* x, std::size_t n, const auto* y, const auto* gy, auto* gx) {
        using T = std::decay_t<decltype(gx[0])>;
        int ties = 0, which = 0;
        for (std::size_t i = 0; i < n; ++i) ties += !(x[i] < y[0]);
        for (std::size_t i = 0; i < n; ++i)
            gx[i] = x[i] < y[0] ? T(0) : gy[0] * T(ties == 1 ? 1. : share(ties, which++));
    };
}

} // namespace

// Columns that the backward has as zero share a run. No combination of their slopes may cancel in it.
BOOST_AUTO_TEST_CASE(slopes_that_cancel_in_a_shared_run) {
    const auto last_forgotten = [](const auto*, std::size_t n, const auto*, const auto* gy, auto* gx) {
        for (std::size_t i = 0; i < n; ++i) gx[i] = gy[i];
    };
    is_always(Verdict::fail, "x0 - x1 - x2 + x3 forgotten",
        [](const auto* x, std::size_t n, auto* y) {
            for (std::size_t i = 0; i < n; ++i) y[i] = x[i];
            y[n] = x[0] - x[1] - x[2] + x[3];
        },
        last_forgotten, {0.3, -1.2, 0.7, 2.1}, {5});
    const auto band = [](const auto* x, std::size_t n, auto* y) {
        for (std::size_t i = 0; i + 3 < n; i += 4) y[i / 4] = x[i] - x[i + 1] - x[i + 2] + x[i + 3];
    };
    is_always(Verdict::fail, "Haar band", band, nothing, {0.3, -1.2, 0.7, 2.1, 1.5, -0.4, 0.2, 1}, {2});
    is_always(Verdict::fail, "second differences",
        [](const auto* x, std::size_t n, auto* y) {
            for (std::size_t i = 0; i + 2 < n; ++i) y[i] = x[i] - x[i + 1] - x[i + 1] + x[i + 2];
        },
        nothing, {0.3, -1.2, 0.7, 2.1, 1.5, -0.4}, {4});
    is_always(Verdict::fail, "2 x 2 Sinkhorn",
        [](const auto* x, std::size_t, auto* y) {
            using std::exp;
            for (std::size_t i = 0; i < 4; ++i) y[i] = exp(x[i]);
            for (int round = 0; round < 20; ++round)
                for (const auto& [a, b] : {std::pair{0, 1}, {2, 3}, {0, 2}, {1, 3}}) {
                    const auto sum = y[a] + y[b];
                    y[a] = y[a] / sum;
                    y[b] = y[b] / sum;
                }
        },
        nothing, {{0.3, -1.2}, {0.7, 2.1}});
}

// A subgradient lies between the slopes on both sides in every direction: the shares of a tie add up to 1.
BOOST_AUTO_TEST_CASE(shares_of_a_tie) {
    const Doubles two{1, 3, 3, 2}, three{2, 2, -1, 2};
    const auto both = shared_out([](int, int) { return 1.; });
    const auto half = shared_out([](int, int) { return 0.5; });
    const auto none = shared_out([](int, int) { return 0.; });
    is_always(Verdict::fail, "both get all", largest, both, two, {1});
    is_always(Verdict::fail, "a half each of three", largest, half, three, {1});
    is_always(Verdict::fail, "none of two", largest, none, two, {1});
    is_always(Verdict::fail, "none of three", largest, none, three, {1});
    is_always(Verdict::fail, "too little", largest, shared_out([](int, int) { return 0.4; }), two, {1});
    const auto equal = shared_out([](int ties, int) { return 1. / ties; });
    const auto first = shared_out([](int, int which) { return which == 0 ? 1. : 0.; });
    const auto last = shared_out([](int ties, int which) { return which == ties - 1 ? 1. : 0.; });
    for (const Doubles& x : {two, three}) {
        is_always(Verdict::kink, "equal shares", largest, equal, x, {1});
        is_always(Verdict::kink, "all to the first", largest, first, x, {1});
        is_always(Verdict::kink, "all to the last", largest, last, x, {1});
    }
    // The larger of x0 and -x1.
    const auto larger = [](const auto* x, std::size_t, auto* y) { y[0] = x[0] < -x[1] ? -x[1] : x[0]; };
    const auto shares = [](double a, double b) {
        return [=](const auto* x, std::size_t, const auto*, const auto* gy, auto* gx) {
            using T = std::decay_t<decltype(gx[0])>;
            const bool tie = !(x[0] < -x[1]) && !(-x[1] < x[0]), left = x[0] < -x[1];
            gx[0] = tie ? T(a) * gy[0] : left ? T(0) : gy[0];
            gx[1] = tie ? T(-b) * gy[0] : left ? -gy[0] : T(0);
        };
    };
    is_always(Verdict::fail, "both of opposite signs", larger, shares(1, 1), {0.5, -0.5}, {1});
    is_always(Verdict::fail, "none of opposite signs", larger, shares(0, 0), {0.5, -0.5}, {1});
    is_always(Verdict::kink, "one of opposite signs", larger, shares(0, 1), {0.5, -0.5}, {1});
    is_always(Verdict::kink, "half of opposite signs", larger, shares(0.5, 0.5), {0.5, -0.5}, {1});
    // Neither convex nor concave: every piece's gradient is one that an author may choose.
    const auto relu = [](const auto& v) { return v < std::decay_t<decltype(v)>(0) ? std::decay_t<decltype(v)>(0) : v; };
    is_always(
        Verdict::kink, "relu(x0) - relu(-x1) + ...",
        [=](const auto* x, std::size_t n, auto* y) {
            y[0] = relu(x[0]);
            for (std::size_t i = 1; i < n; ++i) y[0] = y[0] + (i % 2 ? -relu(-x[i]) : relu(x[i]));
        },
        [](const auto* x, std::size_t n, const auto*, const auto* gy, auto* gx) {
            using T = std::decay_t<decltype(gx[0])>;
            for (std::size_t i = 0; i < n; ++i) gx[i] = (i % 2 ? x[i] < T(0) : T(0) < x[i]) ? gy[0] : T(0);
        },
        {0, 0, 0, 0}, {1});
}

// Each number is judged by what the differences resolve there, not by the largest.
BOOST_AUTO_TEST_CASE(small_slopes_beside_large_ones) {
    const auto square = each([](auto x) { return x * x; });
    is_always(Verdict::fail, "slope 0 below 1", square, slope([](auto x) {
        using T = decltype(x);
        return x < T(1) && T(-1) < x ? T(0) : T(2) * x;
    }),
        {1e6, 1e-4, 3e5});
    is_always(Verdict::fail, "994 for -6", square, slope([](auto x) {
        using T = decltype(x);
        return x < T(0) ? T(994) : T(2) * x;
    }),
        {1e12, 0, -3});
    const auto twice = slope([](auto x) { return decltype(x)(2) * x; });
    for (const Doubles& x : {Doubles{1e6, 1e-4, 3e5}, Doubles{1e12, 0, -3}})
        never_fails("right squares", square, twice, x);
    // In one sum the large ones swallow the small one.
    const auto sum = [](const auto* x, std::size_t n, auto* y) {
        y[0] = x[0] * x[0];
        for (std::size_t i = 1; i < n; ++i) y[0] = y[0] + x[i] * x[i];
    };
    const auto sum_slope = [](double of_last) {
        return [=](const auto* x, std::size_t n, const auto*, const auto* gy, auto* gx) {
            using T = std::decay_t<decltype(gx[0])>;
            for (std::size_t i = 0; i < n; ++i) gx[i] = gy[0] * (i == n - 1 ? T(of_last) * x[i] : T(2) * x[i]);
        };
    };
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        for (const Form form : forms) {
            BOOST_TEST(!check(form, sum, sum_slope(-300), {1e12, 0, -3}, seed, {1}));
            BOOST_TEST((check(form, sum, sum_slope(2), {1e12, 0, -3}, seed, {1}).verdict != Verdict::fail));
            BOOST_TEST((check(form, sum, sum_slope(2), {1e2, 0, -3}, seed, {1}).verdict == Verdict::pass));
            BOOST_TEST((check(form, sum, sum_slope(2 * (1 + 1e-5)), {1e2, 0, -3}, seed, {1}).verdict == Verdict::fail));
        }
    }
}

// A backward that keeps the statistic of its first call for ever is right at the first point.
BOOST_AUTO_TEST_CASE(a_statistic_kept_from_the_first_call) {
    const Doubles x{2, -1, 3, 0.5};
    const auto norm = [](const auto* x, std::size_t n, auto* y) {
        using std::sqrt;
        auto square = x[0] * x[0];
        for (std::size_t i = 1; i < n; ++i) square = square + x[i] * x[i];
        for (std::size_t i = 0; i < n; ++i) y[i] = x[i] / sqrt(square);
    };
    const auto backward = [](double* kept) {
        return [=](const auto* x, std::size_t n, const auto* y, const auto* gy, auto* gx) {
            using std::sqrt;
            using T = std::decay_t<decltype(gx[0])>;
            T square(0), along(0);
            for (std::size_t i = 0; i < n; ++i) {
                square = square + x[i] * x[i];
                along = along + gy[i] * y[i];
            }
            T root = sqrt(square);
            if constexpr (std::is_same_v<T, double>) {
                if (kept != nullptr && *kept == 0) *kept = root;
                if (kept != nullptr) root = *kept;
            }
            for (std::size_t i = 0; i < n; ++i) gx[i] = (gy[i] - y[i] * along) / root;
        };
    };
    for (const Form form : forms)
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
            double kept = 0;
            const GradcheckReport wrong = check(form, norm, backward(&kept), x, seed);
            BOOST_TEST((wrong.verdict == Verdict::fail), to_string(wrong));
            BOOST_TEST(wrong.why.find("another point") != std::string::npos, wrong.why);
            BOOST_TEST(
                wrong.why.find("line 1 (spoken): the gradient of its input 'x' is wrong there") != std::string::npos,
                wrong.why);
            BOOST_TEST(wrong.blame.size() == 1u);
        }
    is_always(Verdict::pass, "a norm that keeps nothing", norm, backward(nullptr), x);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_hidden
