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
    const Block* const blocks = &j.block(y, 0); // by input
    const bool all_alone =
        std::any_of(blocks, blocks + j.inputs, [](const Block& b) { return b.columns > 0 && b.is_dense(); });
    std::vector<std::vector<std::size_t>> sweeps;
    for (std::size_t i = 0; i < blocks->rows; ++i) {
        const auto meets = [&](std::size_t other) {
            return std::any_of(
                blocks, blocks + j.inputs, [&](const Block& b) { return b.spans[i].meets(b.spans[other]); });
        };
        const auto sweep = all_alone ? sweeps.end() : std::find_if(sweeps.begin(), sweeps.end(), [&](const auto& rows) {
            return std::none_of(rows.rbegin(), rows.rend(), meets); // neighbours are the likeliest to meet
        });
        if (sweep == sweeps.end()) sweeps.push_back({i});
        else sweep->push_back(i);
    }
    return sweeps;
}

} // namespace chalkgrad::detail
