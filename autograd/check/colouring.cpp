// Colouring of rows and columns, first fit.
#include <chalkgrad/autograd/check/colouring.hpp>

#include <algorithm>
#include <numeric>

namespace chalkgrad::detail {
namespace {

/// Whether an output element depends on every element of input x, as the backward has it: then no columns can share a run.
bool some_output_depends_on_all(const Jacobians& j, std::size_t x) {
    for (std::size_t y = 0; y < j.blocks.size() / j.inputs; ++y) {
        const Block& b = j.block(y, x);
        for (const Span& span : b.spans) {
            const double* row = b.analytic.data() + span.at;
            if (span.count == b.columns && std::find(row, row + span.count, 0.) == row + span.count) return true;
        }
    }
    return false;
}

} // namespace

std::vector<ColumnColour> colour_columns(const Jacobians& jacobians, std::size_t x) {
    const std::size_t outputs = jacobians.blocks.size() / jacobians.inputs;
    const std::size_t columns = jacobians.block(0, x).columns;
    std::vector<ColumnColour> colours;
    if (some_output_depends_on_all(jacobians, x)) {
        for (std::size_t j = 0; j < columns; ++j) colours.push_back({{j}, {}});
        return colours;
    }
    // The rows that column j reaches are rows[begin[j]], …, rows[begin[j + 1] − 1]; first begin[j + 2] counts them.
    std::vector<std::size_t> begin(columns + 2, 0);
    for (std::size_t y = 0; y < outputs; ++y) {
        const Block& b = jacobians.block(y, x);
        b.each([&](std::size_t, std::size_t j, std::size_t k) { begin[j + 2] += b.analytic[k] != 0; });
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    Recycling<std::uint32_t> rows(begin.back());
    std::size_t row = 0;
    for (std::size_t y = 0; y < outputs; row += jacobians.block(y, x).rows, ++y) {
        const Block& b = jacobians.block(y, x);
        b.each([&](std::size_t i, std::size_t j, std::size_t k) {
            if (b.analytic[k] != 0) rows[begin[j + 1]++] = static_cast<std::uint32_t>(row + i);
        });
    }
    for (std::size_t j = 0; j < columns; ++j) {
        const std::uint32_t *first = rows.data() + begin[j], *last = rows.data() + begin[j + 1];
        const auto free = [&](const ColumnColour& g) {
            return std::all_of(first, last, [&](std::uint32_t r) { return g.owner[r] == nobody; });
        };
        auto colour = std::find_if(colours.begin(), colours.end(), free);
        if (colour == colours.end())
            colour = colours.insert(colour, ColumnColour{{}, Recycling<std::uint32_t>(row, nobody)});
        colour->columns.push_back(j);
        for (const std::uint32_t* r = first; r != last; ++r) colour->owner[*r] = static_cast<std::uint32_t>(j);
    }
    return colours;
}

// A row joins the first sweep none of whose rows shares an input element with it.
std::vector<std::vector<std::size_t>> colour_rows(const Jacobians& j, std::size_t y) {
    const auto block = [&](std::size_t x) -> const Block& { return j.block(y, x); };
    std::size_t columns = 0;
    bool all_alone = false;
    for (std::size_t x = 0; x < j.inputs; ++x) {
        columns += block(x).columns;
        all_alone = all_alone || (block(x).columns > 0 && block(x).is_dense());
    }
    std::vector<std::vector<std::size_t>> sweeps;
    std::vector<std::vector<char>> taken; // by sweep: the elements of all inputs, one behind the other
    for (std::size_t i = 0; i < block(0).rows; ++i) {
        const auto each_span = [&](std::vector<char>& of, auto f) {
            auto at = of.begin();
            for (std::size_t x = 0; x < j.inputs; at += static_cast<std::ptrdiff_t>(block(x).columns), ++x) {
                const Span& span = block(x).spans[i];
                const auto begin = at + static_cast<std::ptrdiff_t>(span.first);
                if (!f(begin, begin + static_cast<std::ptrdiff_t>(span.count))) return false;
            }
            return true;
        };
        std::size_t sweep = all_alone ? i : 0;
        while (sweep < sweeps.size() &&
               !each_span(taken[sweep], [](auto begin, auto end) { return std::find(begin, end, 1) == end; }))
            ++sweep;
        if (sweep == sweeps.size()) {
            sweeps.emplace_back();
            taken.emplace_back(all_alone ? 0 : columns, 0);
        }
        sweeps[sweep].push_back(i);
        if (all_alone) continue;
        each_span(taken[sweep], [](auto begin, auto end) {
            std::fill(begin, end, 1);
            return true;
        });
    }
    return sweeps;
}

} // namespace chalkgrad::detail
