// The exercises by name, along the course and from easy to hard.
#include <chalkgrad/experiments/exercises/exercises.hpp>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/suggest.hpp>
#include <chalkgrad/experiments/exercises/table.hpp>
#include <chalkgrad/experiments/report/derivation.hpp>
#include <chalkgrad/experiments/report/embedded.hpp>

namespace chalkgrad {

std::string_view Exercise::starter() const { return embedded("experiments/exercises/starters/" + name + ".cpp"); }

std::string gradients(std::string_view op, std::initializer_list<std::string_view> inputs) {
    std::string text;
    for (const std::string_view input : inputs) text += (text.empty() ? "" : "; ") + gradient_in_words(op, input);
    return text;
}

const std::vector<Exercise>& exercises() {
    static const std::vector<Exercise> all = [] {
        std::vector<Exercise> list = exercises_on_elements();
        for (const Exercise& e : exercises_on_rows()) list.push_back(e);
        return list;
    }();
    return all;
}

const Exercise& find_exercise(std::string_view name) {
    return find_named(exercises(), name, "exercise: there is no exercise", "chalkgrad exercise list");
}

} // namespace chalkgrad
