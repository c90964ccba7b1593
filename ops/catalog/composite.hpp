// Ops that record several lines: together under one scope, or not at all; constants among them.
#pragma once // internal

#include <algorithm>
#include <string_view>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

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
