// The parts of the table of exercises; exercises() joins them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <chalkgrad/experiments/exercises/exercises.hpp>

namespace chalkgrad {

/// What the derivation page of an op states for these inputs, gx for x̄: "gx = …; gγ = …".
std::string gradients(std::string_view op, std::initializer_list<std::string_view> inputs);

std::vector<Exercise> exercises_on_elements();
std::vector<Exercise> exercises_on_rows();

} // namespace chalkgrad
