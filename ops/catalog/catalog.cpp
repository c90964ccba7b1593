// The list of ops. A new op adds one line here.
#include <chalkgrad/ops/catalog/catalog.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/base/suggest.hpp>

namespace chalkgrad {

#define CHALKGRAD_OPS(OP) \
    OP(add)               \
    OP(sub)               \
    OP(mul)               \
    OP(div)               \
    OP(neg)               \
    OP(exp)               \
    OP(log)               \
    OP(log1p)             \
    OP(sqrt)              \
    OP(rsqrt)             \
    OP(square)            \
    OP(reciprocal)        \
    OP(tanh)              \
    OP(erf)               \
    OP(abs)               \
    OP(pow)               \
    OP(clamp)             \
    OP(minimum)           \
    OP(maximum)           \
    OP(logaddexp)         \
    OP(sum)               \
    OP(mean)              \
    OP(var_biased)        \
    OP(amax)              \
    OP(amin)              \
    OP(logsumexp)         \
    OP(matmul)            \
    OP(reshape)           \
    OP(transpose)         \
    OP(concat)            \
    OP(stack)             \
    OP(slice)             \
    OP(where)             \
    OP(repeat_kv)         \
    OP(embedding)         \
    OP(softmax)           \
    OP(log_softmax)       \
    OP(cross_entropy)     \
    OP(relu)              \
    OP(sigmoid)           \
    OP(softplus)          \
    OP(silu)              \
    OP(gelu_erf)          \
    OP(gelu_tanh)         \
    OP(quick_gelu)        \
    OP(softcap)           \
    OP(rms_norm)          \
    OP(layer_norm)        \
    OP(rms_norm_floor)    \
    OP(l2_normalize)      \
    OP(qk_norm_per_head)  \
    OP(qk_norm_whole)     \
    OP(qknorm_scores)     \
    OP(swiglu_act)        \
    OP(gpt_oss_packed)    \
    OP(reglu)             \
    OP(geglu)             \
    OP(dyt)               \
    OP(dyisru_b)          \
    OP(dyisru_softplus)   \
    OP(rope)              \
    OP(sdpa)              \
    OP(sdpa_sinks)        \
    OP(sdpa_qknorm)       \
    OP(sinkhorn_log)      \
    OP(mhc_mix_fixed)     \
    OP(mhc_mix_param)     \
    OP(mhc_mix_xdep)

#define CHALKGRAD_DECLARE(op) CatalogEntry op##_entry();
CHALKGRAD_OPS(CHALKGRAD_DECLARE)

const std::vector<CatalogEntry>& catalog() {
#define CHALKGRAD_ITEM(op) op##_entry(),
    static const std::vector<CatalogEntry> entries = {CHALKGRAD_OPS(CHALKGRAD_ITEM)};
    return entries;
}

const CatalogEntry& find_op(std::string_view name) {
    return find_named(catalog(), name, "there is no op", "chalkgrad list ops");
}

Var<double> run_sample(
    const CatalogEntry& op, const Sample& sample, const Tape& tape, std::vector<Var<double>>* inputs) {
    std::vector<std::pair<std::string, Var<double>>> named;
    for (const NamedArray& x : sample.inputs) {
        named.emplace_back(x.name, tape.variable(x.values, x.name));
        if (inputs != nullptr) inputs->push_back(named.back().second);
    }
    Arguments<double> arguments(op.name, tape, std::move(named), sample.constants, sample.attributes);
    return op.call(arguments);
}

template <class T>
Arguments<T>::Arguments(std::string op, Tape tape, std::vector<std::pair<std::string, Var<T>>> inputs,
    std::vector<NamedArray> constants, Attributes attributes)
    : op_(std::move(op)),
      tape_(std::move(tape)),
      inputs_(std::move(inputs)),
      constants_(std::move(constants)),
      attributes_(std::move(attributes)) {}

const Array<double>* Sample::input(std::string_view wanted) const {
    for (const NamedArray& array : inputs)
        if (array.name == wanted) return &array.values;
    return nullptr;
}

double Sample::number(std::string_view wanted, double otherwise) const {
    const Attribute* value = attributes.find(wanted);
    const double* number = value != nullptr ? std::get_if<double>(value) : nullptr;
    return number != nullptr ? *number : otherwise;
}

template <class T> void Arguments<T>::missing(const char* kind, std::string_view name) const {
    std::string given;
    for (const auto& [key, value] : inputs_) given += (given.empty() ? "" : ", ") + key;
    for (const auto& constant : constants_) given += (given.empty() ? "" : ", ") + constant.name;
    for (const auto& [key, value] : attributes_) given += (given.empty() ? "" : ", ") + key;
    throw Error(
        fmt::format("{}: the {} '{}' is missing; given were: {}", op_, kind, name, given.empty() ? "none" : given));
}

template <class T> Var<T> Arguments<T>::maybe(std::string_view name) {
    for (const auto& [key, value] : inputs_)
        if (key == name) {
            used_.push_back(key);
            return value;
        }
    return {};
}

template <class T> Var<T> Arguments<T>::in(std::string_view name) {
    if (Var<T> x = maybe(name)) return x;
    missing("input", name);
}

template <class T> std::vector<Var<T>> Arguments<T>::all() {
    std::vector<Var<T>> list;
    for (const auto& [key, value] : inputs_) {
        used_.push_back(key);
        list.push_back(value);
    }
    if (list.empty()) missing("input", "first");
    return list;
}

template <class T> const NamedArray* Arguments<T>::take_constant(std::string_view name) {
    for (const NamedArray& constant : constants_)
        if (constant.name == name) {
            used_.push_back(constant.name);
            return &constant;
        }
    return nullptr;
}

template <class T> Var<T> Arguments<T>::maybe_constant(std::string_view name) {
    if (Var<T> x = maybe(name)) return x;
    const NamedArray* constant = take_constant(name);
    if (constant == nullptr) return {};
    Array<T> values(constant->values.shape());
    for (std::size_t i = 0; i < values.size(); ++i) values.data()[i] = static_cast<T>(constant->values.data()[i]);
    return tape_.constant(values, name);
}

template <class T> const Array<double>& Arguments<T>::constant(std::string_view name) {
    const NamedArray* constant = take_constant(name);
    if (constant == nullptr) missing("constant", name);
    return constant->values;
}

template <class T> Array<std::int64_t> Arguments<T>::whole_numbers(std::string_view name) {
    const Array<double>& values = constant(name);
    Array<std::int64_t> result(values.shape());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double value = values.data()[i];
        if (!(std::abs(value) < 9e15) || value != std::trunc(value))
            throw Error(fmt::format("{}: constant '{}' holds {}, not a whole number", op_, name, value));
        result.data()[i] = static_cast<std::int64_t>(value);
    }
    return result;
}

