// The report of gradcheck as a JSON value, for code that goes on with it; to_json() gives users its text.
#pragma once // internal

#include <nlohmann/json_fwd.hpp>

#include <chalkgrad/autograd/check/gradcheck.hpp>

namespace chalkgrad::detail {

nlohmann::json json_of(const GradcheckReport& report);

} // namespace chalkgrad::detail
