// Byte-pair merges by score, and their way back.
#include <chalkgrad/experiments/checkpoint/tokens.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>

namespace chalkgrad {
namespace {

/// How many bytes the character at the front has; a broken one is a byte by itself.
std::size_t character_length(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    for (std::size_t i = 1; i < length; ++i)
        if (i == text.size() || (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 1;
    return length;
}

std::string byte_piece(char byte) { return fmt::format("<0x{:02X}>", static_cast<unsigned char>(byte)); }

} // namespace

std::vector<std::int64_t> TokenTable::encode(std::string_view text) const {
    std::vector<std::int64_t> list;
    const std::string spaced = text.empty() ? std::string() : " " + std::string(text);
    for (std::string_view rest = spaced; !rest.empty();) {
        const std::string_view character = rest.substr(0, character_length(rest));
        rest.remove_prefix(character.size());
        if (const auto known = ids.find(std::string(character)); known != ids.end()) {
            list.push_back(known->second);
            continue;
        }
        for (const char byte : character) {
            const auto known = ids.find(byte_piece(byte));
            if (known == ids.end())
                throw Error(
                    fmt::format("tokens.json has no piece for '{}', nor for its byte {}; write the text without it",
                        character, byte_piece(byte)));
            list.push_back(known->second);
        }
    }
    const auto joined = [&](std::size_t i) {
        return ids.find(pieces[static_cast<std::size_t>(list[i])] + pieces[static_cast<std::size_t>(list[i + 1])]);
    };
    for (;;) {
        std::optional<std::size_t> best;
        std::int64_t id = 0;
        for (std::size_t i = 0; i + 1 < list.size(); ++i) {
            const auto known = joined(i);
            if (known == ids.end()) continue;
            const double score = scores[static_cast<std::size_t>(known->second)];
            if (best && !(score > scores[static_cast<std::size_t>(id)])) continue;
            best = i;
            id = known->second;
        }
        if (!best) break;
        list[*best] = id;
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(*best) + 1);
    }
    list.insert(list.begin(), bos);
    return list;
}

std::string TokenTable::decode(std::int64_t id, std::int64_t before) const {
    if (id == bos || id == eos) return {};
    const std::string& piece = pieces.at(static_cast<std::size_t>(id));
    if (piece.size() == 6 && piece.starts_with("<0x") && piece.ends_with('>')) {
        const int byte = std::stoi(piece.substr(3, 2), nullptr, 16);
        return std::string(1, static_cast<char>(byte));
    }
    return before == bos && piece.starts_with(' ') ? piece.substr(1) : piece;
}

std::string TokenTable::decode(const std::vector<std::int64_t>& list) const {
    std::string text;
    for (std::size_t i = 0; i < list.size(); ++i) text += decode(list[i], i == 0 ? eos : list[i - 1]);
    return text;
}

std::optional<TokenTable> read_tokens(const std::filesystem::path& folder, std::int64_t vocabulary) {
    constexpr std::size_t largest = std::size_t(64) << 20;
    const std::filesystem::path path = folder / "tokens.json";
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return {};
    const nlohmann::json file = nlohmann::json::parse(read_file(path, largest), nullptr, false);
    const auto refuse = [&](const std::string& what) { throw Error(fmt::format("'{}' {}", path.string(), what)); };
    if (!file.is_object() || !file.contains("tokens") || !file["tokens"].is_array())
        refuse("is no table of tokens; it must be {\"bos\", \"eos\", \"tokens\": [{\"text\", \"score\"}]}");
    TokenTable table;
    for (const nlohmann::json& token : file["tokens"]) {
        const bool whole = token.is_object() && token.contains("text") && token["text"].is_string() &&
                           token.contains("score") && token["score"].is_number();
        if (!whole) refuse(fmt::format("has no text and score for token {}", table.pieces.size()));
        const std::string text = token["text"];
        const bool byte = text.size() == 6 && text.starts_with("<0x") && text[5] == '>';
        if (byte && text.substr(3, 2).find_first_not_of("0123456789ABCDEF") != std::string::npos)
            refuse(fmt::format("calls token {} '{}', which is no byte", table.pieces.size(), text));
        table.ids.try_emplace(text, static_cast<std::int64_t>(table.pieces.size()));
        table.longest = std::max(table.longest, text.size());
        table.pieces.push_back(text);
        table.scores.push_back(token["score"]);
    }
    if (static_cast<std::int64_t>(table.pieces.size()) != vocabulary)
        refuse(fmt::format("has {} tokens, and the model's vocabulary {}", table.pieces.size(), vocabulary));
    for (const auto& [name, id] : {std::pair("bos", &table.bos), std::pair("eos", &table.eos)}) {
        if (!file.contains(name) || !file[name].is_number_integer() || file[name] < 0 || file[name] >= vocabulary)
            refuse(fmt::format("has no '{}' that is an id", name));
        *id = file[name];
    }
    return table;
}

} // namespace chalkgrad
