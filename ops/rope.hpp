// Rotary position embedding: turns pairs of features by an angle that grows with the position of the token.
#pragma once

#include <optional>

#include <chalkgrad/autograd/tape.hpp>

namespace chalkgrad {

/// Which features make a pair, of r rotated ones: half takes i and i + r/2 (Llama, GPT-NeoX), interleaved 2i and 2i + 1
/// (RoFormer). These are different functions of the same weights.
enum class RopeStyle { half, interleaved };

struct RopeOptions {
    RopeStyle style = RopeStyle::half;
    double base = 10000;
    std::ptrdiff_t offset = 0;               ///< position of the first token
    std::optional<std::size_t> rotary_dim{}; ///< r: how many leading features turn; all if absent
};

/// Pair i of token t turns by (offset + t) base^(−2i/r): (a, b) → (a cos − b sin, a sin + b cos) (Su et al. 2021).
/// x (…, T, D), tokens on the last axis but one; y the same shape; features from r on are copied. Throws Error for an x of
/// fewer than two axes, an odd or zero r or one beyond D, and a base that is not finite and positive.
template <class T>
Var<T> rope(const Var<T>& x, const RopeOptions& options = {});

/// The same from products with constants: x C + (x R) S, R putting each feature's partner in its place.
template <class T>
Var<T> rope_composed(const Var<T>& x, const RopeOptions& options = {});

} // namespace chalkgrad
