// Builders of additive masks.
#include <chalkgrad/ops/attention/masks.hpp>

#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/error.hpp>

namespace chalkgrad {
namespace {

/// (queries, keys), from which keys query i sees.
template <class Sees> Array<double> from_rule(std::size_t queries, std::size_t keys, Sees sees) {
    Array<double> mask = Array<double>::from_shape({queries, keys});
    for (std::size_t i = 0; i < queries; ++i)
        for (std::size_t j = 0; j < keys; ++j) mask.data()[i * keys + j] = sees(i, j) ? 0 : -HUGE_VAL;
    return mask;
}

} // namespace

Array<double> causal_mask(std::size_t queries, std::size_t keys, std::size_t offset) {
    return from_rule(queries, keys, [=](std::size_t i, std::size_t j) { return j <= offset + i; });
}

Array<double> window_mask(std::size_t queries, std::size_t keys, std::size_t window, std::size_t offset) {
    if (window == 0) throw Error("window_mask: the window is 0, so no query would see a key; give at least 1");
    return from_rule(
        queries, keys, [=](std::size_t i, std::size_t j) { return j <= offset + i && offset + i - j < window; });
}

Array<double> padding_mask(const std::vector<std::size_t>& lengths, std::size_t keys) {
    Array<double> mask = Array<double>::from_shape({lengths.size(), std::size_t(1), std::size_t(1), keys});
    for (std::size_t b = 0; b < lengths.size(); ++b) {
        if (lengths[b] > keys)
            throw Error(
                fmt::format("padding_mask: sequence {} has length {}, but there are {} keys; give lengths up to that",
                    b, lengths[b], keys));
        for (std::size_t j = 0; j < keys; ++j) mask.data()[b * keys + j] = j < lengths[b] ? 0 : -HUGE_VAL;
    }
    return mask;
}

Array<double> mask_from(const Array<bool>& visible) {
    Array<double> mask(visible.shape());
    for (std::size_t i = 0; i < visible.size(); ++i) mask.data()[i] = visible.data()[i] ? 0 : -HUGE_VAL;
    return mask;
}

} // namespace chalkgrad
