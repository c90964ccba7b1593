// What the file of an op includes beside its kernels: how a rule is recorded, its entry and samples, checks that several ops share,
// and ops that record several lines.
#pragma once // internal

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/ops/catalog/sample_points.hpp>

namespace chalkgrad {

// Each check throws Error with the op, what was given, and what would be right.
/// Refuses zero, negative and non-finite constants.
void require_positive(const char* op, const char* name, double value);
/// Refuses NaN and infinite constants.
void require_finite(const char* op, const char* name, double value);
/// Refuses limits that are zero, negative or not finite; an absent one is fine.
void require_limit(const char* op, const char* name, const std::optional<double>& limit);
/// Refuses operands that would have to be broadcast.
void require_same_shape(const char* op, const char* a_name, const Shape& a, const char* b_name, const Shape& b);

/// What f() returns, its lines recorded under the scope `name`. If f throws, the lines it has recorded are dropped.
template <class F> auto composite(const Tape& tape, const char* name, Role role, F f) {
    const Tape::Mark before = tape.mark();
    try {
        const Scope scope = tape.scope(name, role);
        return f();
    } catch (...) {
        tape.rewind(before);
        throw;
    }
}

/// A constant of any scalar; for half and bfloat16 include half.hpp.
template <class T> Var<T> constant_of(const Tape& tape, const Array<double>& values, std::string_view name) {
    Array<T> converted(values.shape());
    std::transform(
        values.data(), values.data() + values.size(), converted.data(), [](double x) { return static_cast<T>(x); });
    return tape.constant(converted, name);
}

} // namespace chalkgrad
