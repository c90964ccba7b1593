// What the commands on checkpoints share: the ids of a text, the scalar, and the changes.
#pragma once // internal

#include <charconv>

#include <fmt/ranges.h>

#include <chalkgrad/autograd/numpy/npy.hpp>
#include <chalkgrad/experiments/checkpoint/changes.hpp>
#include <chalkgrad/experiments/checkpoint/tokens.hpp>
#include <chalkgrad/experiments/program/commands.hpp>

namespace chalkgrad {

/// f(T()) for the scalar of that name.
template <class F> auto with_dtype(const std::string& who, const std::string& word, F&& f) {
    if (word == "double") return f(double());
    if (word == "float") return f(float());
    if (word == "half") return f(half());
    if (word == "bfloat16") return f(bfloat16());
    throw Error(fmt::format("{}: there is no dtype '{}'; choose double, float, half or bfloat16{}", who, word,
        did_you_mean(word, {"double", "float", "half", "bfloat16"})));
}

/// Ids as the command line gives them: 1,403,… or a file, or a text that the checkpoint's table encodes; at most one of them.
/// Nothing where none is given.
inline std::optional<Array<std::int64_t>> given_ids(const std::string& who, const nn::Checkpoint& model,
    const std::optional<TokenTable>& table, const Word& ids, const Word& text) {
    if (ids && text) throw Error(who + ": --ids and --text are both given; keep one");
    std::vector<std::int64_t> list;
    if (text) {
        if (!table)
            throw Error(fmt::format("{}: '{}' has no tokens.json, so a text is not encoded; give --ids 1,403,…", who,
                model.folder.string()));
        if (model.context != 0 && text->size() / std::max<std::size_t>(table->longest, 1) > model.context)
            throw Error(fmt::format("{}: the text has {} bytes, more than a context of {} tokens can hold", who,
                text->size(), model.context));
        list = table->encode(*text);
    } else if (!ids) {
        return {};
    } else if (ids->ends_with(".npy")) {
        const Array<std::int64_t> file = load_npy<std::int64_t>(*ids);
        list.assign(file.begin(), file.end());
    } else {
        for (const char *at = ids->data(), *const end = at + ids->size(); at <= end; ++at) {
            std::int64_t id = 0;
            const auto [stop, error] = std::from_chars(at, end, id);
            if (error != std::errc() || (stop != end && *stop != ','))
                throw Error(
                    fmt::format("{}: --ids '{}' is no list of whole numbers with commas, nor FILE.npy", who, *ids));
            list.push_back(id);
            at = stop;
        }
    }
    Array<std::int64_t> array(std::vector<std::size_t>{list.size()});
    std::copy(list.begin(), list.end(), array.begin());
    model.check(array);
    return array;
}

} // namespace chalkgrad
