// Reading config.json: bounded before it is parsed, then field by field.
#include <chalkgrad/nn/models/fields.hpp>

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/error.hpp>

namespace chalkgrad::nn {

using nlohmann::json;

struct ConfigFields::Object {
    json fields;
    json defaults = json::object();
    std::string owner = "config";
    std::string path{}; ///< "text_config."
    /// What was asked for: "text_config.hidden_size", and of a section "text_config.". One set for a whole document.
    std::shared_ptr<std::set<std::string>> read = std::make_shared<std::set<std::string>>();

    [[noreturn]] void refuse(const std::string& what) const { throw Error(owner + ": " + what); }

    struct Found {
        std::string name;
        const json* value;
    };

    /// The field under any of its names; a null is returned only when no name has a value.
    Found find(const json& in, std::string_view names) const {
        Found found{std::string(names.substr(0, names.find('|'))), nullptr};
        while (!names.empty()) {
            const std::size_t end = names.find('|');
            const std::string name(names.substr(0, end));
            names = end == std::string_view::npos ? std::string_view() : names.substr(end + 1);
            const auto field = in.find(name);
            if (field == in.end()) continue;
            if (&in == &fields) read->insert(path + name);
            if (found.value && !found.value->is_null() && !field->is_null() && *found.value != *field)
                refuse(fmt::format("{} is {} but {} is {}; they mean the same, so keep one", found.name,
                    shown(*found.value), name, shown(*field)));
            if (!found.value || found.value->is_null()) found = {name, &*field};
        }
        return found;
    }

    /// The field or its default; nullptr when there is neither.
    Found get(std::string_view names) const {
        const Found own = find(fields, names);
        if (own.value && !own.value->is_null()) return own;
        const Found other = find(defaults, names);
        return {own.name, other.value && !other.value->is_null() ? other.value : nullptr};
    }

    /// A value as messages quote it: short, on one line.
    static std::string shown(const json& value) {
        std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
        if (text.size() > 40) text = text.substr(0, 37) + "...";
        return text;
    }

    std::int64_t whole(const std::string& name, const json& value, std::int64_t least) const {
        const char* const wanted = least > 0 ? "a whole number above 0" : "a whole number from 0";
        if (!value.is_number_integer()) refuse(fmt::format("{} is {}; it must be {}", name, shown(value), wanted));
        if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)
            refuse(
                fmt::format("{} is {}, beyond 2^63; it must be {} that a model can have", name, shown(value), wanted));
        const std::int64_t number = value.get<std::int64_t>();
        if (number < least) refuse(fmt::format("{} is {}; it must be {}", name, number, wanted));
        return number;
    }

    /// The value; nothing when it is absent.
    template <class T>
    std::optional<T> value(std::string_view names, bool (json::*is)() const noexcept, const char* wanted) const {
        const Found found = get(names);
        if (!found.value) return {};
        if (!(found.value->*is)())
            refuse(fmt::format("{} is {}; it must be {}", found.name, shown(*found.value), wanted));
        return found.value->get<T>();
    }

    /// f(name, value) of each value of a list; empty when it is absent.
    template <class F> auto each(std::string_view names, F f) const {
        std::vector<decltype(f("", json()))> list;
        const Found found = get(names);
        if (!found.value) return list;
        if (!found.value->is_array())
            refuse(fmt::format("{} is {}; it must be a list", found.name, shown(*found.value)));
        for (const json& one : *found.value) list.push_back(f(found.name, one));
        return list;
    }

    void list_unread(const json& in, const std::string& where, std::vector<Unread>& list) const {
        for (const auto& [name, value] : in.items()) {
            const std::string its = where + name;
            if (read->count(its + ".") > 0) list_unread(value, its + ".", list);
            else if (read->count(its) == 0 && !value.is_null()) list.push_back({its, shown(value)});
        }
    }
};

