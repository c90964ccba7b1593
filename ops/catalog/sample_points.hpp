// Samples said in one line of text each, and numbers for functions that have a kink or a pole.
#pragma once // internal

#include <chalkgrad/ops/catalog/identities.hpp>

namespace chalkgrad {

/// Samples from lines such as "capped: q(2,3) k(4,3) | mask(2,4) | cap=5 axes=[0,-1] causal=true gain='1 + gamma' min=null": the
/// name, inputs with their shapes, constants between bars, attributes. Arrays are drawn from left to right, from the standard normal
/// distribution where `draw` is empty.
std::vector<Sample> drawn(Generator& rng, const std::vector<const char*>& lines, const DrawInput& draw = {});

/// Equal shapes, and every way of broadcasting: a row, a column, both at once, a single number.
std::vector<Sample> broadcast_samples(Generator& rng, const DrawInput& draw = {});

/// Where the inputs of a sample lie: uniform from low to high, or standard normal without them; none nearer to 0 than gap. The
/// first of two operands, a, is standard normal.
struct Points {
    double low = 0, high = 0, gap = 0;
    Array<double> operator()(Generator& rng, std::string_view input, const Shape& shape) const;
};
using PlainRule = std::unique_ptr<const Op> (*)(Settings&);
/// An op of one input, by a rule without fields: samples in rows of 1, 3, 5 and 11, and several rows. `with_tails`: and far out on
/// both sides, where slopes have died down and shortcuts are taken.
CatalogEntry unary_entry(const char* name, PlainRule rule, const char* formula, const char* section, Points points,
    Known identities, Lines<double> twin = {}, bool with_tails = false);
/// An op of two inputs with broadcasting, by a rule without fields.
CatalogEntry binary_entry(const char* name, PlainRule rule, const char* formula, const char* section, Points points,
    Known identities = {}, Lines<double> twin = {});

/// The least distance of an element from a point at which a function bends without bound; 1 where every element is on it.
double distance_from(double point, In<double> x);
/// x with the numbers nearer to `point` than `gap` moved out by `gap`, so that differences can be taken.
Array<double> away_from(double point, double gap, Array<double> x);
Array<double> scaled(double factor, Array<double> x);

} // namespace chalkgrad
