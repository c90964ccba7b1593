// What a student's file registers, and the answers that a program of it gives: `chalkgrad exercise check` grades them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <chalkgrad/autograd/tape/custom.hpp>

namespace chalkgrad::exercise {

/// A forward and a hand-derived backward for the exercise of that name.
struct Solution {
    std::string exercise;
    std::size_t inputs;
    detail::CustomFunctions<double> functions;
};

/// Adds it to those of this program. Returns true, so that a global variable can register one.
bool register_solution(Solution solution);

/// The solution as a function of tape variables: what gradcheck looks at.
Var<double> record(const Solution& solution, const std::vector<Var<double>>& inputs);

/// Runs a solution at the points of a request, {"points": [{"inputs": [array, …], "cotangent": array}, …]}, where an
/// array is
/// {"shape", "numbers"}. The answer is {"points": [{"y": array, "gradients": [array, …], "report": as gradcheck writes
/// it, "causes": [{"input": n, "cause"}], "error"}, …]}: what was reached before an exception, which is "error".
std::string answer(const Solution& solution, const std::string& request);

/// The answer of a whole program, {"solutions": [{"exercise", "inputs"}, …]} and, where one is for this exercise and
/// takes as many inputs as the request gives, its answer.
std::string answer_all(const std::string& exercise, const std::string& request);

template <class Gradients, class... Forward, class... Backward>
Solution solution_of(std::string exercise, Array<double> (*forward)(Forward...), Gradients (*backward)(Backward...)) {
    static_assert(
        sizeof...(Backward) == sizeof...(Forward) + 2, "the backward takes what the forward takes, then y, then gy");
    constexpr std::size_t n = sizeof...(Forward);
    const auto spread = []<std::size_t... I>(
        std::index_sequence<I...>, auto f, const std::vector<Array<double>>& x, const auto&... rest) {
        return f(x[I]..., rest...);
    };
    detail::CustomFunctions<double> functions;
    functions.forward = [=](const std::vector<Array<double>>& x) {
        return spread(std::make_index_sequence<n>(), forward, x);
    };
    functions.vjp = [=](const std::vector<Array<double>>& x, const Array<double>& y, const Array<double>& gy) {
        return detail::as_list<double>(spread(std::make_index_sequence<n>(), backward, x, y, gy));
    };
    return {std::move(exercise), n, std::move(functions)};
}

} // namespace chalkgrad::exercise

/// At namespace scope: CHALKGRAD_EXERCISE(rms_norm, forward, backward) names the two functions of a solution. The
/// backward returns an Array<double>, or a std::vector of one for each input.
#define CHALKGRAD_EXERCISE(name, forward, backward)                \
    [[maybe_unused]] static const bool chalkgrad_exercise_##name = \
        ::chalkgrad::exercise::register_solution(::chalkgrad::exercise::solution_of(#name, forward, backward))
