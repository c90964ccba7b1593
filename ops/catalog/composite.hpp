// Ops that record several lines: together under one scope, or not at all.
#pragma once // internal

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

} // namespace chalkgrad
