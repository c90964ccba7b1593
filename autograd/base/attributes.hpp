// Attributes: the named constants of an op (eps, axis, limits), as text, drawings and files need them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace chalkgrad {

/// One value: absent ("null"), a flag, a number, a word, or a list of numbers.
using Attribute = std::variant<std::monostate, bool, double, std::string, std::vector<double>>;

/// A number without needless digits ("1e-06", "7"), a word as it is, a list in brackets, "null" for an absent value.
std::string to_string(const Attribute& value);

/// Named attributes in the order they were set.
class Attributes {
public:
    Attributes() = default;
    Attributes(std::initializer_list<std::pair<std::string, Attribute>> items) : items_(items) {}

    void set(std::string_view name, Attribute value);
    const Attribute* find(std::string_view name) const;
    bool empty() const { return items_.empty(); }
    auto begin() const { return items_.begin(); }
    auto end() const { return items_.end(); }

private:
    std::vector<std::pair<std::string, Attribute>> items_;
};

} // namespace chalkgrad
