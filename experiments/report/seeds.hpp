// Runs over many seeds: side by side, then curves with bands and numbers with their spread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <chalkgrad/autograd/numpy/pcg64.hpp>
#include <chalkgrad/experiments/report/plot.hpp>

namespace chalkgrad {

/// Seeds from `first` to `last`, both included: "3..10".
struct SeedRange {
    uint128 first = 0, last = 0;

    std::size_t size() const { return static_cast<std::size_t>(last - first) + 1; }
    /// Throws Error for a text that is no such range, or one of more than a million seeds.
    static SeedRange parse(std::string_view text);
};

/// What `--seed` takes. Throws Error for a text that is no whole number below 2^bits.
uint128 parse_seed(std::string_view text, std::size_t bits = 128);

/// A seed in decimal digits.
std::string decimal(uint128 number);

/// What a curve with a band is of many: mean and mean ± standard deviation (of a sample: n − 1), or median and the quantiles of
/// 10 % and 90 % (between two values as NumPy takes it, linearly). One NaN makes all three NaN, as in NumPy.
enum class Spread { deviation, quantiles };

/// One curve with a band, from runs with the same x. Throws Error for no run at all and for x that differ.
Series banded(const std::vector<Series>& runs, Spread spread = Spread::deviation);

/// f(seed) for each seed from `first` to `last`, both included, on all processors. The curves in one place of each list become one
/// with a band; the result does not depend on the number of threads. Throws what f throws, and Error for lists of different
/// lengths.
std::vector<Series> over_seeds(uint128 first, uint128 last, const std::function<std::vector<Series>(uint128 seed)>& f,
    Spread spread = Spread::deviation);

/// The same for a function that gives one curve.
template <class F>
requires std::is_same_v<std::invoke_result_t<F, uint128>, Series> Series over_seeds(
    uint128 first, uint128 last, F f, Spread spread = Spread::deviation) {
    return over_seeds(
        first, last, [&](uint128 seed) { return std::vector<Series>{f(seed)}; }, spread)
        .front();
}

} // namespace chalkgrad
