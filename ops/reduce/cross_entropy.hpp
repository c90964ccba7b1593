// Cross-entropy of logits with known classes: the loss of a language model.
#pragma once

#include <cstdint>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

enum class LossReduction { mean, sum };

/// Mean or sum over tokens of −log softmax(logits)[target], in nats: one number. logits (…, V); targets (…), class numbers, or
/// ignore_index for tokens that do not count; the mean is over those that do. Where none counts, the sum is 0 with gradients
/// of 0, and the mean is refused. Throws Error for that, for other shapes, and for a target outside 0 … V − 1.
template <class T>
Var<T> cross_entropy(const Var<T>& logits, const Array<std::int64_t>& targets,
    LossReduction reduction = LossReduction::mean, std::int64_t ignore_index = -100);

/// The same from primitive ops.
template <class T>
Var<T> cross_entropy_composed(const Var<T>& logits, const Array<std::int64_t>& targets,
    LossReduction reduction = LossReduction::mean, std::int64_t ignore_index = -100);

} // namespace chalkgrad