template <class T> const Attribute* Arguments<T>::take(std::string_view name) {
    used_.emplace_back(name);
    const Attribute* value = attributes_.find(name);
    return value == nullptr || std::holds_alternative<std::monostate>(*value) ? nullptr : value;
}

template <class T> std::optional<double> Arguments<T>::limit(std::string_view name) {
    const Attribute* value = take(name);
    if (value == nullptr) return {};
    if (const double* number = std::get_if<double>(value)) return *number;
    if (const std::string* word = std::get_if<std::string>(value)) {
        if (*word == "nan") return std::nan("");
        if (*word == "inf") return HUGE_VAL;
        if (*word == "-inf") return -HUGE_VAL;
    }
    throw Error(fmt::format("{}: attribute '{}' is {}, not a number", op_, name, to_string(*value)));
}

template <class T> double Arguments<T>::number(std::string_view name, std::optional<double> otherwise) {
    if (const std::optional<double> value = limit(name)) return *value;
    if (!otherwise) missing("attribute", name);
    return *otherwise;
}

template <class T> std::optional<std::ptrdiff_t> Arguments<T>::maybe_integer(std::string_view name) {
    const std::optional<double> value = limit(name);
    if (!value) return {};
    if (!(std::abs(*value) < 9e15) || *value != std::trunc(*value))
        throw Error(fmt::format("{}: attribute '{}' is {}, not a whole number", op_, name, *value));
    return static_cast<std::ptrdiff_t>(*value);
}

template <class T>
std::ptrdiff_t Arguments<T>::integer(std::string_view name, std::optional<std::ptrdiff_t> otherwise) {
    if (const auto value = maybe_integer(name)) return *value;
    if (!otherwise) missing("attribute", name);
    return *otherwise;
}

template <class T> bool Arguments<T>::flag(std::string_view name, bool otherwise) {
    const Attribute* value = take(name);
    if (value == nullptr) return otherwise;
    if (const bool* flag = std::get_if<bool>(value)) return *flag;
    throw Error(fmt::format("{}: attribute '{}' is {}, not true or false", op_, name, to_string(*value)));
}

template <class T> std::string Arguments<T>::word(std::string_view name, std::optional<std::string> otherwise) {
    const Attribute* value = take(name);
    if (value == nullptr) {
        if (!otherwise) missing("attribute", name);
        return *otherwise;
    }
    if (const std::string* word = std::get_if<std::string>(value)) return *word;
    throw Error(fmt::format("{}: attribute '{}' is {}, not a word", op_, name, to_string(*value)));
}

template <class T> std::optional<std::vector<std::ptrdiff_t>> Arguments<T>::integers(std::string_view name) {
    const Attribute* value = take(name);
    if (value == nullptr) return {};
    std::vector<double> numbers;
    if (const double* one = std::get_if<double>(value)) numbers = {*one};
    else if (const auto* list = std::get_if<std::vector<double>>(value)) numbers = *list;
    else
        throw Error(fmt::format("{}: attribute '{}' is {}, not a list of whole numbers", op_, name, to_string(*value)));
    std::vector<std::ptrdiff_t> result;
    for (const double number : numbers) {
        if (!(std::abs(number) < 9e15) || number != std::trunc(number))
            throw Error(fmt::format("{}: attribute '{}' holds {}, not a whole number", op_, name, number));
        result.push_back(static_cast<std::ptrdiff_t>(number));
    }
    return result;
}

template <class T> void Arguments<T>::ignore(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) used_.emplace_back(name);
}

template <class T> void Arguments<T>::finish() const {
    const auto check = [&](const char* kind, const std::string& name) {
        if (std::find(used_.begin(), used_.end(), name) == used_.end())
            throw Error(fmt::format("{}: takes no {} '{}'; it asked for: {}", op_, kind, name, fmt::join(used_, ", ")));
    };
    for (const auto& [name, value] : inputs_) check("input", name);
    for (const NamedArray& constant : constants_) check("constant", constant.name);
    for (const auto& [name, value] : attributes_) check("attribute", name);
}

template class Arguments<double>;
template class Arguments<float>;
template class Arguments<half>;
template class Arguments<bfloat16>;

} // namespace chalkgrad
