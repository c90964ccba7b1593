// The parts of the table of exercises; exercises() joins them.
#pragma once

#include <vector>

#include <chalkgrad/experiments/exercises/exercises.hpp>

namespace chalkgrad {

std::vector<Exercise> exercises_on_elements();
std::vector<Exercise> exercises_on_rows();

} // namespace chalkgrad
