// Grading an exercise: the request that a student's program answers, and what its answer is worth.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <chalkgrad/experiments/exercises/exercises.hpp>

namespace chalkgrad {

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
