// For tests of ops with several inputs: value and all gradients of one call.
#pragma once

#include <boost/test/unit_test.hpp>

#include "elementwise/unary.hpp"

namespace chalkgrad::testing {

template <class T> struct Called {
    std::vector<T> y;
    std::vector<std::vector<work_t<T>>> g; ///< of each input, in order
};

/// f(inputs) with cotangent gy, whose numbers are given in row-major order.
template <class T, class F> Called<T> call(F f, const std::vector<Array<T>>& inputs, const std::vector<work_t<T>>& gy) {
    Tape tape;
    std::vector<Var<T>> x;
    for (const Array<T>& input : inputs) x.push_back(tape.variable(input));
    const Var<T> y = f(x);
    Array<work_t<T>> cotangent(std::vector<std::size_t>(y.shape().begin(), y.shape().end()));
    BOOST_REQUIRE_EQUAL(cotangent.size(), gy.size());
    std::copy(gy.begin(), gy.end(), cotangent.begin());
    y.backward(cotangent);
    Called<T> result{{y.data(), y.data() + y.size()}, {}};
    for (const Var<T>& v : x) result.g.emplace_back(v.grad().begin(), v.grad().end());
    return result;
}

/// Input i of an op in a test, absent where it was not given.
template <class T> Var<T> input(const std::vector<Var<T>>& inputs, std::size_t i) {
    return i < inputs.size() ? inputs[i] : Var<T>();
}

/// Numbers in another type.
template <class To, class From> Array<To> converted(const Array<From>& x) {
    Array<To> result(x.shape());
    for (std::size_t i = 0; i < x.size(); ++i) result.data()[i] = static_cast<To>(x.data()[i]);
    return result;
}
template <class To, class From> std::vector<To> converted(const std::vector<From>& x) {
    return std::vector<To>(x.begin(), x.end());
}

/// Every element equal to `relative`, or within `relative` times the largest expected one.
template <class T, class U> void check_all(const std::vector<T>& got, const std::vector<U>& expected, double relative) {
    BOOST_REQUIRE_EQUAL(got.size(), expected.size());
    double largest = 0;
    for (const U& e : expected)
        if (const double size = std::abs(static_cast<double>(e)); std::isfinite(size))
            largest = std::max(largest, size);
    for (std::size_t i = 0; i < got.size(); ++i)
        BOOST_TEST_CONTEXT("element " << i) check_near(got[i], expected[i], relative, relative * largest);
}

/// f in double and in float against f in long double: the value to 1e-15 and 1e-6, gradients to 2e-15 and `float_gradient`.
/// f is a generic callable, f(const std::vector<Var<T>>&).
template <class F>
void check_scalars_agree(
    F f, const std::vector<Array<double>>& inputs, const std::vector<double>& gy, double float_gradient) {
    const auto run = [&]<class T>(T) {
        std::vector<Array<T>> in;
        for (const Array<double>& x : inputs) in.push_back(converted<T>(x));
        return call<T>(f, in, converted<T>(gy));
    };
    on_every_isa([&] {
        const auto of_double = run(0.0);
        const auto of_float = run(0.0f);
        const auto exact = run(0.0L);
        check_all(of_double.y, exact.y, 1e-15);
        check_all(of_float.y, exact.y, 1e-6);
        for (std::size_t k = 0; k < inputs.size(); ++k) {
            check_all(of_double.g[k], exact.g[k], 2e-15);
            check_all(of_float.g[k], exact.g[k], float_gradient);
        }
    });
}

/// Of a matrix inputs[0] and parameters of its rows: every row is what it is alone, the parameters' gradients are the sums. (Kernels
/// take several rows at a time.)
template <class F> void check_rows_alone(F f, const std::vector<Array<double>>& inputs, const std::vector<double>& gy) {
    const std::size_t rows = inputs[0].shape()[0], d = inputs[0].shape()[1];
    const auto all = call<double>(f, inputs, gy);
    std::vector<std::vector<double>> sums(inputs.size(), std::vector<double>(d));
    for (std::size_t t = 0; t < rows; ++t) {
        const auto row = [&](const auto& of) {
            return std::vector<double>(of.begin() + t * d, of.begin() + (t + 1) * d);
        };
        std::vector<Array<double>> alone = inputs;
        alone[0] = Array<double>(std::vector<std::size_t>{d});
        std::copy_n(inputs[0].data() + t * d, d, alone[0].data());
        const auto one = call<double>(f, alone, row(gy));
        check_all(row(all.y), one.y, 1e-14);
        check_all(row(all.g[0]), one.g[0], 1e-12);
        for (std::size_t k = 1; k < inputs.size(); ++k)
            for (std::size_t j = 0; j < d; ++j) sums[k][j] += one.g[k][j];
    }
    for (std::size_t k = 1; k < inputs.size(); ++k) check_all(all.g[k], sums[k], 1e-13);
}

/// f throws Error, its message begins with `op`, and the tape is as long as before.
template <class F> void check_refused(const Tape& tape, const std::string& op, F f) {
    const std::size_t before = tape.size();
    BOOST_CHECK_EXCEPTION(f(), Error, [&](const Error& e) {
        BOOST_TEST_MESSAGE(e.what());
        return std::string(e.what()).starts_with(op + ":");
    });
    BOOST_TEST(tape.size() == before);
}

} // namespace chalkgrad::testing
