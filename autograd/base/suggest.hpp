// Names near a mistyped one, for error messages.
#pragma once // internal

#include <string>
#include <string_view>
#include <vector>

namespace chalkgrad {

/// Up to three of `names` that are close to `word`: few letters apart (insert, drop, change, or swap two neighbours),
/// or one holding the other. Nearest first; ties keep the order of `names`.
std::vector<std::string> close_names(std::string_view word, const std::vector<std::string>& names);

/// "; did you mean a, b?" or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

/// Throws Error: `lead` 'name', the closest of `names`, and the command that lists them all.
[[noreturn]] void refuse_name(
    std::string_view name, const std::vector<std::string>& names, std::string_view lead, std::string_view list);

/// The entry of that name; throws as refuse_name.
template <class Entry>
const Entry& find_named(
    const std::vector<Entry>& entries, std::string_view name, std::string_view lead, std::string_view list) {
    std::vector<std::string> names;
    for (const Entry& entry : entries) {
        if (entry.name == name) return entry;
        names.emplace_back(entry.name);
    }
    refuse_name(name, names, lead, list);
}

} // namespace chalkgrad
