// The fields of a config.json: typed access with class defaults, and one clear error for each thing that is wrong.
#pragma once // internal

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chalkgrad::nn {

/// "a|b" as messages say it: "a (or b)".
std::string spoken(std::string_view names);

/// A JSON object and the defaults of its class. A name "a|b" means: whichever of these fields is there; two that differ are
/// refused. null counts as absent, except where a function says otherwise. Every function throws Error for a wrong type.
class ConfigFields {
public:
    /// Throws Error unless `text` is one JSON object of at most 64 levels and 8 MiB.
    static ConfigFields parse(std::string_view text);

    /// The same fields with the defaults of a class, a JSON object; `owner` begins the messages.
    ConfigFields with_defaults(std::string_view owner, std::string_view defaults) const;

    bool has(std::string_view name) const;
    bool is_object(const std::string& name) const; ///< this field, of one name; does not count as asking for it
    bool was_read(const std::string& name) const;  ///< whether this field, of one name, has been asked for
    /// The field as messages quote it; empty when it is absent.
    std::string said(std::string_view name) const;
    std::vector<std::string> names() const; ///< of all fields
    /// A field that is an object; Error when it is absent.
    ConfigFields section(std::string_view name) const;

    /// A size: a whole number above 0. Error when it is absent and has no default.
    std::int64_t size(std::string_view name) const;
    std::optional<std::int64_t> optional_size(std::string_view name) const;
    /// A whole number from 0; `otherwise` when absent.
    std::int64_t count(std::string_view name, std::int64_t otherwise) const;
    /// A finite number above 0.
    double positive(std::string_view name, double otherwise) const;
    /// For what can be switched off: absent means the class default, null means none.
    std::optional<double> nullable(std::string_view name) const;
    bool flag(std::string_view name, bool otherwise) const;
    std::string word(std::string_view name, std::string_view otherwise) const;
    std::vector<std::int64_t> counts(std::string_view name) const; ///< empty when absent
    std::vector<std::string> words(std::string_view name) const;   ///< empty when absent
    std::vector<bool> flags(std::string_view name) const;          ///< of 0, 1, false, true; empty when absent
    std::size_t entries(std::string_view name) const;              ///< of an object or a list; 0 when absent

    /// A field that nobody has asked for so far, of this object or of one of its sections that was opened.
    struct Unread {
        std::string path, shown; ///< "text_config.head_dim", and its value as messages quote it
    };
    /// All of them but those that are null.
    std::vector<Unread> unread() const;

    /// Throws Error "<owner>: <what>".
    [[noreturn]] void refuse(const std::string& what) const;

private:
    struct Object;
    explicit ConfigFields(Object object);
    std::shared_ptr<const Object> object_;
};

} // namespace chalkgrad::nn
