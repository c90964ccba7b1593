// Means, deviations and quantiles over runs.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/experiments/report/parallel.hpp>
#include <chalkgrad/experiments/report/seeds.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace chalkgrad {
namespace {

/// Of sorted values; 0 <= q <= 1.
double quantile(const std::vector<double>& sorted, double q) {
    const double at = q * static_cast<double>(sorted.size() - 1);
    const std::size_t below = static_cast<std::size_t>(at), above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

void add_point(Series& curve, double x, std::vector<double> values, Spread spread) {
    if (spread == Spread::quantiles) {
        constexpr double NaN = std::numeric_limits<double>::quiet_NaN();
        if (std::ranges::any_of(values, [](double value) { return std::isnan(value); }))
            return curve.add(x, NaN, NaN, NaN);
        std::ranges::sort(values);
        return curve.add(x, quantile(values, 0.5), quantile(values, 0.1), quantile(values, 0.9));
    }
    const double n = static_cast<double>(values.size());
    double mean = 0, squares = 0;
    for (const double value : values) mean += value / n;
    for (const double value : values) squares += (value - mean) * (value - mean);
    const double deviation = values.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
    curve.add(x, mean, mean - deviation, mean + deviation);
}

} // namespace

uint128 parse_seed(std::string_view text, std::size_t bits) {
    std::vector<std::uint32_t> words;
    try {
        words = Seed::parse(std::string(text)).words();
    } catch (const Error&) {}
    if (words.empty() || words.size() * 32 > bits)
        throw Error(fmt::format("--seed: '{}' is no whole number from 0 to 2^{} - 1", text, bits));
    uint128 seed = 0;
    for (std::size_t i = words.size(); i-- > 0;) seed = seed << 32 | words[i];
    return seed;
}

SeedRange SeedRange::parse(std::string_view text) try {
    const std::size_t dots = text.find("..");
    if (dots == text.npos) throw Error("");
    const SeedRange range{parse_seed(text.substr(0, dots)), parse_seed(text.substr(dots + 2))};
    if (range.last < range.first || range.last - range.first >= 1'000'000) throw Error("");
    return range;
} catch (const Error&) {
    throw Error(fmt::format(
        "--seeds: '{}' is no range of seeds; give A..B, both whole numbers, B not below A and at most a million seeds",
        text));
}

std::string decimal(uint128 number) {
    std::string digits;
    do digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(number % 10)));
    while ((number /= 10) != 0);
    return digits;
}

Series banded(const std::vector<Series>& runs, Spread spread) {
    if (runs.empty()) throw Error("banded: there is no run; give at least one");
    Series curve{runs[0].name, {}, {}, runs[0].mark};
    for (const Series& run : runs)
        if (run.x != runs[0].x || run.y.size() != run.x.size())
            throw Error(fmt::format(
                "banded: the runs of '{}' have different x; let every seed measure at the same places", run.name));
    for (std::size_t k = 0; k < runs[0].x.size(); ++k) {
        std::vector<double> values;
        for (const Series& run : runs) values.push_back(run.y[k]);
        add_point(curve, runs[0].x[k], std::move(values), spread);
    }
    return curve;
}

std::vector<Series> over_seeds(
    uint128 first, uint128 last, const std::function<std::vector<Series>(uint128 seed)>& f, Spread spread) {
    if (last < first) throw Error(fmt::format("over_seeds: no seeds from {} to {}", decimal(first), decimal(last)));
    std::vector<std::vector<Series>> of_seed(SeedRange{first, last}.size());
    parallel_for(of_seed.size(), [&](std::size_t i) { of_seed[i] = f(first + i); });
    std::vector<Series> curves;
    for (std::size_t c = 0; c < of_seed[0].size(); ++c) {
        std::vector<Series> runs;
        for (const std::vector<Series>& each : of_seed) {
            if (each.size() != of_seed[0].size())
                throw Error(
                    fmt::format("over_seeds: one seed gives {} curves, another {}", of_seed[0].size(), each.size()));
            runs.push_back(each[c]);
        }
        curves.push_back(banded(runs, spread));
    }
    return curves;
}

} // namespace chalkgrad
