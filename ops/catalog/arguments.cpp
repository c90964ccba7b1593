// The arguments of a call by name: each is asked for once, and what nobody asked for is refused.
#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/ops/catalog/op.hpp>

namespace chalkgrad {
namespace {

/// A number that must be whole; `holder` says whose it is: "rope: attribute 'offset' is".
std::int64_t whole(double value, const std::string& holder) {
    if (!(std::abs(value) < 9e15) || value != std::trunc(value))
        throw Error(fmt::format("{} {}, not a whole number", holder, value));
    return static_cast<std::int64_t>(value);
}

} // namespace

Settings::Settings(
    std::string op, std::vector<std::string> inputs, std::vector<NamedArray> constants, Attributes attributes)
    : op_(std::move(op)),
      inputs_(std::move(inputs)),
      constants_(std::move(constants)),
      attributes_(std::move(attributes)) {}

void Settings::missing(const char* kind, std::string_view name) const {
    std::vector<std::string> given = inputs_;
    for (const auto& constant : constants_) given.push_back(constant.name);
    for (const auto& [key, value] : attributes_) given.push_back(key);
    throw Error(fmt::format("{}: the {} '{}' is missing; given were: {}", op_, kind, name,
        given.empty() ? "none" : fmt::to_string(fmt::join(given, ", "))));
}

void Settings::wrong(std::string_view name, const Attribute& value, const char* wanted) const {
    throw Error(fmt::format("{}: attribute '{}' is {}, not {}", op_, name, to_string(value), wanted));
}

template <class V>
V Settings::given_or(std::string_view name, std::optional<V> given, std::optional<V> otherwise) const {
    if (given) return *std::move(given);
    if (!otherwise) missing("attribute", name);
    return *std::move(otherwise);
}

std::optional<std::size_t> Settings::input(std::string_view name) {
    const auto found = std::find(inputs_.begin(), inputs_.end(), name);
    if (found == inputs_.end()) return {};
    used_.push_back(*found);
    return static_cast<std::size_t>(found - inputs_.begin());
}

void Settings::take_all_inputs() {
    used_.insert(used_.end(), inputs_.begin(), inputs_.end());
    if (inputs_.empty()) missing("input", "first");
}

const NamedArray* Settings::take_constant(std::string_view name) {
    for (const NamedArray& constant : constants_)
        if (constant.name == name) {
            used_.push_back(constant.name);
            return &constant;
        }
    return nullptr;
}

const Array<double>& Settings::constant(std::string_view name) {
    const NamedArray* constant = take_constant(name);
    if (constant == nullptr) missing("constant", name);
    return constant->values;
}

Array<std::int64_t> Settings::whole_numbers(std::string_view name) {
    const Array<double>& values = constant(name);
    Array<std::int64_t> result(values.shape());
    const std::string holder = fmt::format("{}: constant '{}' holds", op_, name);
    for (std::size_t i = 0; i < values.size(); ++i) result.data()[i] = whole(values.data()[i], holder);
    return result;
}

const Attribute* Settings::take(std::string_view name) {
    used_.emplace_back(name);
    const Attribute* value = attributes_.find(name);
    return value == nullptr || std::holds_alternative<std::monostate>(*value) ? nullptr : value;
}

std::optional<double> Settings::limit(std::string_view name) {
    const Attribute* value = take(name);
    if (value == nullptr) return {};
    if (const double* number = std::get_if<double>(value)) return *number;
    if (const std::string* word = std::get_if<std::string>(value)) {
        if (*word == "nan") return std::nan("");
        if (*word == "inf") return HUGE_VAL;
        if (*word == "-inf") return -HUGE_VAL;
    }
    wrong(name, *value, "a number");
}

double Settings::number(std::string_view name, std::optional<double> otherwise) {
    return given_or(name, limit(name), otherwise);
}

std::optional<std::ptrdiff_t> Settings::maybe_integer(std::string_view name) {
    const std::optional<double> value = limit(name);
    if (!value) return {};
    return whole(*value, fmt::format("{}: attribute '{}' is", op_, name));
}

std::ptrdiff_t Settings::integer(std::string_view name, std::optional<std::ptrdiff_t> otherwise) {
    return given_or(name, maybe_integer(name), otherwise);
}

bool Settings::flag(std::string_view name, bool otherwise) {
    const Attribute* value = take(name);
    if (value == nullptr) return otherwise;
    if (const bool* flag = std::get_if<bool>(value)) return *flag;
    wrong(name, *value, "true or false");
}

std::string Settings::word(std::string_view name, std::optional<std::string> otherwise) {
    const Attribute* value = take(name);
    return given_or(name, value != nullptr ? std::optional(to_string(*value)) : std::nullopt, std::move(otherwise));
}

std::optional<std::vector<std::ptrdiff_t>> Settings::integers(std::string_view name) {
    const Attribute* value = take(name);
    if (value == nullptr) return {};
    std::vector<double> numbers;
    if (const double* one = std::get_if<double>(value)) numbers = {*one};
    else if (const auto* list = std::get_if<std::vector<double>>(value)) numbers = *list;
    else wrong(name, *value, "a list of whole numbers");
    std::vector<std::ptrdiff_t> result;
    for (const double number : numbers)
        result.push_back(whole(number, fmt::format("{}: attribute '{}' holds", op_, name)));
    return result;
}

void Settings::ignore(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) used_.emplace_back(name);
}

