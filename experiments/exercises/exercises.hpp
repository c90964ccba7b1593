// The exercises: what a student derives and writes, what `chalkgrad exercise` knows of each (exercises.json), and what the
// answer of a student's program is worth.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

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

// ---- grading

/// A number that is not the right one, and where. `yours` may be NaN.
struct WrongNumber {
    std::string point;
    std::vector<std::size_t> index;
    double yours = 0, right = 0;
};

/// The output, or the gradient of one input, over all points.
struct GradedArray {
    std::string name; ///< "y", or the input
    std::size_t numbers = 0, wrong = 0;
    WrongNumber worst = {}; ///< where wrong is not 0: the one furthest off
    bool zero = true;       ///< nothing but zeros
    std::string says = {};  ///< what is wrong where it is not a number; the likely cause where it is; or empty
};

struct Grade {
    std::string exercise;
    bool right = false;
    GradedArray forward;
    std::vector<GradedArray> gradients;  ///< of the inputs, in order
    bool untouched = false;              ///< the forward is right, and all gradients are zeros
    std::vector<std::string> notes = {}; ///< what else there is to say, in sentences
};

/// The points of an exercise with a cotangent for each, as exercise::answer() reads them.
std::string exercise_request(const Exercise& exercise);

/// Compares an answer to exercise_request() with our own op, and reads its reports of gradcheck. `answer` has the array
/// "points" of autograd/check/exercise.hpp.
Grade grade(const Exercise& exercise, const nlohmann::json& answer);

/// The grade in plain words, with what to do next.
std::string to_text(const Grade& grade);
/// {"exercise", "verdict": "right" or "wrong", "forward": part, "gradients": [part], "notes"}, where a part is {"name",
/// "verdict", "numbers", "wrong", "worst": {"point", "index", "yours", "right"} or null, "says"}.
nlohmann::json to_json(const Grade& grade);

} // namespace chalkgrad
