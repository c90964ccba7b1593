// The list of checks that a program has registered, and their reports as JSON.
#include <chalkgrad/autograd/check/testing.hpp>

#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/check/report_json.hpp>

namespace chalkgrad {
namespace {

struct Registered {
    std::string name;
    std::function<GradcheckReport(const GradcheckOptions&)> check;
};

/// Filled by initialisers of global variables, so it must be made at its first use.
std::vector<Registered>& registered() {
    static std::vector<Registered> checks;
    return checks;
}

} // namespace

bool register_check(std::string name, std::function<GradcheckReport(const GradcheckOptions&)> check) {
    registered().push_back({std::move(name), std::move(check)});
    return true;
}

std::string check_registered(const GradcheckOptions& options) {
    nlohmann::json reports = nlohmann::json::array();
    for (const Registered& one : registered()) {
        nlohmann::json json;
        try {
            json = detail::json_of(one.check(options));
        } catch (const std::exception& error) { json = {{"error", error.what()}}; } catch (...) {
            json = {{"error", "the check threw something that is no std::exception"}};
        }
        json["name"] = one.name;
        reports.push_back(std::move(json));
    }
    return detail::text_of(reports);
}

} // namespace chalkgrad