void Settings::finish() const {
    const auto check = [&](const char* kind, const std::string& name) {
        if (std::find(used_.begin(), used_.end(), name) == used_.end())
            throw Error(fmt::format("{}: takes no {} '{}'; it asked for: {}", op_, kind, name, fmt::join(used_, ", ")));
    };
    for (const std::string& name : inputs_) check("input", name);
    for (const NamedArray& constant : constants_) check("constant", constant.name);
    for (const auto& [name, value] : attributes_) check("attribute", name);
}

template <class T>
Arguments<T>::Arguments(std::string op, Tape tape, std::vector<std::pair<std::string, Var<T>>> inputs,
    std::vector<NamedArray> constants, Attributes attributes)
    : Settings(
          std::move(op),
          [&] {
              std::vector<std::string> names;
              for (const auto& [name, x] : inputs) names.push_back(name);
              return names;
          }(),
          std::move(constants), std::move(attributes)),
      tape_(std::move(tape)) {
    for (const auto& [name, x] : inputs) variables_.push_back(x);
}

template <class T> Var<T> Arguments<T>::maybe(std::string_view name) {
    const auto i = input(name);
    return i ? variables_[*i] : Var<T>();
}

template <class T> Var<T> Arguments<T>::in(std::string_view name) {
    if (Var<T> x = maybe(name)) return x;
    missing("input", name);
}

template <class T> std::vector<Var<T>> Arguments<T>::all() {
    take_all_inputs();
    return variables_;
}

template <class T> Var<T> Arguments<T>::maybe_constant(std::string_view name) {
    if (Var<T> x = maybe(name)) return x;
    const NamedArray* constant = take_constant(name);
    return constant == nullptr ? Var<T>() : constant_of<T>(tape_, constant->values, name);
}

template <class T> Var<T> Arguments<T>::record(const Op& op, std::string_view inputs) {
    std::vector<Var<T>> operands;
    if (inputs == "...") operands = all();
    else
        while (!inputs.empty()) {
            const std::size_t end = std::min(inputs.find(' '), inputs.size());
            std::string_view name = inputs.substr(0, end);
            inputs.remove_prefix(std::min(end + 1, inputs.size()));
            const char kind = name.back();
            if (kind == '?' || kind == '|' || kind == '!') name.remove_suffix(1);
            if (kind == '!') constant(name);
            operands.push_back(kind == '?'                  ? maybe(name)
                               : kind == '|' || kind == '!' ? maybe_constant(name)
                                                            : in(name));
        }
    std::vector<const Var<T>*> pointers;
    for (const Var<T>& x : operands) pointers.push_back(&x);
    return detail::record<T>(op, false, pointers.data(), pointers.size());
}

template <class T> Var<T> CatalogEntry::call(Arguments<T>& arguments) const {
    const Lines<T>& own = std::get<Lines<T>>(lines);
    Var<T> y = own ? own(arguments) : arguments.record(*rule(arguments), inputs);
    arguments.finish();
    return y;
}

#define CHALKGRAD_INSTANTIATE(T) \
    template class Arguments<T>; \
    template Var<T> CatalogEntry::call(Arguments<T>&) const;
CHALKGRAD_INSTANTIATE(double)
CHALKGRAD_INSTANTIATE(float)
CHALKGRAD_INSTANTIATE(half)
CHALKGRAD_INSTANTIATE(bfloat16)
#undef CHALKGRAD_INSTANTIATE

} // namespace chalkgrad
