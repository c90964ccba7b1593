// half and bfloat16 from and to float and double: every pattern, and every rounding boundary, on both instruction sets.
#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/kernel/convert.hpp>

#include "../../isa.hpp"

namespace test_convert {
BOOST_AUTO_TEST_SUITE(convert)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

template <class Small> Small from_bits(unsigned pattern) {
    return std::bit_cast<Small>(static_cast<std::uint16_t>(pattern));
}
template <class Small> unsigned to_bits(Small x) { return std::bit_cast<std::uint16_t>(x); }

template <class To, class From> std::vector<To> converted(const std::vector<From>& from) {
    std::vector<To> to(from.size());
    chalkgrad::convert(from.size(), from.data(), to.data());
    return to;
}

template <class Small> std::vector<Small> all_patterns() {
    std::vector<Small> all;
    for (unsigned p = 0; p < 65536; ++p) all.push_back(from_bits<Small>(p));
    return all;
}

// Widening against Eigen, and narrowing back to the same pattern.
template <class Small, class Wide> void check_all_patterns() {
    const std::vector<Small> all = all_patterns<Small>();
    const std::vector<Wide> wide = converted<Wide>(all);
    const std::vector<Small> back = converted<Small>(wide);
    int wrong = 0;
    for (unsigned p = 0; p < 65536; ++p) {
        const Wide expected = static_cast<Wide>(static_cast<float>(all[p]));
        const bool sign = p & 0x8000;
        if (std::isnan(expected))
            wrong += !(std::isnan(wide[p]) && std::signbit(wide[p]) == sign &&
                       std::isnan(static_cast<float>(back[p])) && to_bits(back[p]) >> 15 == sign);
        else wrong += !(wide[p] == expected && std::signbit(wide[p]) == sign && to_bits(back[p]) == p);
    }
    BOOST_TEST(wrong == 0);
}

// Every boundary between neighbouring values of Small, and the numbers of Wide next to it on both sides.
template <class Small, class Wide> void check_all_boundaries(unsigned inf_pattern) {
    std::vector<Wide> x;
    std::vector<unsigned> expected;
    const auto add = [&](Wide value, unsigned pattern) {
        x.insert(x.end(), {value, -value});
        expected.insert(expected.end(), {pattern, pattern | 0x8000});
    };
    const Wide inf = std::numeric_limits<Wide>::infinity();
    for (unsigned p = 0; p < inf_pattern; ++p) {
        const long double low = static_cast<float>(from_bits<Small>(p));
        const long double high = p + 1 < inf_pattern ? static_cast<float>(from_bits<Small>(p + 1))
                                                     : 2 * low - static_cast<float>(from_bits<Small>(p - 1));
        const Wide middle = static_cast<Wide>((low + high) / 2);
        BOOST_TEST_REQUIRE(static_cast<long double>(middle) == (low + high) / 2);
        add(middle, p % 2 == 0 ? p : p + 1);
        add(std::nextafter(middle, Wide(0)), p);
        add(std::nextafter(middle, inf), p + 1);
        add(std::nextafter(static_cast<Wide>(low), inf), p);
    }
    add(std::numeric_limits<Wide>::max(), inf_pattern);
    add(inf, inf_pattern);
    add(std::numeric_limits<Wide>::denorm_min(), 0);
    const std::vector<Small> y = converted<Small>(x);
    int wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i) wrong += to_bits(y[i]) != expected[i];
    BOOST_TEST(wrong == 0);
}

} // namespace

BOOST_AUTO_TEST_CASE(all_patterns_widen_as_eigen_does_and_come_back) {
    on_every_isa([] {
        check_all_patterns<half, float>();
        check_all_patterns<half, double>();
        check_all_patterns<bfloat16, float>();
        check_all_patterns<bfloat16, double>();
    });
}

BOOST_AUTO_TEST_CASE(narrowing_rounds_to_nearest_even_at_every_boundary) {
    on_every_isa([] {
        check_all_boundaries<half, float>(0x7c00);
        check_all_boundaries<half, double>(0x7c00);
        check_all_boundaries<bfloat16, float>(0x7f80);
        check_all_boundaries<bfloat16, double>(0x7f80);
    });
}

BOOST_AUTO_TEST_CASE(double_is_rounded_once) {
    // 1 + 2⁻¹¹ + 2⁻⁴⁰ lies above the tie between 1 and 1 + 2⁻¹⁰; as a float it is that tie, which would go down to
    // even.
    const double x = 1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40),
                 y = 1 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40);
    half h;
    bfloat16 b;
    chalkgrad::convert(1, &x, &h);
    chalkgrad::convert(1, &y, &b);
    BOOST_TEST(to_bits(h) == 0x3c01u);
    BOOST_TEST(to_bits(b) == 0x3f81u);
    BOOST_TEST(to_bits(half(static_cast<float>(x))) == 0x3c00u);
}

BOOST_AUTO_TEST_CASE(a_nan_whose_payload_would_be_lost_stays_a_nan) {
    on_every_isa([] {
        const std::vector<float> f = {std::bit_cast<float>(0x7f800001u), std::bit_cast<float>(0xff800001u),
            std::bit_cast<float>(0x7fffffffu), std::bit_cast<float>(0xffffffffu)};
        const std::vector<double> d = {std::bit_cast<double>(0x7ff0000000000001u),
            std::bit_cast<double>(0xfff0000000000001u), std::bit_cast<double>(0x7fffffffffffffffu),
            std::bit_cast<double>(0xffffffffffffffffu)};
        for (std::size_t i = 0; i < 4; ++i) {
            const unsigned sign = i % 2 ? 0x8000 : 0;
            BOOST_TEST(to_bits(converted<half>(f)[i]) == (sign | 0x7e00));
            BOOST_TEST(to_bits(converted<half>(d)[i]) == (sign | 0x7e00));
            BOOST_TEST(to_bits(converted<bfloat16>(f)[i]) == (sign | 0x7fc0));
            BOOST_TEST(to_bits(converted<bfloat16>(d)[i]) == (sign | 0x7fc0));
        }
    });
}

BOOST_AUTO_TEST_CASE(any_length_and_nothing_beyond_it) {
    on_every_isa([] {
        for (std::size_t n = 0; n < 70; ++n) {
            std::vector<float> x(n + 1);
            std::iota(x.begin(), x.end(), 1.0f);
            std::vector<half> h(n + 1, half(-7.0f));
            chalkgrad::convert(n, x.data(), h.data());
            std::vector<double> y(n + 1, -7.0);
            chalkgrad::convert(n, h.data(), y.data());
            for (std::size_t i = 0; i < n; ++i) BOOST_TEST(y[i] == x[i]);
            BOOST_TEST((static_cast<float>(h[n]) == -7.0f && y[n] == -7.0));
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_convert
