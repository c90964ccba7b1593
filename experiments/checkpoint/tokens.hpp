// A table of pieces of text, tokens.json: texts to the ids that a model reads, and back.
#pragma once // internal

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace chalkgrad {

struct TokenTable {
    std::vector<std::string> pieces; ///< <0x41> is a byte that no other piece has
    std::vector<double> scores;      ///< of two neighbours, those with the best joined piece are joined first
    std::int64_t bos = 0, eos = 0;
    std::unordered_map<std::string, std::int64_t> ids;
    std::size_t longest = 0; ///< bytes of a piece

    /// BOS, then the text with a space in front. Throws Error for a text with bytes that the table has no piece for.
    std::vector<std::int64_t> encode(std::string_view text) const;
    /// What an id adds to the text, after the one before it: nothing for BOS and EOS; without its space right after BOS.
    std::string decode(std::int64_t id, std::int64_t before) const;
    std::string decode(const std::vector<std::int64_t>& list) const;
};

/// That of a checkpoint's folder; nothing where it has none. Throws Error for one that is damaged, or does not have as many pieces
/// as the vocabulary.
std::optional<TokenTable> read_tokens(const std::filesystem::path& folder, std::int64_t vocabulary);

} // namespace chalkgrad