namespace {

constexpr std::size_t largest = std::size_t(8) << 20, deepest = 64;

/// Nesting is checked before parsing: the parser's own memory grows with it.
void check_depth(std::string_view text) {
    std::size_t depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c == '\\') ++i;
            else if (c == '"') quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > deepest)
                throw Error(
                    fmt::format("config: nested deeper than {} levels; this is no model's config.json", deepest));
        } else if ((c == '}' || c == ']') && depth > 0) {
            --depth;
        }
    }
}

/// Line and column of a byte, both from 1.
std::string place(std::string_view text, std::size_t byte) {
    const std::string_view before = text.substr(0, std::min(byte, text.size()));
    const std::size_t line = before.rfind('\n');
    return fmt::format("line {}, column {}", std::count(before.begin(), before.end(), '\n') + 1,
        before.size() - (line == std::string_view::npos ? 0 : line + 1) + 1);
}

/// Where `key` is spelled for the second time among the fields of one object: the parser does not say, and keeps the
/// last value without a word. `text` is sound JSON.
struct Repeated {
    std::string key;
    std::size_t byte;
};
std::optional<Repeated> repeated_key(std::string_view text) {
    std::vector<std::set<std::string, std::less<>>> objects;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '{' || text[i] == '[') objects.emplace_back();
        else if (text[i] == '}' || text[i] == ']') objects.pop_back();
        if (text[i] != '"') continue;
        const std::size_t start = i++;
        for (; text[i] != '"'; ++i)
            if (text[i] == '\\') ++i;
        const std::size_t next = text.find_first_not_of(" \t\r\n", i + 1);
        if (next == std::string_view::npos || text[next] != ':') continue;
        std::string key = json::parse(text.substr(start, i + 1 - start)).get<std::string>();
        if (!objects.back().insert(key).second) return Repeated{std::move(key), start};
    }
    return {};
}

json parse_strictly(std::string_view text) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
        throw Error("config: no JSON: the file is empty; give a model's config.json");
    json document;
    try {
        document = json::parse(text);
    } catch (const json::parse_error& error) {
        throw Error(fmt::format("config: no JSON (byte {}: {}); give a model's config.json", error.byte,
            place(text, error.byte > 0 ? error.byte - 1 : 0)));
    } catch (
        const json::out_of_range& error) { // its message ends with the number's text, which JSON has no other place for
        const std::string_view what = error.what();
        const std::size_t open = what.find('\''), close = what.rfind('\'');
        const std::string_view number = open < close ? what.substr(open + 1, close - open - 1) : std::string_view();
        throw Error(fmt::format(
            "config: the number {} at {} is beyond what a double can hold", number, place(text, text.find(number))));
    }
    if (const auto repeated = repeated_key(text))
        throw Error(fmt::format("config: the field {} is there twice, the second time at {}; keep one", repeated->key,
            place(text, repeated->byte)));
    return document;
}

} // namespace

std::string spoken(std::string_view names) {
    std::string words(names);
    const std::size_t first = words.find('|');
    for (std::size_t at = first; at != std::string::npos; at = words.find('|'))
        words.replace(at, 1, at == first ? " (or " : ", ");
    return first == std::string::npos ? words : words + ")";
}

ConfigFields ConfigFields::parse(std::string_view text) {
    if (text.size() > largest)
        throw Error("config: larger than 8 MiB; a config.json has a few kilobytes, so this is another file");
    check_depth(text);
    Object object{.fields = parse_strictly(text)};
    if (!object.fields.is_object())
        throw Error(fmt::format("config: the document is {}, not an object {{...}}; give a model's config.json",
            object.fields.type_name()));
    return ConfigFields(std::move(object));
}

ConfigFields::ConfigFields(Object object) : object_(std::make_shared<Object>(std::move(object))) {}

ConfigFields ConfigFields::with_defaults(std::string_view owner, std::string_view defaults) const {
    Object object = *object_;
    object.owner = owner;
    object.defaults = json::parse(defaults.empty() ? "{}" : defaults);
    return ConfigFields(std::move(object));
}

void ConfigFields::refuse(const std::string& what) const { object_->refuse(what); }

bool ConfigFields::has(std::string_view name) const {
    const auto found = object_->find(object_->fields, name);
    return found.value && !found.value->is_null();
}

