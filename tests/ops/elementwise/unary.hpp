// For tests of functions of one element: value and gradient at chosen points.
#pragma once

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

#include "../../isa.hpp"

namespace chalkgrad::testing {

constexpr double inf = HUGE_VAL;
constexpr double quiet_nan = __builtin_nan("");

/// A function of one element by name, in the scalars that are compared.
struct Function {
    const char* name;
    std::function<Var<double>(const Var<double>&)> of_double;
    std::function<Var<float>(const Var<float>&)> of_float;
    std::function<Var<long double>(const Var<long double>&)> of_long_double;
    long double (*exact)(long double) = nullptr;
    std::vector<double> points = {};
};
/// The members of one, up to `exact`.
#define CHALKGRAD_FUNCTION(f)                                                                  \
#f, [](const Var <double>& x) { return f(x); }, [](const Var <float>& x) { return f(x); }, \
        [](const Var <long double>& x) { return f(x); }

template <class T> struct Ran {
    std::vector<T> y;
    std::vector<work_t<T>> gx;
};

/// f at the points x with cotangent gy (one number for all, or one for each).
template <class T, class F> Ran<T> run(F f, const std::vector<T>& x, const std::vector<work_t<T>>& gy = {1}) {
    Tape tape;
    const Var<T> in = tape.leaf(Shape{x.size()}, x.data(), true);
    const Var<T> y = f(in);
    Array<work_t<T>> cotangent(std::vector<std::size_t>{x.size()});
    for (std::size_t i = 0; i < x.size(); ++i) cotangent(i) = gy[gy.size() == 1 ? 0 : i];
    y.backward(cotangent);
    return {{y.data(), y.data() + x.size()}, {in.grad().begin(), in.grad().end()}};
}

/// Equal to `relative`, or within `absolute`; infinities and NaN must be the same.
template <class T, class U> void check_near(const T& got, const U& expected, double relative, double absolute = 0) {
    const double g = static_cast<double>(got), e = static_cast<double>(expected);
    const bool near =
        (std::isnan(g) && std::isnan(e)) || g == e || std::abs(g - e) <= absolute + relative * std::abs(e);
    BOOST_TEST(near, "got " << g << ", expected " << e);
}

/// The slope of f by a difference of sixth order in long double, at a step of h.
template <class F> long double slope(F f, long double x, long double h = 1e-3L) {
    const auto d = [&](int k) { return f(x + k * h) - f(x - k * h); };
    return (45 * d(1) - 9 * d(2) + d(3)) / (60 * h);
}

/// Dual numbers, each {value, tangent}, as an array of rank 1.
inline Array<Dual<double>> duals(const std::vector<Dual<double>>& x) {
    Array<Dual<double>> result(std::vector<std::size_t>{x.size()});
    std::copy(x.begin(), x.end(), result.begin());
    return result;
}

} // namespace chalkgrad::testing
