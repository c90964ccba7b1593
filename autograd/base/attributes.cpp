// Attributes as text, and their lookup.
#include <chalkgrad/autograd/base/attributes.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace chalkgrad {

std::string to_string(const Attribute& value) {
    struct {
        std::string operator()(std::monostate) const { return "null"; }
        std::string operator()(bool flag) const { return flag ? "true" : "false"; }
        std::string operator()(double number) const { return fmt::format("{:.10g}", number); }
        std::string operator()(const std::string& word) const { return word; }
        std::string operator()(const std::vector<double>& list) const {
            return fmt::format("[{:.10g}]", fmt::join(list, ", "));
        }
    } text;
    return std::visit(text, value);
}

void Attributes::set(std::string_view name, Attribute value) {
    const auto known = std::find_if(items_.begin(), items_.end(), [&](const auto& item) { return item.first == name; });
    if (known != items_.end()) known->second = std::move(value);
    else items_.emplace_back(std::string(name), std::move(value));
}

const Attribute* Attributes::find(std::string_view name) const {
    for (const auto& [key, value] : items_)
        if (key == name) return &value;
    return nullptr;
}

} // namespace chalkgrad
