// The element functions of kernels against long double: largest error in units in the last place, and special values.
#include <chalkgrad/autograd/kernel/kernel.hpp>

#define EVERY_FUNCTION(DO) DO(exp) DO(expm1) DO(log) DO(log1p) DO(tanh) DO(sigmoid) DO(erf) DO(erfc)

namespace chalkgrad::CHALKGRAD_ISA {
#define TEST_KERNEL(f)                                                  \
    template <class T> void each_##f(std::size_t n, const T* x, T* y) { \
        each<T>(n, [=](std::size_t i) FAST { y[i] = f(x[i]); });        \
    }
EVERY_FUNCTION(TEST_KERNEL)
} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(each_exp, each_expm1, each_log, each_log1p, each_tanh, each_sigmoid)
CHALKGRAD_KERNEL(each_erf, each_erfc)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../../isa.hpp"

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

template <class T> struct Function {
    std::string name;
    void (*kernel)(std::size_t, const T*, T*);
    long double (*exact)(long double);
};

long double exact_sigmoid(long double z) {
    const long double e = std::exp(-std::abs(z));
    return (z < 0 ? e : 1) / (1 + e);
}

#define EXACT(f) [](long double x) -> long double { return std::f(x); }
#define OURS(f) [](std::size_t n, const T* x, T* y) { kernel::each_##f<T>(n, x, y); }

template <class T> std::vector<T> run(void (*kernel)(std::size_t, const T*, T*), const std::vector<T>& x) {
    std::vector<T> y(x.size());
    kernel(x.size(), x.data(), y.data());
    return y;
}

// |got − exact| in units in the last place of T at `exact`; 0 where both are the same infinity or both NaN.
template <class T> double ulps(T got, long double exact) {
    using L = std::numeric_limits<T>;
    const T rounded = static_cast<T>(exact);
    if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : HUGE_VAL;
    if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : HUGE_VAL;
    const int exponent = std::max(rounded == 0 ? L::min_exponent : std::ilogb(rounded) + 1, L::min_exponent);
    return static_cast<double>(std::abs(got - exact) / std::ldexp(1.0L, exponent - L::digits));
}

// `count` numbers of [low, high], evenly spread; over many powers of two, evenly in the logarithm.
template <class T> std::vector<T> spread(long double low, long double high, int count = 20000) {
    std::mt19937_64 random(7);
    std::vector<T> x;
    const bool logarithmic = low > 0 && high / low > 1e4L;
    for (int i = 0; i < count; ++i) {
        const long double u = static_cast<long double>(random()) * 0x1p-64L;
        x.push_back(static_cast<T>(logarithmic ? low * std::pow(high / low, u) : low + u * (high - low)));
    }
    return x;
}

template <class T>
void check_accuracy(Function<T> f, double most, std::vector<std::pair<long double, long double>> ranges) {
    on_every_isa([&] {
        for (const auto& [low, high] : ranges) {
            const std::vector<T> x = spread<T>(low, high), y = run(f.kernel, x);
            double worst = 0;
            T at = 0;
            for (std::size_t i = 0; i < x.size(); ++i)
                if (const double e = ulps(y[i], f.exact(x[i])); e > worst) worst = e, at = x[i];
            BOOST_TEST(worst <= most, f.name << " on [" << low << ", " << high << "]: " << worst << " ulp at " << at);
        }
    });
}

template <class T> void check_values(Function<T> f, std::vector<std::pair<T, T>> values) {
    on_every_isa([&] {
        std::vector<T> x;
        for (const auto& v : values) x.insert(x.end(), 9, v.first); // both the vector loop and its remainder
        const std::vector<T> y = run(f.kernel, x);
        for (std::size_t i = 0; i < x.size(); ++i) {
            const T want = values[i / 9].second;
            const bool same =
                std::isnan(want) ? std::isnan(y[i]) : y[i] == want && std::signbit(y[i]) == std::signbit(want);
            BOOST_TEST(same, f.name << "(" << x[i] << ") is " << y[i] << ", not " << want);
        }
    });
}

template <class T> void check_all_accuracies() {
    constexpr bool d = sizeof(T) == 8;
    const long double largest = d ? 709.78L : 88.72L, smallest = d ? -745 : -103.9L,
                      tiny = std::numeric_limits<T>::denorm_min(), huge = std::numeric_limits<T>::max();
    check_accuracy<T>(
        {"exp", OURS(exp), EXACT(exp)}, 0.9, {{-1, 1}, {smallest, largest}, {smallest, smallest * 0.95L}});
    check_accuracy<T>({"expm1", OURS(expm1), EXACT(expm1)}, 1.9, {{-1, 1}, {-50, largest}, {tiny, 1}});
    check_accuracy<T>({"log", OURS(log), EXACT(log)}, 0.85, {{0.5L, 2}, {0.99L, 1.01L}, {tiny, huge}});
    check_accuracy<T>({"log1p", OURS(log1p), EXACT(log1p)}, 0.85, {{-0.9999L, 2}, {-1e-5L, 1e-5L}, {tiny, huge}});
    check_accuracy<T>({"tanh", OURS(tanh), EXACT(tanh)}, 2.6, {{-1, 1}, {-22, 22}, {tiny, 1}});
    check_accuracy<T>({"sigmoid", OURS(sigmoid), exact_sigmoid}, 2.5, {{-4, 4}, {smallest, -smallest}});
    check_accuracy<T>({"erf", OURS(erf), EXACT(erf)}, 1.5, {{-1, 1}, {-6, 6}, {tiny, 1}});
    check_accuracy<T>({"erfc", OURS(erfc), EXACT(erfc)}, 5.5, {{-1, 1}, {-6, 6}, {1, d ? 27.2L : 10}});
}

