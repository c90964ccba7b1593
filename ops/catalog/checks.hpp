// Checks that several ops share. Each throws Error with the op, what was given, and what would be right.
#pragma once // internal

#include <optional>

#include <chalkgrad/autograd/tape/rule.hpp>

namespace chalkgrad {

/// Refuses zero, negative and non-finite constants.
void require_positive(const char* op, const char* name, double value);
/// Refuses NaN and infinite constants.
void require_finite(const char* op, const char* name, double value);
/// Refuses limits that are zero, negative or not finite; an absent one is fine.
void require_limit(const char* op, const char* name, const std::optional<double>& limit);
/// Refuses operands that would have to be broadcast.
void require_same_shape(const char* op, const char* a_name, const Shape& a, const char* b_name, const Shape& b);

} // namespace chalkgrad
