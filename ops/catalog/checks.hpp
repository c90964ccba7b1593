// Checks that several ops share. Each throws Error with the op, what was given, and what would be right.
#pragma once

#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/autograd/tape/rule.hpp>

namespace chalkgrad {

/// Refuses zero, negative and non-finite constants.
inline void require_positive(const char* op, const char* name, double value) {
    if (!(value > 0 && std::isfinite(value)))
        throw Error(fmt::format("{}: {} is {}; it must be finite and positive", op, name, value));
}

/// Refuses NaN and infinite constants.
inline void require_finite(const char* op, const char* name, double value) {
    if (!std::isfinite(value)) throw Error(fmt::format("{}: {} is {}; it must be finite", op, name, value));
}

/// Refuses operands that would have to be broadcast.
inline void require_same_shape(const char* op, const char* a_name, const Shape& a, const char* b_name, const Shape& b) {
    if (!(a == b))
        throw Error(
            fmt::format("{}: {} has shape {} and {} has shape {}; they must be the same, nothing is broadcast here", op,
                a_name, to_string(a), b_name, to_string(b)));
}

} // namespace chalkgrad
