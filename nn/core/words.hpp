// Values of an enum and the words that files and command lines use for them.
#pragma once // internal

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/suggest.hpp>

namespace chalkgrad::nn {

/// `words` is a list of structs with a `value` and a `name`; `what` begins the messages.
const auto& word_of(const char* what, const auto& words, auto value) {
    for (const auto& word : words)
        if (word.value == value) return word;
    throw Error(fmt::format("{}: unknown value", what));
}

auto value_named(const char* what, const auto& words, std::string_view name) {
    std::vector<std::string> names;
    for (const auto& word : words) {
        if (word.name == name) return word.value;
        names.emplace_back(word.name);
    }
    throw Error(fmt::format("{}: there is no '{}'{}", what, name, did_you_mean(name, names)));
}

} // namespace chalkgrad::nn
