// The gallery: wrong backwards of every family of ops, with the sample that shows each and the cause a report should name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <chalkgrad/autograd/check/blame.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

#include "mutant.hpp"

namespace chalkgrad::gallery {

struct Exhibit {
    const char* name;
    const char* op;     ///< of the catalogue
    const char* sample; ///< of that op, by name
    const char* line;   ///< the op of the line that is spoilt; differs from `op` for composites
    const char* input;  ///< what that op calls the operand whose gradient is wrong (the first, if several are)
    Cause cause;        ///< what the hint should say
    WrongVjp wrong;
    std::function<Sample(Generator&)> own_sample = {}; ///< where the catalogue's samples must not have it: ties
};

const std::vector<Exhibit>& exhibits();
/// Those of them that are of layers, and those that are right almost everywhere.
std::vector<Exhibit> layer_exhibits();
std::vector<Exhibit> edge_exhibits();

/// The sample of an exhibit, drawn from rng.
Sample sample_of(const Exhibit& exhibit, Generator& rng);

} // namespace chalkgrad::gallery