template <class T> void check_special_values() {
    using L = std::numeric_limits<T>;
    constexpr bool d = sizeof(T) == 8;
    const T inf = L::infinity(), nan = L::quiet_NaN(), tiny = L::denorm_min(), huge = L::max();
    const auto rounded = [](long double x) { return static_cast<T>(x); };
    // The last argument with a finite exponential, and the last with one that does not round to 0.
    const T top = d ? 0x1.62e42fefa39efp+9 : 0x1.62e42ep+6f, bottom = d ? -0x1.74910d52d3051p+9 : -0x1.9fe368p+6f;

    check_values<T>({"exp", OURS(exp), nullptr},
        {{nan, nan}, {inf, inf}, {-inf, 0}, {T(0), 1}, {-T(0), 1}, {tiny, 1}, {huge, inf}, {-huge, 0}, {bottom, tiny},
            {std::nextafter(top, inf), inf}, {std::nextafter(bottom, -inf), 0}});
    BOOST_TEST(std::isfinite(run<T>(OURS(exp), {top})[0]));
    check_values<T>({"expm1", OURS(expm1), nullptr},
        {{nan, nan}, {inf, inf}, {-inf, -1}, {T(0), T(0)}, {-T(0), -T(0)}, {tiny, tiny}, {-tiny, -tiny}, {huge, inf},
            {-huge, -1}, {T(-40), -1}, {std::nextafter(top, inf), inf}});
    check_values<T>({"log", OURS(log), nullptr},
        {{nan, nan}, {inf, inf}, {-inf, nan}, {T(0), -inf}, {-T(0), -inf}, {T(1), T(0)}, {T(-1), nan}, {-tiny, nan},
            {tiny, rounded(std::log(static_cast<long double>(tiny)))},
            {huge, rounded(std::log(static_cast<long double>(huge)))}});
    check_values<T>({"log1p", OURS(log1p), nullptr},
        {{nan, nan}, {inf, inf}, {-inf, nan}, {T(-1), -inf}, {T(-2), nan}, {std::nextafter(T(-1), -inf), nan},
            {T(0), T(0)}, {-T(0), -T(0)}, {tiny, tiny}, {-tiny, -tiny},
            {huge, rounded(std::log(static_cast<long double>(huge)))}});
    check_values<T>(
        {"tanh", OURS(tanh), nullptr}, {{nan, nan}, {inf, 1}, {-inf, -1}, {T(0), T(0)}, {-T(0), -T(0)}, {tiny, tiny},
                                           {-tiny, -tiny}, {huge, 1}, {-huge, -1}, {T(25), 1}});
    check_values<T>({"sigmoid", OURS(sigmoid), nullptr},
        {{nan, nan}, {inf, 1}, {-inf, 0}, {T(0), T(0.5)}, {huge, 1}, {-huge, 0}, {bottom, tiny}, {-bottom, 1}});
    check_values<T>({"erf", OURS(erf), nullptr}, {{nan, nan}, {inf, 1}, {-inf, -1}, {T(0), T(0)}, {-T(0), -T(0)},
                                                     {huge, 1}, {-huge, -1}, {T(7), 1}, {tiny, tiny}, {-tiny, -tiny}});
    check_values<T>({"erfc", OURS(erfc), nullptr}, {{nan, nan}, {inf, 0}, {-inf, 2}, {T(0), 1}, {-T(0), 1}, {huge, 0},
                                                       {-huge, 2}, {T(-7), 2}, {T(28), 0}, {tiny, 1}});
}

} // namespace

BOOST_AUTO_TEST_SUITE(vector_math)

BOOST_AUTO_TEST_CASE(doubles_are_accurate_over_their_range) { check_all_accuracies<double>(); }
BOOST_AUTO_TEST_CASE(floats_are_accurate_over_their_range) { check_all_accuracies<float>(); }

BOOST_AUTO_TEST_CASE(special_values_of_doubles) { check_special_values<double>(); }
BOOST_AUTO_TEST_CASE(special_values_of_floats) { check_special_values<float>(); }

BOOST_AUTO_TEST_CASE(the_tail_of_erfc_keeps_its_relative_accuracy) {
    on_every_isa([] {
        for (const double x : spread<double>(1, 26)) {
            const double y = run<double>(
                [](std::size_t n, const double* p, double* q) { kernel::each_erfc<double>(n, p, q); }, {x})[0];
            BOOST_REQUIRE_LE(std::abs(y / std::erfc(static_cast<long double>(x)) - 1), 1e-15L);
        }
    });
}

BOOST_AUTO_TEST_CASE(long_double_and_dual_use_libm) {
    const long double x = 0.7L;
    long double y;
    kernel::each_erf<long double>(1, &x, &y);
    BOOST_TEST(y == std::erf(x), boost::test_tools::tolerance(1e-18L));
    const Dual<double> u{0.7, 2};
    Dual<double> v;
    kernel::each_tanh<Dual<double>>(1, &u, &v);
    BOOST_TEST(v.v == std::tanh(0.7), boost::test_tools::tolerance(1e-15));
    BOOST_TEST(v.d == 2 / (std::cosh(0.7) * std::cosh(0.7)), boost::test_tools::tolerance(1e-15));
}

BOOST_AUTO_TEST_SUITE_END()
#endif
