// The vocabulary of kernels, and the dispatch of a kernel that is compiled twice.
#include <chalkgrad/autograd/kernel/kernel.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

template <class T> void tested_each(std::size_t n, const T* x, T* y) {
    each<T>(n, [=](std::size_t i) FAST { y[i] = 2 * x[i]; });
}
template <class T> T tested_sum(std::size_t n, const T* x) {
    return sum<T>(n, [=](std::size_t i) FAST { return x[i]; });
}
template <class T> void tested_two_sums(std::size_t n, const T* x, T* both) {
    const Pair<T> s = sum<T>(n, [=](std::size_t i) FAST { return pair(x[i], x[i] * x[i]); });
    both[0] = s.first;
    both[1] = s.second;
}
// y = g (r x − mean of the row), gg = Σ_rows r x, in a row, two or four rows at a time.
template <class T> FAST inline auto tested_body(std::size_t d, const T* x, const T* r, const T* g, T* y, T* gg) {
    return [=](auto at) FAST {
        const auto rt = at(r), m = mean<T>(d, [=](std::size_t j) FAST { return at(x, j); });
        each<T>(d, [=](std::size_t j) FAST {
            const auto scaled = rt * at(x, j);
            at(y, j) = g[j] * (scaled - m);
            gg[j] += over_rows(scaled);
        });
    };
}
template <class T>
void tested_two_rows(std::size_t rows, std::size_t d, const T* x, const T* r, const T* g, T* y, T* gg) {
    each_two_rows<T>(rows, d, tested_body(d, x, r, g, y, gg));
}
template <class T>
void tested_four_rows(std::size_t rows, std::size_t d, const T* x, const T* r, const T* g, T* y, T* gg) {
    each_four_rows<T>(rows, d, tested_body(d, x, r, g, y, gg));
}
template <class T> T tested_max(std::size_t n, const T* x) {
    return max<T>(n, [=](std::size_t i) FAST { return x[i]; });
}
// Which compilation runs: 1 + ε with ε² = 0 in T, so that a fused (1 + ε)² − (1 + 2ε) is ε² and a separate one 0.
template <class T> T tested_fusing(T one_and_a_bit, T square) { return one_and_a_bit * one_and_a_bit - square; }

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(tested_each, tested_sum, tested_two_sums, tested_two_rows, tested_four_rows, tested_max)
CHALKGRAD_KERNEL(tested_fusing)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "../../isa.hpp"

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

using Scalars = boost::mpl::list<double, float, long double, Dual<double>>;
using Reals = boost::mpl::list<double, float, long double>;

// 1, −2, 3, −4, … : sums are exact in every scalar.
template <class T> std::vector<T> alternating(std::size_t n) {
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = T((i % 2 ? -1 : 1) * static_cast<int>(i + 1));
    return x;
}

} // namespace

BOOST_AUTO_TEST_SUITE(kernel)

