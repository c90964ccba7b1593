// Rotary position embedding: turns pairs of features by an angle that grows with the position of the token.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// Which features make a pair, of r rotated ones: halves takes i and i + r/2 (Llama, GPT-NeoX), interleaved 2i and 2i + 1
/// (RoFormer). These are different functions of the same weights.
enum class RopeStyle { halves, interleaved };

/// How angles are slowed for texts longer than those of the training. Of a pair that turns n times within `context` tokens, a share k
/// of its speed is kept and the rest divided by `factor`. linear: k = 0 (position interpolation, Chen et al. 2023). llama3: k rises from
/// 0 at n = slow to 1 at n = fast, linearly in n (Llama 3.1). yarn: the same, linearly in the number of the pair (Peng et al. 2024).
struct RopeScaling {
    enum class Kind { none, linear, llama3, yarn };
    Kind kind = Kind::none;
    double factor = 1;
    double context = 0;        ///< tokens of the training; llama3 and yarn
    double slow = 1, fast = 4; ///< turns within them; YaRN's paper has 1 and 32
    bool whole_pairs = true;   ///< yarn: the rise begins and ends at whole pairs
    double magnitude = 1;      ///< of cos and sin: YaRN's attention factor
    bool operator==(const RopeScaling&) const = default;
};
/// "none", "linear", "llama3", "yarn", and the kind of that name; nothing for other words.
const char* name(RopeScaling::Kind kind);
std::optional<RopeScaling::Kind> stretch_named(std::string_view word);

struct RopeOptions {
    RopeStyle style = RopeStyle::halves;
    double base = 10000;
    std::ptrdiff_t offset = 0;               ///< position of the first token
    std::optional<std::size_t> rotary_dim{}; ///< r: how many leading features turn; all if absent
    RopeScaling stretch{};
};

/// By how much each pair of r features turns from token to token, in radians: base^(−2i/r), stretched.
std::vector<double> rope_speeds(const RopeOptions& options, std::size_t r);

/// Pair i of token t turns by (offset + t) base^(−2i/r): (a, b) → (a cos − b sin, a sin + b cos) (Su et al. 2021); a stretch slows it.
/// x (…, T, D), tokens on the last axis but one; y the same shape; features from r on are copied. Throws Error for an x of
/// fewer than two axes, an odd or zero r or one beyond D, a base that is not finite and
/// positive, and a stretch whose numbers are not, or are out of order.
template <class T> Var<T> rope(const Var<T>& x, const RopeOptions& options = {});

/// The same from products with constants: x C + (x R) S, R putting each feature's partner in its place.
template <class T> Var<T> rope_composed(const Var<T>& x, const RopeOptions& options = {});

} // namespace chalkgrad
