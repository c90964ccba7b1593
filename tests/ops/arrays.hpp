// For tests of ops on arrays: arrays from lists, comparison, refusals, and the gradients of a program.
#pragma once

#include "elementwise/unary.hpp"

#include <chalkgrad/autograd/numpy/random.hpp>

namespace chalkgrad::testing {

template <class T = double> Array<T> array(const std::vector<std::size_t>& shape, const std::vector<double>& numbers) {
    Array<T> x = Array<T>::from_shape(shape);
    BOOST_TEST_REQUIRE(x.size() == numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) x.data()[i] = static_cast<T>(numbers[i]);
    return x;
}

inline Array<double> matrix(std::size_t rows, std::size_t columns, std::initializer_list<double> numbers) {
    return array({rows, columns}, numbers);
}

/// 0, 1, 2, … in row-major order.
inline Array<double> counting(const std::vector<std::size_t>& shape) {
    Array<double> x = Array<double>::from_shape(shape);
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<double>(i);
    return x;
}

/// The same shape and, within the bounds of check_near, the same numbers.
template <class T = double, class U = double>
void check_array(const Array<T>& got, const Array<U>& expected, double relative = 0, double absolute = 0) {
    BOOST_TEST_REQUIRE(Shape(got.shape()) == Shape(expected.shape()));
    for (std::size_t i = 0; i < got.size(); ++i)
        BOOST_TEST_CONTEXT("element " << i) check_near(got.data()[i], expected.data()[i], relative, absolute);
}

/// y = f(inputs) and the gradients of the inputs for the cotangent gy.
template <class T> struct Gradients {
    Array<T> y;
    std::vector<Array<work_t<T>>> gx;
};
template <class T = double, class F>
Gradients<T> gradients(F f, const std::vector<Array<T>>& inputs, const Array<work_t<T>>& gy) {
    Tape tape;
    std::vector<Var<T>> x;
    for (const Array<T>& input : inputs) x.push_back(tape.variable(input));
    const Var<T> y = f(x);
    y.backward(gy);
    Gradients<T> result{y.value(), {}};
    for (const Var<T>& v : x) result.gx.push_back(v.grad());
    return result;
}

/// Whether f throws an Error that begins with the op's name and contains all of `words`.
template <class F> void check_refused(F f, const std::string& op, const std::vector<std::string>& words = {}) {
    try {
        f();
    } catch (const Error& error) {
        const std::string text = error.what();
        BOOST_TEST(text.starts_with(op + ":"), text);
        for (const std::string& word : words)
            BOOST_TEST(text.find(word) != std::string::npos, "'" << word << "' in: " << text);
        return;
    }
    BOOST_TEST(false, op << " was not refused");
}

} // namespace chalkgrad::testing
