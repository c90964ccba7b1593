// Samples said in one line of text each, and numbers for functions that have a kink or a pole.
#pragma once // internal

#include <chalkgrad/ops/catalog/identities.hpp>

namespace chalkgrad {

using Draw = std::function<Array<double>(const Shape& shape)>;
using DrawInput = std::function<Array<double>(std::string_view input, const Shape& shape)>;

/// Samples from lines such as "capped: q(2,3) k(4,3) | mask(2,4) | cap=5 axes=[0,-1] causal=true gain='1 + gamma' min=null": the
/// name, inputs with their shapes, constants between bars, attributes. Arrays are drawn from left to right.
std::vector<Sample> drawn(std::initializer_list<const char*> lines, const DrawInput& draw);
/// The same from the standard normal distribution.
std::vector<Sample> drawn(Generator& rng, std::initializer_list<const char*> lines);

/// Numbers in rows of 1, 3, 5 and 11, and several rows.
std::vector<Sample> unary_samples(const Draw& draw, const char* input = "x", const Attributes& attributes = {});
/// The same, and numbers far out on both sides, where slopes have died down and shortcuts are taken.
std::vector<Sample> unary_samples_with_tails(const Draw& draw);
/// Equal shapes, and every way of broadcasting: a row, a column, both at once, a single number.
std::vector<Sample> broadcast_samples(Generator& rng, const Draw& draw_b);

/// Where the inputs of a sample lie: uniform from low to high, or standard normal without them; none nearer to 0 than gap.
struct Points {
    double low = 0, high = 0, gap = 0;
    Array<double> draw(Generator& rng, const Shape& shape) const;
};
/// An op of one input, or of two with broadcasting whose second input lies at the points, by a rule without fields.
using PlainRule = std::unique_ptr<const Op> (*)(Settings&);
CatalogEntry unary_entry(const char* name, const char* formula, const char* section, PlainRule rule, Points points,
    Known identities, bool with_tails = false);
CatalogEntry binary_entry(
    const char* name, const char* formula, const char* section, PlainRule rule, Points points, Known identities = {});

/// The least distance of an element from a point at which a function bends without bound; 1 where every element is on it.
double distance_from(double point, In<double> x);
/// x with the numbers nearer to `point` than `gap` moved out by `gap`, so that differences can be taken.
Array<double> away_from(double point, double gap, Array<double> x);
Array<double> scaled(double factor, Array<double> x);

} // namespace chalkgrad
