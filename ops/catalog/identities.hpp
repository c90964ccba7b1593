// What ops know of their Jacobians, for the catalogue: invariances, homogeneity, and who does not reach whom.
#pragma once // internal

#include <chalkgrad/ops/catalog/catalog.hpp>

namespace chalkgrad {

using Known = std::function<std::vector<Identity>(const Sample&)>;

/// A direction of the shape of x that is constant along one axis and differs between the lines along it.
Array<double> constant_along(std::ptrdiff_t axis, const Array<double>& x);

std::size_t last_extent(const Array<double>& x);

/// For rows that J maps to multiples of themselves: J x = slope(|x|², d) x, and nothing crosses rows.
std::vector<Identity> radial(
    const char* says, const Array<double>& x, const std::function<double(double square, double d)>& slope);

/// Adding the same number to all of x adds `moves` to all of the output.
Identity moves_along(const char* input, const Sample& sample, double moves);

/// Every output element depends on its own element of these inputs only.
std::vector<Identity> element_by_element(std::initializer_list<const char*> inputs);
Known diagonal_jacobian(std::initializer_list<const char*> inputs);
/// The same, of a function of one input that is homogeneous.
Known diagonal_jacobian(const char* input, double degree);
/// Homogeneous in each of these inputs, the others held fixed.
Known homogeneous_in(std::vector<std::pair<const char*, double>> degrees);

/// Of scaled dot-product attention over q (…, Hq, Tq, d), k (…, Hkv, Tk, d), v: nothing crosses heads of other groups, the causal
/// mask or the window, y is linear in v. `shiftable`: every query's weights sum to 1, so one vector added to all keys of a head
/// changes nothing (no sinks; the sample's own soft-cap and attributes are looked at).
std::vector<Identity> attention_identities(const Sample& sample, bool shiftable);

} // namespace chalkgrad
