// What norms share: checks of rows and gains, and a gain or bias that may be a vector, one number, or absent.
#pragma once // internal

#include <numeric>

#include <chalkgrad/autograd/kernel/wide.hpp>
#include <chalkgrad/autograd/tape/pool.hpp>
#include <chalkgrad/ops/catalog/op.hpp>

namespace chalkgrad {

/// Refuses arrays without a non-empty last axis.
inline void require_rows(const char* op, const Shape& x) {
    if (x.rank() == 0)
        throw Error(fmt::format("{}: x is a single number and has no feature axis; give it shape (…, D)", op));
    if (x.last() == 0)
        throw Error(fmt::format(
            "{}: the last axis of x, shape {}, is empty; it must have at least one feature", op, to_string(x)));
}

/// Refuses a gain or bias that is neither (D) nor a single number.
inline void require_gain(const char* op, const char* name, Shapes in, std::size_t i) {
    if (!in.has(i)) return;
    const Shape& gain = in[i];
    const std::size_t d = in[0].last();
    if (gain.rank() == 0 || (gain.rank() == 1 && gain[0] == d)) return;
    throw Error(fmt::format("{}: {} has shape {} beside x of shape {}; it must be ({}) or a single number", op, name,
        to_string(gain), to_string(in[0]), d));
}

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

/// So many rows of floats may be added up as they are; the sums of more grow in double.
inline constexpr std::size_t rows_at_once = 1024;

/// The gradient of such a row, which kernels sum up over the rows of x: see each_rows.
template <class T> class RowGradient {
public:
    RowGradient(Out<T> gradient, In<T> x)
        : gradient_(gradient),
          is_row_(gradient && gradient.shape->rank() == 1),
          d_(x.last()),
          part_(is_row_ ? 0 : d_),
          totals_(x.rows() <= rows_at_once ? 0 : d_) {}
    /// Where a kernel leaves D sums over some rows.
    T* data() { return is_row_ ? gradient_.data : part_.data(); }
    /// Adds these to the totals, or begins with them.
    void add(bool begin) {
        for (std::size_t j = 0; j < d_; ++j) totals_[j] = (begin ? wide_t<T>(0) : totals_[j]) + data()[j];
    }
    void store_totals() { store(totals_.data()); }
    /// The sums become the gradient, or their sum does where the row was given as one number.
    template <class Sum> void store(const Sum* sums) {
        if (!gradient_) return;
        if (!is_row_) gradient_[0] = static_cast<T>(std::accumulate(sums, sums + d_, wide_t<T>(0)));
        else if (static_cast<const void*>(sums) != gradient_.data)
            std::transform(sums, sums + d_, gradient_.data, [](Sum sum) { return static_cast<T>(sum); });
    }

private:
    Out<T> gradient_;
    bool is_row_;
    std::size_t d_;
    Scratch<T> part_;
    Scratch<wide_t<T>> totals_;
};

/// Calls kernel(first row, rows), which fills data() of the gradients, for rows_at_once rows at most.
template <class Kernel, class... Gradients> void each_rows(std::size_t rows, Kernel kernel, Gradients&... gradients) {
    if (rows <= rows_at_once) {
        kernel(std::size_t(0), rows);
        return (gradients.store(gradients.data()), ...);
    }
    for (std::size_t first = 0; first < rows; first += rows_at_once) {
        kernel(first, std::min(rows_at_once, rows - first));
        (gradients.add(first == 0), ...);
    }
    (gradients.store_totals(), ...);
}

} // namespace chalkgrad
