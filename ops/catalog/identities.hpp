// What ops know of their Jacobians, for the catalogue: invariances, homogeneity, and who does not reach whom.
#pragma once // internal

#include <chalkgrad/ops/catalog/catalog.hpp>

namespace chalkgrad {

using Known = std::function<std::vector<Identity>(const Sample&)>;

/// Another number for every row, so that rows that are mixed up show.
double row_weight(std::size_t row);

/// A direction of the shape of x that is constant along one axis and differs between the lines along it.
Array<double> constant_along(std::ptrdiff_t axis, const Array<double>& x);

std::size_t last_extent(const Array<double>& x);

/// The function f of every row of x, a row at a time: f(row length, from, to).
Array<double> by_rows(
    const Array<double>& x, const std::function<void(std::size_t d, const double* from, double* to)>& f);

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
