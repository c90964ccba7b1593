// Vars and tapes as text.
#include <algorithm>
#include <array>
#include <ostream>
#include <tuple>

#include <chalkgrad/autograd/tape/numbers.hpp>

namespace chalkgrad {
namespace {

/// Printed width: code points, as UTF-8 continuation bytes take no column.
std::size_t width(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

} // namespace

template <class T> std::ostream& operator<<(std::ostream& out, const Var<T>& x) {
    if (!x) return out << "Var (not set)";
    const std::string name = x.name();
    out << (name.empty() ? "line " + std::to_string(x.line()) : name) << ' ' << x.shape() << ' '
        << chalkgrad::name(dtype_of<T>);
    if (x.tape().shapes_only()) return out << ", shape only";
    return out << '\n' << to_string(x.shape(), values_of(x.tape(), x.line()));
}

#define CHALKGRAD_INSTANTIATE(T) template std::ostream& operator<<(std::ostream&, const Var<T>&);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

std::vector<TapeRow> table_of(const Tape& tape) {
    std::vector<TapeRow> rows{{"line", "name", "op", "inputs", "shape", "value", "gradient", "scope"}};
    for (std::size_t i = 0; i < tape.size(); ++i) {
        const Line line = tape.line(i);
        std::string inputs;
        for (const std::ptrdiff_t input : line.inputs)
            inputs += (inputs.empty() ? "" : " ") + (input < 0 ? "–" : std::to_string(input));
        const auto gradient = gradient_of(tape, i);
        rows.push_back({std::to_string(i), line.name, line.kind == Line::Kind::op ? line.op : name(line.kind), inputs,
            to_string(line.shape) + (line.dtype == Dtype::f64 ? "" : std::string(" ") + name(line.dtype)),
            tape.shapes_only() ? "shape only" : to_string(summarize(values_of(tape, i))),
            gradient ? to_string(summarize(*gradient)) : "not computed", tape.state()->scope_path(line.scope)});
    }
    return rows;
}

std::ostream& operator<<(std::ostream& out, const Tape& tape) {
    const std::vector<TapeRow> rows = table_of(tape);
    constexpr std::size_t columns = std::tuple_size_v<TapeRow>;
    std::array<std::size_t, columns> widths{};
    std::array<bool, columns> unused{};
    for (std::size_t k = 0; k < columns; ++k) {
        for (const TapeRow& row : rows) widths[k] = std::max(widths[k], width(row[k]));
        unused[k] = std::all_of(rows.begin() + 1, rows.end(), [k](const TapeRow& row) { return row[k].empty(); });
    }
    for (const TapeRow& row : rows) {
        std::string text;
        for (std::size_t k = 0; k < columns; ++k) {
            if (unused[k]) continue; // no names, no scopes: no such column
            text += row[k] + std::string(widths[k] - width(row[k]) + 2, ' ');
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out << text << '\n';
    }
    return out;
}

} // namespace chalkgrad
