// How far apart the two sides of an identity are.
#pragma once // internal

#include <cmath>

namespace chalkgrad::detail {

/// The terms of one side, and those of the other with their signs turned: `gap` is 0 where the identity holds, and what rounding
/// leaves of it is judged beside `terms`, Σ|terms|.
template <class T> struct Gap {
    T gap = T(0);
    double terms = 0;

    void add(T term) {
        gap += term;
        terms += static_cast<double>(std::abs(term));
    }
};

} // namespace chalkgrad::detail
