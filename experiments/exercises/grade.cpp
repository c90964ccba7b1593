// What a student's numbers are worth: against our own op, number by number, and by gradcheck's reports.
#include <chalkgrad/experiments/exercises/exercises.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/check/report_json.hpp>
#include <chalkgrad/experiments/report/compare.hpp>
#include <chalkgrad/experiments/report/json.hpp>

namespace chalkgrad {
namespace {

constexpr double tolerance = 1e-9; // as gradcheck's, relative to the largest number of an array

/// A point with what is right there.
struct Point {
    std::string name;
    std::vector<Array<double>> inputs, gradients;
    Array<double> y, cotangent;
};

std::vector<Point> points_of(const Exercise& exercise) {
    Generator rng{Seed(6)};
    const CatalogEntry& op = find_op(exercise.op);
    return mapped(exercise.points(rng), [&](const Sample& sample) {
        const Tape tape;
        std::vector<Var<double>> inputs;
        const Var<double> y = run_sample(op, sample, tape, &inputs);
        const Array<double> cotangent = rng.standard_normal(y.shape());
        y.backward(cotangent);
        return Point{sample.name, mapped(inputs, [](const Var<double>& x) { return x.value(); }),
            mapped(inputs, [](const Var<double>& x) { return x.grad(); }), y.value(), cotangent};
    });
}

double distance(const WrongNumber& w) {
    const double d = std::abs(w.yours - w.right);
    return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

/// Adds the numbers of one point.
void add_numbers(
    GradedArray& graded, const std::string& point, const nlohmann::json& yours, const Array<double>& right) {
    const auto shape = yours.at("shape").get<std::vector<std::size_t>>();
    if (!std::equal(shape.begin(), shape.end(), right.shape().begin(), right.shape().end())) {
        graded.zero = false;
        graded.wrong += right.size();
        graded.numbers += right.size();
        graded.says = fmt::format("its shape is ({}), and should be ({}) at the point '{}'", fmt::join(shape, ", "),
            fmt::join(right.shape(), ", "), point);
        return;
    }
    Array<double> numbers = right;
    for (std::size_t i = 0; i < right.size(); ++i) numbers.data()[i] = number_of(yours.at("numbers").at(i));
    graded.zero = graded.zero && std::all_of(numbers.begin(), numbers.end(), [](double x) { return x == 0; });
    graded.numbers += right.size();
    double largest = 0;
    for (const double v : right) largest = std::max(largest, std::abs(v));
    const Comparison seen = compare(numbers, right, {.absolute = tolerance * largest});
    const WrongNumber here{point, seen.index, seen.got, seen.want};
    if (seen.beyond > 0 && (graded.wrong == 0 || distance(here) > distance(graded.worst))) graded.worst = here;
    graded.wrong += seen.beyond;
}

/// What gradcheck says of the inputs: the exercise's own words where it has some for a cause, at any point; else
/// gradcheck's.
void add_causes(const Exercise& exercise, const nlohmann::json& answer, std::vector<GradedArray>& gradients) {
    for (const bool own : {true, false})
        for (const nlohmann::json& point : answer.at("points"))
            for (const nlohmann::json& found : point.value("causes", nlohmann::json::array())) {
                GradedArray& graded = gradients.at(found.at("input").get<std::size_t>());
                if (graded.wrong == 0 || !graded.says.empty()) continue;
                const std::string cause = found.at("cause");
                if (!own) graded.says = cause;
                for (const TypicalFault& fault : exercise.faults)
                    for (const Cause typical : fault.causes)
                        if (own && fault.input == graded.name && cause == describe(typical)) graded.says = fault.says;
            }
}

/// What xtensor says of an index comes after a line with the place in its own sources.
std::string last_line(const std::string& text) {
    const auto at = text.find_last_of("\n\t");
    return at == std::string::npos || at + 1 == text.size() ? text : text.substr(at + 1);
}

std::string place(const WrongNumber& w) {
    return w.index.empty() ? fmt::format("at the point '{}'", w.point)
                           : fmt::format("at [{}] of the point '{}'", fmt::join(w.index, ", "), w.point);
}

std::string line(const GradedArray& part, const std::string& what) {
    if (part.wrong == 0) return fmt::format("  {}: right, {} numbers\n", what, part.numbers);
    std::string text = fmt::format("  {}: wrong", what);
    if (!part.worst.point.empty())
        text += fmt::format(", {} of {} numbers; {} you have {:.6g}, right is {:.6g}", part.wrong, part.numbers,
            place(part.worst), part.worst.yours, part.worst.right);
    text += "\n";
    if (!part.says.empty()) text += fmt::format("    {}\n", part.says);
    return text;
}

nlohmann::json part_json(const GradedArray& part) {
    nlohmann::json worst;
    if (!part.worst.point.empty())
        worst = {{"point", part.worst.point}, {"index", part.worst.index}, {"yours", json_number(part.worst.yours)},
            {"right", json_number(part.worst.right)}};
    return {{"name", part.name}, {"verdict", part.wrong == 0 ? "right" : "wrong"}, {"numbers", part.numbers},
        {"wrong", part.wrong}, {"worst", worst}, {"says", part.says}};
}

} // namespace

std::string exercise_request(const Exercise& exercise) {
    const auto array_json = [](const Array<double>& x) { return detail::json_of(x); };
    const auto request = [&](const Point& point) {
        return nlohmann::json{{"inputs", mapped(point.inputs, array_json)}, {"cotangent", array_json(point.cotangent)}};
    };
    return nlohmann::json{{"points", mapped(points_of(exercise), request)}}.dump();
}

Grade grade(const Exercise& exercise, const nlohmann::json& answer) {
    Grade result{exercise.name, true, {"y"}, mapped(exercise.inputs, [](const auto& x) { return GradedArray{x}; })};
    const std::vector<Point> points = points_of(exercise);
    for (std::size_t p = 0; p < points.size(); ++p) {
        const Point& point = points[p];
        const nlohmann::json& at = answer.at("points").at(p);
        if (at.contains("y")) add_numbers(result.forward, point.name, at["y"], point.y);
        if (at.contains("gradients"))
            for (std::size_t k = 0; k < point.gradients.size(); ++k)
                add_numbers(result.gradients[k], point.name, at["gradients"].at(k), point.gradients[k]);
        if (at.contains("error")) {
            result.right = false;
            result.notes.push_back(
                fmt::format("At the point '{}' your code ended with: {}", point.name, last_line(at["error"])));
            break; // the same would be said again
        }
        // Inconclusive: differences that are coarse. The numbers are right or wrong all the same.
        const std::string verdict = at.contains("report") ? at["report"]["verdict"].get<std::string>() : "fail";
        if (verdict != "fail") continue;
        result.right = false;
        // Numbers that are all right and a report that is not: state from call to call, an input that was changed.
        const bool numbers_right = std::all_of(
            result.gradients.begin(), result.gradients.end(), [](const GradedArray& g) { return g.wrong == 0; });
        if (numbers_right && result.forward.wrong == 0 && at.contains("report"))
            result.notes.push_back(fmt::format(
                "At the point '{}' gradcheck says: {}", point.name, at["report"]["why"].get<std::string>()));
    }
    add_causes(exercise, answer, result.gradients);
    const auto& g = result.gradients;
    const auto all = [&g](auto holds) { return std::all_of(g.begin(), g.end(), holds); };
    result.right = result.right && result.forward.wrong == 0 && all([](const GradedArray& x) { return x.wrong == 0; });
    result.untouched = result.forward.wrong == 0 && all([](const GradedArray& x) { return x.numbers > 0 && x.zero; });
    if (result.forward.wrong != 0)
        result.notes.push_back(
            "The forward is given: take it as 'chalkgrad exercise show " + exercise.name + " --starter' prints it.");
    return result;
}

std::string to_text(const Grade& grade) {
    if (grade.untouched)
        return fmt::format(
            "{}: not solved yet: every gradient is 0\n"
            "  Write the backward where the file says 'Your lines'. 'chalkgrad exercise show {} --hint 1' helps to "
            "begin.\n",
            grade.exercise, grade.exercise);
    std::string text = fmt::format("{}: {}\n", grade.exercise, grade.right ? "right" : "wrong");
    if (grade.forward.numbers != 0) text += line(grade.forward, "y");
    for (const GradedArray& g : grade.gradients)
        if (g.numbers != 0) text += line(g, "g" + g.name + ", the gradient of " + g.name);
    for (const std::string& note : grade.notes) text += "  " + note + "\n";
    if (!grade.right) text += fmt::format("  Hints: chalkgrad exercise show {} --hint 1\n", grade.exercise);
    return text;
}

nlohmann::json to_json(const Grade& grade) {
    return {{"exercise", grade.exercise}, {"verdict", grade.right ? "right" : "wrong"}, {"untouched", grade.untouched},
        {"forward", part_json(grade.forward)}, {"gradients", mapped(grade.gradients, part_json)},
        {"notes", grade.notes}};
}

} // namespace chalkgrad
