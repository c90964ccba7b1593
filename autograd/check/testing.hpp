// Checks of gradients in users' tests: a macro for Boost.Test, and checks that `chalkgrad gradcheck --file` finds by
// name.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <chalkgrad/autograd/check/gradcheck.hpp>

namespace chalkgrad {

/// gradcheck of f(x, y, …), which takes one Var for each array of the point and returns a Var or a vector of Vars.
template <class F, class... Arrays>
GradcheckReport check_gradient(const GradcheckOptions& options, F f, const Arrays&... point) {
    const auto spread = [&f]<std::size_t... I>(const std::vector<Var<double>>& x, std::index_sequence<I...>) {
        return f(x[I]...);
    };
    const auto of_list = [&spread](const std::vector<Var<double>>& x) {
        return spread(x, std::index_sequence_for<Arrays...>());
    };
    return gradcheck(of_list, std::vector<Array<double>>{Array<double>(point)...}, options);
}

/// A check by name, for check_registered(). Returns true, so that a global variable can register it.
bool register_check(std::string name, std::function<GradcheckReport(const GradcheckOptions&)> check);

/// Runs all registered checks: a JSON array of reports with the field "name", or of {"name", "error"} where a check
/// threw.
std::string check_registered(const GradcheckOptions& options = {});

} // namespace chalkgrad

/// In a test of Boost.Test: CHALKGRAD_CHECK_GRADIENT(f, x, gamma) checks f(x, gamma) at these arrays, and shows the
/// report where it is wrong or inconclusive. f is generic or takes `const Var<double>&`s.
#define CHALKGRAD_CHECK_GRADIENT(...)                                                                       \
    do {                                                                                                    \
        const ::chalkgrad::GradcheckReport chalkgrad_report = ::chalkgrad::check_gradient({}, __VA_ARGS__); \
        BOOST_CHECK_MESSAGE(static_cast<bool>(chalkgrad_report), ::chalkgrad::to_string(chalkgrad_report)); \
    } while (false)

/// At namespace scope: CHALKGRAD_GRADCHECK(my_norm, f, x, gamma) registers the same check for `chalkgrad gradcheck
/// --file`.
#define CHALKGRAD_GRADCHECK(name, ...)                                                        \
    static const bool chalkgrad_check_##name =                                                \
        ::chalkgrad::register_check(#name, [](const ::chalkgrad::GradcheckOptions& options) { \
            return ::chalkgrad::check_gradient(options, __VA_ARGS__);                         \
        })
