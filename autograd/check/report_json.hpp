// The report of gradcheck as a JSON value, for code that goes on with it; to_json() gives users its text.
#pragma once // internal

#include <nlohmann/json_fwd.hpp>

#include <chalkgrad/autograd/check/gradcheck.hpp>

namespace chalkgrad::detail {

nlohmann::json json_of(const GradcheckReport& report);
/// {"shape", "numbers"}; numbers that are not finite are words.
nlohmann::json json_of(const Array<double>& array);
/// On one line; what is no UTF-8 is replaced.
std::string text_of(const nlohmann::json& json);

} // namespace chalkgrad::detail
