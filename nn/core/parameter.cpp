// Parameters and how they come onto a tape.
#include <chalkgrad/nn/core/parameter.hpp>

#include <unordered_set>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/kernel/convert.hpp>

namespace chalkgrad::nn {
namespace {

std::size_t row_count(const Shape& shape) { return shape.rank() == 0 ? 1 : shape[0]; }

template <class T> void round_to(std::size_t n, const double* from, T* to) {
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) convert(n, from, to);
    else std::transform(from, from + n, to, [](double number) { return static_cast<T>(number); });
}

template <class T> Var<T> leaf(const Tape& tape, const Parameter& parameter) {
    const Shape& shape = parameter.shape();
    const bool learned = parameter.learned(), read_anew = parameter.has_source();
    if (tape.shapes_only()) return tape.leaf<T>(shape, nullptr, learned, parameter.name());
    if constexpr (std::is_same_v<T, double>)
        if (!read_anew) return tape.leaf<T>(shape, parameter.value().data(), learned, parameter.name());
    std::vector<T> rounded(shape.size());
    if (!read_anew) {
        round_to(shape.size(), parameter.value().data(), rounded.data());
    } else { // in parts: all of it in double would take more room than the numbers themselves
        const std::size_t rows = row_count(shape), row = rows == 0 ? 0 : shape.size() / rows;
        const std::size_t step = std::max<std::size_t>((std::size_t(1) << 20) / std::max<std::size_t>(row, 1), 1);
        for (std::size_t first = 0; first < rows; first += step) {
            const Array<double> part = parameter.rows(first, std::min(step, rows - first));
            round_to(part.size(), part.data(), rounded.data() + first * row);
        }
    }
    return tape.leaf<T>(shape, rounded.data(), learned, parameter.name());
}

} // namespace

Parameter::Parameter(std::string name, const Shape& shape, std::string component, const Init& init, bool learned)
    : state_(
          std::make_shared<State>(State{std::move(name), std::move(component), shape, init, learned, false, {}, {}})) {}

const Array<double>& Parameter::value() const {
    if (!*this) throw Error("parameter: it is absent and has no numbers");
    if (!has_value())
        throw Error(
            fmt::format("parameter: '{}' of shape {} has no numbers; call initialize() on the module, or assign()",
                name(), to_string(shape())));
    if (has_source()) assign(rows(0, row_count(shape())));
    return state_->value;
}

Array<double> Parameter::rows(std::size_t first, std::size_t count) const {
    const std::size_t all = *this ? row_count(shape()) : 0;
    if (!*this || first > all || count > all - first)
        throw Error(fmt::format("parameter: rows {} to {} of '{}' are asked for; it has {}", first, first + count,
            *this ? name() : "an absent one", all));
    std::vector<std::size_t> extents(shape().begin(), shape().end());
    if (!extents.empty()) extents[0] = count;
    Array<double> part(extents);
    if (has_source()) {
        state_->source(first, count, part.data());
    } else {
        const std::size_t row = all == 0 ? 0 : shape().size() / all;
        std::copy_n(value().data() + first * row, count * row, part.data());
    }
    return part;
}

void Parameter::assign(const Array<double>& value) const {
    if (!*this) throw Error("parameter: it is absent and takes no numbers");
    if (const Shape given(value.shape()); !(given == shape()))
        throw Error(fmt::format("parameter: '{}' has shape {}; it was given numbers of shape {}", name(),
            to_string(shape()), to_string(given)));
    state_->value = value;
    state_->source = nullptr;
    state_->has_value = true;
}

void Parameter::read_from(Source source) const {
    if (!*this) throw Error("parameter: it is absent and takes no numbers");
    state_->value = {};
    state_->source = std::move(source);
    state_->has_value = true;
}

void Parameter::take(const Parameter& other) const {
    if (!(*this && other && other.shape() == shape() && other.has_source())) assign(other.value());
    else read_from(other.state_->source);
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
