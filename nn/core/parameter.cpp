// Parameters and how they come onto a tape.
#include <chalkgrad/nn/core/parameter.hpp>

#include <unordered_set>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/kernel/convert.hpp>

namespace chalkgrad::nn {
namespace {

template <class T> Var<T> leaf(const Tape& tape, const Parameter& parameter) {
    const Shape& shape = parameter.shape();
    const bool learned = parameter.learned();
    if (tape.shapes_only()) return tape.leaf<T>(shape, nullptr, learned, parameter.name());
    const double* const numbers = parameter.value().data();
    if constexpr (std::is_same_v<T, double>) {
        return tape.leaf<T>(shape, numbers, learned, parameter.name());
    } else {
        std::vector<T> rounded(shape.size());
        if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>)
            convert(shape.size(), numbers, rounded.data());
        else
            std::transform(
                numbers, numbers + shape.size(), rounded.begin(), [](double number) { return static_cast<T>(number); });
        return tape.leaf<T>(shape, rounded.data(), learned, parameter.name());
    }
}

} // namespace

Parameter::Parameter(std::string name, const Shape& shape, std::string component, const Init& init, bool learned)
    : state_(std::make_shared<State>(State{std::move(name), std::move(component), shape, init, learned, false, {}})) {}

const Array<double>& Parameter::value() const {
    if (!*this) throw Error("parameter: it is absent and has no numbers");
    if (!has_value())
        throw Error(
            fmt::format("parameter: '{}' of shape {} has no numbers; call initialize() on the module, or assign()",
                name(), to_string(shape())));
    return state_->value;
}

void Parameter::assign(const Array<double>& value) const {
    if (!*this) throw Error("parameter: it is absent and takes no numbers");
    if (const Shape given(value.shape()); !(given == shape()))
        throw Error(fmt::format("parameter: '{}' has shape {}; it was given numbers of shape {}", name(),
            to_string(shape()), to_string(given)));
    state_->value = value;
    state_->has_value = true;
}

void initialize(const std::vector<NamedParameter>& parameters, Generator& rng) {
    std::unordered_set<const void*> done;
    for (const auto& [name, parameter] : parameters)
        if (done.insert(parameter.id()).second) parameter.assign(parameter.init().draw(parameter.shape(), rng));
}

void initialize_for_check(const std::vector<NamedParameter>& parameters, Generator& rng) {
    initialize(parameters, rng);
    std::unordered_set<const void*> done;
    for (const auto& [name, parameter] : parameters) {
        if (parameter.init().kind != Init::Kind::constant || !done.insert(parameter.id()).second) continue;
        Array<double> value = parameter.value();
        const Array<double> noise = rng.normal(0, 0.3, parameter.shape());
        for (std::size_t i = 0; i < value.size(); ++i) value.data()[i] += noise.data()[i];
        parameter.assign(value);
    }
}

template <class T> Var<T> Binding<T>::operator()(const Parameter& parameter) {
    if (!parameter) return {};
    const auto [place, is_new] = index_.try_emplace(parameter.id(), bound_.size());
    if (is_new) {
        try {
            bound_.push_back({parameter, leaf<T>(tape_, parameter)});
        } catch (...) {
            index_.erase(place);
            throw;
        }
    }
    return bound_[place->second].line;
}

template <class T> void Binding<T>::bind(const Parameter& parameter, const Var<T>& line) {
    if (!(line.shape() == parameter.shape()))
        throw Error(fmt::format("parameter: '{}' has shape {}; a line of shape {} cannot stand for it",
            parameter.name(), to_string(parameter.shape()), to_string(line.shape())));
    if (!index_.try_emplace(parameter.id(), bound_.size()).second)
        throw Error(fmt::format("parameter: '{}' is on the tape already; bind it before it is used", parameter.name()));
    bound_.push_back({parameter, line});
}

template <class T> std::vector<Var<T>> Binding<T>::variables() const {
    std::vector<Var<T>> lines;
    for (const Bound& bound : bound_)
        if (bound.parameter.learned()) lines.push_back(bound.line);
    return lines;
}

#define CHALKGRAD_INSTANTIATE(T) template class Binding<T>;
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

} // namespace chalkgrad::nn
