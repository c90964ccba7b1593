// `chalkgrad gradcheck --file my_op.cpp`: compiles a user's file and runs the checks that it registers.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include <chalkgrad/autograd/check/gradcheck.hpp>

namespace chalkgrad {

/// The reports of all checks that the file registers with CHALKGRAD_GRADCHECK, as a JSON array. Throws Error if the
/// file is missing, does not compile (the compiler's words go to standard error), registers nothing, or a check throws.
nlohmann::json check_file(const std::string& file, const GradcheckOptions& options);

} // namespace chalkgrad
