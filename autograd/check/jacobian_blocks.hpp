// The Jacobian of a program under check, by pairs of output and input, as each oracle sees it.
#pragma once // internal

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <new>
#include <vector>

#include <chalkgrad/autograd/check/checked_program.hpp>
#include <chalkgrad/autograd/tape/pool.hpp>

namespace chalkgrad::detail {

/// Memory that the next check of this thread uses again: to get it anew from the system costs more than to fill it. Large blocks
/// go back at once.
template <class T> struct Recycled {
    using value_type = T;
    static constexpr std::size_t largest = std::size_t(1) << 20; // bytes

    Recycled() = default;
    template <class U> Recycled(const Recycled<U>&) {}
    T* allocate(std::size_t n) {
        const std::size_t bytes = n * sizeof(T);
        return static_cast<T*>(bytes <= largest ? scratch_pool().take(bytes) : ::operator new(bytes));
    }
    void deallocate(T* p, std::size_t n) {
        if (n * sizeof(T) <= largest) scratch_pool().give(p, n * sizeof(T));
        else ::operator delete(p);
    }
    bool operator==(const Recycled&) const { return true; }
};
template <class T> using Recycling = std::vector<T, Recycled<T>>;
using Matrix = Recycling<double>;

/// The columns of a row that its output element may depend on: `count` from `first` on. Their numbers lie from `at` on.
struct Span {
    std::size_t first = 0, count = 0, at = 0;

    bool holds(std::size_t column) const { return column - first < count; }
    bool meets(const Span& other) const {
        return std::max(first, other.first) < std::min(first + count, other.first + other.count);
    }
    std::size_t operator[](std::size_t column) const { return at + column - first; }
};

/// The numbers of one (output, input) pair: rows are output elements, columns input elements. Only spans are stored: outside
/// them the Jacobian is 0, forwards and backwards (structure.cpp).
struct Block {
    std::size_t output = 0, input = 0; ///< positions in the caller's lists
    std::size_t rows = 0, columns = 0;
    std::vector<Span> spans; ///< by row
    Matrix analytic, numeric, error, dual;
    Matrix nearby;              ///< working memory: the backward beside the point
    Matrix input_rounding;      ///< how much rounding its inputs changes the backward's; empty: not measured
    Matrix evaluation_rounding; ///< what the backward loses in double beside long double, where that can be rounding;
                                ///< empty: not measured
    Recycling<char>
        off; ///< 1 for what is off far beyond the noise of differences, at other points too; empty: nothing is
    std::vector<double>
        rounding; ///< by row: of a slope in double, and what the forward's own rounding hides from differences
    std::vector<char> on_kink; ///< by column: 1 for a kink that an op declares, 2 for one that only differences show
    std::size_t stored() const { return analytic.size(); }
    bool is_dense() const { return stored() == rows * columns; }
    /// Calls f(row, column, where its numbers are) for every element of the spans.
    template <class F> void each(F f) const {
        for (std::size_t i = 0; i < rows; ++i) each_of_row(i, [&](std::size_t j, std::size_t k) { f(i, j, k); });
    }
    /// The same for one row: f(column, where).
    template <class F> void each_of_row(std::size_t row, F f) const {
        const Span span = spans[row];
        for (std::size_t n = 0; n < span.count; ++n) f(span.first + n, span.at + n);
    }
    /// What element k, of row i, may be off for reasons of rounding: the backward's own, and the differences' too.
    double rounding_slack(std::size_t i, std::size_t k) const {
        return rounding[i] + (input_rounding.empty() ? 0 : 30 * input_rounding[k]) +
               (evaluation_rounding.empty() ? 0 : evaluation_rounding[k]);
    }
    double slack(std::size_t i, std::size_t k) const { return 10 * error[k] + rounding_slack(i, k); }
    /// Whether element k, of row i, is off by more than rounding, of differences or of dual numbers. It is judged by `size`.
    bool is_wrong(std::size_t i, std::size_t k, double size, double tolerance) const {
        if ((!off.empty() && off[k]) || std::abs(analytic[k] - numeric[k]) > tolerance * size + slack(i, k))
            return true;
        return !dual.empty() &&
               std::abs(analytic[k] - dual[k]) >
                   tolerance * std::max(std::abs(analytic[k]), std::abs(dual[k])) + rounding_slack(i, k);
    }
};

/// The largest numbers of the rows and columns of a block, of those that are finite. An element is judged by the smaller one of
/// its own two: small slopes beside large ones are slopes too.
struct Sizes {
    Sizes(const Block& block, const Matrix& numbers);

    std::vector<double> row, column;
    double of(std::size_t i, std::size_t j) const { return std::min(row[i], column[j]); }
    double largest() const { return row.empty() ? 0 : *std::max_element(row.begin(), row.end()); }
};

/// By input the spans of all output elements, one output behind the other; nothing for an input that all of them may depend on.
using Structure = std::vector<std::vector<Span>>;

/// The blocks of all pairs, output by output.
struct Jacobians {
    Jacobians() = default;
    Jacobians(const CheckedProgram& program, const Structure& structure);

    std::vector<Block> blocks;
    std::size_t inputs = 0;

    Block& block(std::size_t output, std::size_t input) { return blocks[output * inputs + input]; }
    const Block& block(std::size_t output, std::size_t input) const { return blocks[output * inputs + input]; }
};

/// Calls f(block, row in the block, row of all outputs) for every output element beside input x.
template <class Blocks, class F> void each_row(Blocks& jacobians, std::size_t x, F f) {
    std::size_t row = 0;
    for (std::size_t at = x; at < jacobians.blocks.size(); at += jacobians.inputs) {
        auto& b = jacobians.blocks[at];
        for (std::size_t i = 0; i < b.rows; ++i, ++row) f(b, i, row);
    }
}

} // namespace chalkgrad::detail