BOOST_AUTO_TEST_CASE_TEMPLATE(each_visits_every_index_once_and_none_beyond, T, Scalars) {
    on_every_isa([] {
        for (std::size_t n = 0; n < 70; ++n) {
            const std::vector<T> x = alternating<T>(n + 1);
            std::vector<T> y(n + 1, T(77));
            chalkgrad::kernel::tested_each<T>(n, x.data(), y.data());
            for (std::size_t i = 0; i < n; ++i) BOOST_REQUIRE(y[i] == 2 * x[i]);
            BOOST_REQUIRE(y[n] == T(77));
        }
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sums_of_every_length, T, Scalars) {
    on_every_isa([] {
        T expected(0), squares(0);
        for (std::size_t n = 0; n < 70; ++n) {
            const std::vector<T> x = alternating<T>(n + 1);
            T both[2];
            chalkgrad::kernel::tested_two_sums<T>(n, x.data(), both);
            BOOST_REQUIRE(chalkgrad::kernel::tested_sum<T>(n, x.data()) == expected);
            BOOST_REQUIRE((both[0] == expected && both[1] == squares));
            expected += x[n];
            squares += x[n] * x[n];
        }
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(groups_of_rows_are_rows, T, Scalars) {
    on_every_isa([] {
        for (std::size_t rows = 0; rows < 10; ++rows)
            for (const std::size_t d : {1, 2, 4, 8, 16}) { // means are exact
                const std::vector<T> x = alternating<T>(rows * d), r = alternating<T>(rows), g = alternating<T>(d);
                std::vector<T> expected(rows * d + 1, T(77)), sums(d, T(1));
                for (std::size_t t = 0; t < rows; ++t) {
                    T mean(0);
                    for (std::size_t j = 0; j < d; ++j) mean += x[t * d + j] / T(d);
                    for (std::size_t j = 0; j < d; ++j) {
                        expected[t * d + j] = g[j] * (r[t] * x[t * d + j] - mean);
                        sums[j] += r[t] * x[t * d + j];
                    }
                }
                const auto check = [&](auto kernel) {
                    std::vector<T> y(rows * d + 1, T(77)), gg(d, T(1));
                    kernel(rows, d, x.data(), r.data(), g.data(), y.data(), gg.data());
                    BOOST_REQUIRE((y == expected && gg == sums));
                };
                check(chalkgrad::kernel::tested_two_rows<T>);
                check(chalkgrad::kernel::tested_four_rows<T>);
            }
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(max_finds_the_largest_at_every_place, T, Reals) {
    const T inf = std::numeric_limits<T>::infinity();
    on_every_isa([&] {
        BOOST_TEST(chalkgrad::kernel::tested_max<T>(0, nullptr) == -inf);
        for (std::size_t n = 1; n < 40; ++n)
            for (std::size_t at = 0; at < n; ++at) {
                std::vector<T> x(n, T(-3));
                x[at] = T(-2);
                BOOST_REQUIRE(chalkgrad::kernel::tested_max<T>(n, x.data()) == T(-2));
            }
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(max_of_infinities_and_nan, T, Reals) {
    const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    on_every_isa([&] {
        for (std::size_t n = 1; n < 40; ++n) {
            BOOST_REQUIRE(chalkgrad::kernel::tested_max<T>(n, std::vector<T>(n, -inf).data()) == -inf);
            for (std::size_t at = 0; at < n; ++at) {
                std::vector<T> x = alternating<T>(n);
                x[at] = nan;
                BOOST_REQUIRE(std::isnan(chalkgrad::kernel::tested_max<T>(n, x.data())));
                x[(at + n / 2) % n] = inf;
                x[at] = nan;
                BOOST_REQUIRE(std::isnan(chalkgrad::kernel::tested_max<T>(n, x.data())));
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(max_of_duals_keeps_the_tangent_of_the_largest) {
    const std::vector<Dual<double>> x = {{1, 10}, {3, 30}, {3, 40}, {2, 20}};
    const Dual<double> m = chalkgrad::kernel::tested_max<Dual<double>>(4, x.data());
    BOOST_TEST(m.v == 3);
    BOOST_TEST(m.d == 30);
    const Dual<double> with_nan[] = {{1, 10}, {std::nan(""), 0}, {3, 30}};
    BOOST_TEST(std::isnan(chalkgrad::kernel::tested_max<Dual<double>>(3, with_nan).v));
    BOOST_TEST(chalkgrad::kernel::tested_max<Dual<double>>(0, nullptr).v == -INFINITY);
}

BOOST_AUTO_TEST_CASE(each_instruction_set_has_its_own_compilation) {
    const double x = 1 + std::ldexp(1.0, -30);
    const float y = 1 + std::ldexp(1.0f, -14);
    const Isa before = isa();
    if (set_isa(Isa::avx2)) {
        BOOST_TEST(chalkgrad::kernel::tested_fusing<double>(x, x * x) == std::ldexp(1.0, -60));
        BOOST_TEST(chalkgrad::kernel::tested_fusing<float>(y, y * y) == std::ldexp(1.0f, -28));
#if defined(__x86_64__) && !defined(__FMA__)
        BOOST_TEST(set_isa(Isa::base));
        BOOST_TEST(chalkgrad::kernel::tested_fusing<double>(x, x * x) == 0);
        BOOST_TEST(chalkgrad::kernel::tested_fusing<float>(y, y * y) == 0);
#endif
    }
    set_isa(before);
}

BOOST_AUTO_TEST_CASE(arguments_convert_as_in_a_plain_call) {
    float y[] = {5};
    const int n = 0;
    chalkgrad::kernel::tested_each<float>(n, nullptr, y);
    chalkgrad::kernel::tested_each<float>(1, y, y);
    BOOST_TEST(y[0] == 10);
}

BOOST_AUTO_TEST_SUITE_END()
#endif
