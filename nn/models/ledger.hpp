// The parameter ledger of a described model, and the formulas behind its numbers (course §10).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <chalkgrad/nn/models/description.hpp>

namespace chalkgrad::nn {

struct BlockCount {
    std::string first;       ///< path of the first such layer
    std::int64_t count;      ///< layers
    std::int64_t parameters; ///< of one
    std::string formula;     ///< "2dHh + 2dKh + 3df + 2d"
    std::string in_width;    ///< the same over d: "13d² + 2d"; empty where the coefficients are no short numbers
};

/// A letter of the formulas and what it stands for.
struct Letter {
    char letter;
    std::string_view meaning;
    std::int64_t value;
};

struct StoredTensor {
    std::string name;
    std::int64_t elements;
};

/// Numbers of elements. Activations, caches and rotary tables are in none of them.
struct ModelLedger {
    std::int64_t distinct = 0;         ///< learned numbers, each tensor once
    std::int64_t stored_aliases = 0;   ///< what a checkpoint may hold a second time
    std::int64_t buffers = 0;          ///< stored numbers that no gradient reaches
    std::int64_t active_per_token = 0; ///< distinct without the experts that a token does not choose
    std::vector<std::pair<std::string, std::int64_t>> components; ///< sum: distinct
    std::vector<StoredTensor> tied, kept;                         ///< sums: stored_aliases, buffers
    std::vector<BlockCount> blocks;
    std::vector<Letter> letters;
    std::string
        formula; ///< of the whole: "2Vd + 32(2dHh + 2dKh + 3df + 2d) + d = 2Vd + 32(13d² + 2d) + d = 8,030,261,248"
};

/// Throws Error when a count exceeds 2^63.
ModelLedger model_ledger(const ModelDescription& model);

} // namespace chalkgrad::nn
