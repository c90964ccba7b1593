// What norms share: checks of rows and gains, and a gain or bias that may be a vector, one number, or absent.
#pragma once // internal

#include <algorithm>
#include <numeric>

#include <chalkgrad/autograd/kernel/wide.hpp>
#include <chalkgrad/autograd/tape/pool.hpp>
#include <chalkgrad/ops/catalog/checks.hpp>

namespace chalkgrad {

/// Refuses arrays without a non-empty last axis.
void require_rows(const char* op, const Shape& x);

/// Refuses a gain or bias that is neither (D) nor a single number.
void require_gain(const char* op, const char* name, Shapes in, std::size_t i);

/// A gain or bias as D numbers, whatever it was given as: shift + what was given, or `absent` where nothing was.
template <class T> class BroadcastRow {
public:
    BroadcastRow(In<T> given, std::size_t d, double absent, double shift = 0)
        : is_row_(given && given.shape->rank() == 1),
          buffer_(is_row_ && shift == 0 ? 0 : d),
          data_(is_row_ && shift == 0 ? given.data : buffer_.data()) {
        if (data_ == buffer_.data())
            for (std::size_t j = 0; j < d; ++j) buffer_[j] = given ? T(shift) + given[is_row_ ? j : 0] : T(absent);
    }
    const T* data() const { return data_; }

private:
    bool is_row_;
    Scratch<T> buffer_;
    const T* data_;
};

/// The gradient of such a row: a kernel fills the D numbers at data(); store() sums them where it was given as one number.
template <class T> class RowGradient {
public:
    RowGradient(Out<T> gradient, std::size_t d) : gradient_(gradient), d_(d), totals_(d) {}
    wide_t<T>* data() { return totals_.data(); }
    void store() {
        if (!gradient_) return;
        if (gradient_.shape->rank() == 0) gradient_[0] = T(std::accumulate(data(), data() + d_, wide_t<T>(0)));
        else std::transform(data(), data() + d_, gradient_.data, [](wide_t<T> total) { return T(total); });
    }

private:
    Out<T> gradient_;
    std::size_t d_;
    Scratch<wide_t<T>> totals_;
};

} // namespace chalkgrad
