// Additive masks for attention scores and softmax: 0 where a key is seen, −inf where it is hidden.
#pragma once

#include <vector>

#include <chalkgrad/autograd/base/array.hpp>

namespace chalkgrad {

/// (queries, keys): query i, which stands at position offset + i, sees the keys j <= offset + i. With a cache of earlier keys,
/// offset is their number.
Array<double> causal_mask(std::size_t queries, std::size_t keys, std::size_t offset = 0);
/// Square: (tokens, tokens).
inline Array<double> causal_mask(std::size_t tokens) { return causal_mask(tokens, tokens); }

/// Causal, and of those keys only the last `window`, the query's own position among them: j > offset + i − window. Throws
/// Error for a window of 0, which hides everything.
Array<double> window_mask(std::size_t queries, std::size_t keys, std::size_t window, std::size_t offset = 0);

/// (batch, 1, 1, keys), for scores (batch, heads, queries, keys): of sequence b the first lengths[b] keys are seen, the
/// rest is padding. Throws Error for a length above `keys`.
Array<double> padding_mask(const std::vector<std::size_t>& lengths, std::size_t keys);

/// Any mask, from what is visible. Masks add up: causal_mask(t) + padding_mask(lengths, t) hides what either hides.
Array<double> mask_from(const Array<bool>& visible);

} // namespace chalkgrad
