// Names near a mistyped one.
#include <chalkgrad/autograd/base/suggest.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/base/error.hpp>

namespace chalkgrad {
namespace {

/// Edit distance with swaps of neighbours (Damerau's, each place edited once).
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i)
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[a.size()][b.size()];
}

} // namespace

std::vector<std::string> close_names(std::string_view word, const std::vector<std::string>& names) {
    if (word.size() > 100) return {};
    std::vector<std::pair<std::size_t, std::string>> near;
    for (const std::string& name : names) {
        const std::size_t apart = distance(word, name);
        const bool holds =
            word.size() >= 3 && (name.find(word) != std::string::npos || word.find(name) != std::string_view::npos);
        if (apart <= 1 + std::min(word.size(), name.size()) / 4 || holds) near.emplace_back(apart, name);
    }
    std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> close;
    for (const auto& [apart, name] : near)
        if (close.size() < 3) close.push_back(name);
    return close;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
    const std::vector<std::string> close = close_names(word, names);
    return close.empty() ? "" : fmt::format("; did you mean {}?", fmt::join(close, ", "));
}

void refuse_name(
    std::string_view name, const std::vector<std::string>& names, std::string_view lead, std::string_view list) {
    throw Error(fmt::format("{} '{}'{}; '{}' shows them all", lead, name, did_you_mean(name, names), list));
}

} // namespace chalkgrad