bool ConfigFields::is_object(const std::string& name) const {
    const auto field = object_->fields.find(name);
    return field != object_->fields.end() && field->is_object();
}

bool ConfigFields::was_read(const std::string& name) const { return object_->read->count(object_->path + name) > 0; }

std::string ConfigFields::said(std::string_view name) const {
    return has(name) ? Object::shown(*object_->find(object_->fields, name).value) : std::string();
}

std::vector<std::string> ConfigFields::names() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : object_->fields.items()) names.push_back(name);
    return names;
}

ConfigFields ConfigFields::section(std::string_view name) const {
    const auto found = object_->find(object_->fields, name);
    if (!found.value || found.value->is_null()) refuse(fmt::format("{} is missing", name));
    if (!found.value->is_object())
        refuse(fmt::format("{} is {}; it must be an object", name, Object::shown(*found.value)));
    const std::string path = object_->path + found.name + ".";
    object_->read->insert(path);
    return ConfigFields({.fields = *found.value,
        .owner = fmt::format("{}: {}", object_->owner, name),
        .path = path,
        .read = object_->read});
}

std::vector<ConfigFields::Unread> ConfigFields::unread() const {
    std::vector<Unread> list;
    object_->list_unread(object_->fields, object_->path, list);
    return list;
}

std::int64_t ConfigFields::size(std::string_view name) const {
    const auto found = object_->get(name);
    if (!found.value) refuse(fmt::format("{} is missing; the count depends on it", spoken(name)));
    return object_->whole(found.name, *found.value, 1);
}

std::optional<std::int64_t> ConfigFields::optional_size(std::string_view name) const {
    const auto found = object_->get(name);
    return found.value ? std::optional(object_->whole(found.name, *found.value, 1)) : std::nullopt;
}

std::int64_t ConfigFields::count(std::string_view name, std::int64_t otherwise) const {
    const auto found = object_->get(name);
    return found.value ? object_->whole(found.name, *found.value, 0) : otherwise;
}

double ConfigFields::positive(std::string_view name, double otherwise) const {
    const auto found = object_->get(name);
    if (!found.value) return otherwise;
    const double number = found.value->is_number() ? found.value->get<double>() : 0;
    if (!(number > 0 && std::isfinite(number)))
        refuse(fmt::format("{} is {}; it must be a number above 0", found.name, Object::shown(*found.value)));
    return number;
}

std::optional<double> ConfigFields::nullable(std::string_view name) const {
    const auto own = object_->find(object_->fields, name);
    if (own.value && own.value->is_null()) return {};
    if (!object_->get(name).value) return {};
    return positive(name, 1);
}

bool ConfigFields::flag(std::string_view name, bool otherwise) const {
    return object_->value<bool>(name, &json::is_boolean, "true or false").value_or(otherwise);
}

std::string ConfigFields::word(std::string_view name, std::string_view otherwise) const {
    return object_->value<std::string>(name, &json::is_string, "a word in quotes").value_or(std::string(otherwise));
}

std::vector<std::int64_t> ConfigFields::counts(std::string_view name) const {
    return object_->each(
        name, [&](const std::string& its, const json& value) { return object_->whole(its, value, 0); });
}

std::vector<std::string> ConfigFields::words(std::string_view name) const {
    return object_->each(name, [&](const std::string& its, const json& value) {
        if (!value.is_string()) refuse(fmt::format("{} holds {}; it must hold words", its, Object::shown(value)));
        return value.get<std::string>();
    });
}

std::vector<bool> ConfigFields::flags(std::string_view name) const {
    return object_->each(name, [&](const std::string& its, const json& value) {
        if (!value.is_boolean() && value != 0 && value != 1)
            refuse(fmt::format("{} holds {}; it must hold 0 or 1", its, Object::shown(value)));
        return value == true || value == 1;
    });
}

std::size_t ConfigFields::entries(std::string_view name) const {
    const auto found = object_->get(name);
    return found.value && found.value->is_structured() ? found.value->size() : 0;
}

} // namespace chalkgrad::nn
