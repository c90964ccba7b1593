// Is an array what it should be, element by element, and where is it furthest from that?
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <chalkgrad/autograd/base/array.hpp>
#include <chalkgrad/autograd/base/scalar.hpp>

namespace chalkgrad {

/// The distance of neighbouring numbers of the type at `value`.
double ulp(double value, Dtype dtype);

/// |got − want| ≤ absolute + relative · |want| + ulps · ulp(want), element by element; the ulp is that of the storage
/// type, subnormals included. A NaN or an infinity must be met exactly.
struct Allowance {
    double relative = 0, absolute = 0, ulps = 0;
    Dtype storage = Dtype::f64;
};

/// What `compare` saw. The element is the one that uses most of its allowance.
struct Comparison {
    bool holds = true;
    std::vector<std::size_t> index;
    double got = 0, want = 0;
    /// Largest |got − want| / largest finite |want| of the array, the latter left out if it is 0; inf where a NaN or an
    /// infinity is not met.
    double error = 0;
    std::size_t beyond = 0; ///< elements outside their allowance
    std::size_t size = 0;
    std::string shapes; ///< where the shapes differ, says so; nothing else is then set but `holds`
};

Comparison compare(const Array<double>& got, const Array<double>& want, const Allowance& allowance);

/// "at [1, 2]: got 0.5, want 0.25, relative error 1 (2 of 15 numbers are beyond the tolerance)", or the two shapes.
std::string to_string(const Comparison& comparison);

} // namespace chalkgrad
