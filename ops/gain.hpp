// What norms share: checks of rows, gains and constants, and a gain that may be a vector, one number, or absent.
#pragma once

#include <cmath>
#include <string>

#include <fmt/format.h>

#include <chalkgrad/autograd/pool.hpp>
#include <chalkgrad/autograd/rule.hpp>
#include <chalkgrad/ops/rms_norm.hpp>

namespace chalkgrad {

/// Refuses arrays without a non-empty last axis.
inline void require_rows(const char* op, const Shape& x) {
    if (x.rank() == 0) throw Error(fmt::format("{}: x is a single number and has no feature axis; give it shape (…, D)", op));
    if (x.last() == 0) throw Error(fmt::format("{}: the last axis of x, shape {}, is empty; it must have at least one feature", op, to_string(x)));
}

/// Refuses a gain or bias that is neither (D) nor a single number.
inline void require_gain(const char* op, const char* name, Shapes in, std::size_t i) {
    if (!in.has(i)) return;
    const Shape& gain = in[i];
    const std::size_t d = in[0].last();
    if (gain.rank() == 0 || (gain.rank() == 1 && gain[0] == d)) return;
    throw Error(fmt::format("{}: {} has shape {} beside x of shape {}; it must be ({}) or a single number", op, name, to_string(gain),
                            to_string(in[0]), d));
}

/// Refuses zero, negative and non-finite constants.
inline void require_positive(const char* op, const char* name, double value) {
    if (!(value > 0) || std::isinf(value)) throw Error(fmt::format("{}: {} is {}; it must be finite and positive", op, name, value));
}

/// A gain as D numbers, whatever it was given as.
template <class T>
class FullGain {
public:
    FullGain(In<T> gamma, std::size_t d, Gain gain = Gain::weight) : buffer_(gamma && gamma.shape->rank() == 1 && gain == Gain::weight ? 0 : d) {
        if (gamma && gamma.shape->rank() == 1 && gain == Gain::weight) {
            data_ = gamma.data;
            return;
        }
        const T shift(gamma && gain == Gain::weight ? 0 : 1);
        for (std::size_t j = 0; j < d; ++j) buffer_[j] = !gamma ? shift : shift + gamma[gamma.shape->rank() == 0 ? 0 : j];
        data_ = buffer_.data();
    }
    const T* data() const { return data_; }

private:
    Scratch<T> buffer_;
    const T* data_;
};

/// The gradient of such a gain: D numbers, summed into one where the gain is one.
template <class T>
class GainGradient {
public:
    GainGradient(Out<T> gradient, std::size_t d) : gradient_(gradient), buffer_(gradient.shape->rank() == 1 ? 0 : d), d_(d) {}
    GainGradient(const GainGradient&) = delete;
    GainGradient& operator=(const GainGradient&) = delete;
    ~GainGradient() {
        if (gradient_.shape->rank() == 1) return;
        T total(0);
        for (std::size_t j = 0; j < d_; ++j) total += buffer_[j];
        gradient_[0] = total;
    }
    T* data() { return gradient_.shape->rank() == 1 ? gradient_.data : buffer_.data(); }

private:
    Out<T> gradient_;
    Scratch<T> buffer_;
    std::size_t d_;
};

} // namespace chalkgrad
