// The exercises: what a student derives and writes, and what `chalkgrad exercise` knows of each (exercises.json).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <chalkgrad/autograd/check/blame.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

namespace chalkgrad {

/// What a typical mistake looks like to gradcheck, in one way or another, and what to tell its author.
struct TypicalFault {
    std::string input; ///< whose gradient is wrong
    std::vector<Cause> causes;
    std::string says; ///< one or two sentences
};

struct Exercise {
    std::string name;                     ///< a word, also of its file in starters/
    std::string purpose;                  ///< one line
    std::string section;                  ///< of the course, or the paper
    std::string task = {};                ///< what to derive, in a few sentences
    std::vector<std::string> inputs = {}; ///< as the student's functions call them, in the order of the op's
    std::string op = {};                  ///< the catalogue's op that computes the same
    std::vector<std::string> hints = {};  ///< each says more than the one before
    std::vector<TypicalFault> faults = {};
    /// Inputs at which mistakes show; each sample has one array for each of `inputs`.
    std::function<std::vector<Sample>(Generator& rng)> points = {};

    /// The file that a student starts from: the forward, and an empty backward.
    std::string_view starter() const;
};

/// All exercises, from easy to hard.
const std::vector<Exercise>& exercises();
/// The exercise of that name; throws Error naming the closest ones.
const Exercise& find_exercise(std::string_view name);

} // namespace chalkgrad
