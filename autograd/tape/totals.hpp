// Sums of many terms, as a rule collects them.
#pragma once // internal

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <chalkgrad/autograd/kernel/wide.hpp>
#include <chalkgrad/autograd/tape/pool.hpp>
#include <chalkgrad/autograd/tape/rule.hpp>

namespace chalkgrad {

/// n numbers of a result that grow from 0: in double beside a result of floats, else in the result itself.
template <class T> class Totals {
public:
    Totals(T* result, std::size_t n) : result_(result), n_(n), buffer_(std::is_same_v<T, wide_t<T>> ? 0 : n_) {
        std::fill_n(data(), n_, wide_t<T>(0));
    }
    /// Of a gradient that nobody wants: none.
    explicit Totals(Out<T> result) : Totals(result.data, result ? result.size() : 0) {}
    wide_t<T>* data() {
        if constexpr (std::is_same_v<T, wide_t<T>>) return result_;
        else return buffer_.data();
    }
    /// Adds a number to each.
    void add(const T* terms) {
        for (std::size_t i = 0; i < n_; ++i) data()[i] += terms[i];
    }
    /// Writes the totals, divided by a number, to the result.
    void store(wide_t<T> divisor = wide_t<T>(1)) {
        if (std::is_same_v<T, wide_t<T>> && divisor == wide_t<T>(1)) return;
        for (std::size_t i = 0; i < n_; ++i) result_[i] = static_cast<T>(data()[i] / divisor);
    }

private:
    T* result_;
    std::size_t n_;
    Scratch<wide_t<T>> buffer_;
};

} // namespace chalkgrad
