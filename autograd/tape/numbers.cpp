// Reading a tape's numbers as doubles: summaries, text, and the first that is not finite.
#include <chalkgrad/autograd/tape/numbers.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/autograd/kernel/convert.hpp>
#include <chalkgrad/autograd/tape/sweep.hpp>

namespace chalkgrad {

using detail::Index;
using detail::Record;
using detail::TapeState;

namespace {

std::vector<double> as_doubles(Dtype dtype, const void* data, std::size_t n) {
    std::vector<double> numbers(n);
    const auto copy = [&](const auto* from) {
        std::transform(from, from + n, numbers.begin(), [](auto x) { return static_cast<double>(x); });
    };
    switch (dtype) {
        case Dtype::f64:
            copy(static_cast<const double*>(data));
            break;
        case Dtype::f32:
            copy(static_cast<const float*>(data));
            break;
        case Dtype::f80:
            copy(static_cast<const long double*>(data));
            break;
        case Dtype::f16:
            convert(n, static_cast<const half*>(data), numbers.data());
            break;
        case Dtype::bf16:
            convert(n, static_cast<const bfloat16*>(data), numbers.data());
            break;
        case Dtype::dual: {
            const auto* from = static_cast<const Dual<double>*>(data);
            std::transform(from, from + n, numbers.begin(), [](const Dual<double>& x) { return x.v; });
            break;
        }
    }
    return numbers;
}

const Record& record_of(const Tape& tape, std::size_t line) {
    if (line >= tape.size()) throw Error(fmt::format("line: {} of a tape of {} lines", line, tape.size()));
    return (*tape.state())[static_cast<Index>(line)];
}

void format_axis(std::string& text, const std::vector<double>& numbers, const Shape& shape, std::size_t axis,
    std::size_t begin, std::size_t run, int digits, std::size_t indent) {
    if (axis == shape.rank()) {
        text += fmt::format("{:.{}g}", numbers[begin], digits);
        return;
    }
    constexpr std::size_t edge = 3, longest = 8;
    const std::size_t extent = shape[axis], step = extent == 0 ? 0 : run / extent;
    const bool last = axis + 1 == shape.rank();
    const std::string separator = last ? ", " : ",\n" + std::string(indent + 1, ' ');
    text += "[";
    for (std::size_t i = 0; i < extent; ++i) {
        if (i > 0) text += separator;
        if (extent > longest && i == edge) {
            text += "…";
            i = extent - edge - 1;
            continue;
        }
        format_axis(text, numbers, shape, axis + 1, begin + i * step, step, digits, indent + 1);
    }
    text += "]";
}

std::optional<NonFinite> look(
    const TapeState& tape, Index i, const std::vector<double>& numbers, NonFinite::Direction direction) {
    const auto bad = std::find_if(numbers.begin(), numbers.end(), [](double x) { return !std::isfinite(x); });
    if (bad == numbers.end()) return {};
    const Record& record = tape[i];
    return NonFinite{direction, i, record.op != nullptr ? record.op->name() : "leaf",
        record.has(Record::named) ? tape.names.at(i) : "", tape.scope_path(record.scope),
        multi_index(static_cast<std::size_t>(bad - numbers.begin()), *record.shape), *bad};
}

std::optional<NonFinite> look_forward(const TapeState& tape, Index end) {
    for (Index i = 0; i < end; ++i)
        if (auto found = look(tape, i, as_doubles(tape[i].dtype, tape[i].value, tape[i].shape->size()),
                NonFinite::Direction::forward))
            return found;
    return {};
}

} // namespace

Var<double> line_at(const Tape& tape, std::size_t line) {
    return Var<double>(tape.state_ref(), static_cast<Index>(line), record_of(tape, line).epoch);
}

const char* name(Line::Kind kind) {
    return kind == Line::Kind::op ? "op" : kind == Line::Kind::variable ? "variable" : "constant";
}

std::vector<double> values_of(const Tape& tape, std::size_t line) {
    const Record& record = record_of(tape, line);
    if (tape.shapes_only())
        throw Error(
            "values_of: " + tape.state()->label(static_cast<Index>(line)) + " has no numbers: its tape is shape-only");
    return as_doubles(record.dtype, record.value, record.shape->size());
}

std::optional<std::vector<double>> gradient_of(const Tape& tape, std::size_t line) {
    const Record& record = record_of(tape, line);
    if (record.grad == nullptr) return {};
    return as_doubles(work_dtype(record.dtype), record.grad, record.shape->size());
}

Summary summarize(const std::vector<double>& numbers) {
    Summary summary;
    summary.size = numbers.size();
    if (numbers.empty()) return summary;
    summary.first = numbers.front();
    const double scale = std::abs(*std::max_element(
        numbers.begin(), numbers.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
    summary.least = HUGE_VAL;
    summary.most = -HUGE_VAL;
    double square = 0;
    for (const double x : numbers) {
        summary.not_finite += !std::isfinite(x);
        summary.least = std::min(summary.least, x);
        summary.most = std::max(summary.most, x);
        if (scale > 0) square += (x / scale) * (x / scale); // scaled: 1e200 must not overflow
    }
    summary.rms = scale * std::sqrt(square / static_cast<double>(numbers.size()));
    return summary;
}

std::string to_string(const Summary& summary) {
    if (summary.size == 0) return "empty";
    if (summary.size == 1) return fmt::format("{:.6g}", summary.first);
    if (summary.not_finite != 0) return fmt::format("{} of {} not finite", summary.not_finite, summary.size);
    return fmt::format("{:.4g} … {:.4g}, rms {:.4g}", summary.least, summary.most, summary.rms);
}

std::vector<std::size_t> multi_index(std::size_t flat, const Shape& shape) {
    std::vector<std::size_t> index(shape.rank());
    for (std::size_t k = shape.rank(); k-- > 0; flat /= shape[k]) index[k] = flat % shape[k];
    return index;
}

std::string with_commas(std::string number) {
    const std::size_t begin = number.starts_with('-') ? 1 : 0;
    for (std::size_t end = std::min(number.find('.'), number.size()); end > begin + 3; end -= 3)
        number.insert(end - 3, 1, ',');
    return number;
}

std::string format_array(const std::vector<double>& numbers, const Shape& shape, int digits) {
    std::string text;
    format_axis(text, numbers, shape, 0, 0, numbers.size(), digits, 0);
    return text;
}

std::string to_string(const NonFinite& found) {
    std::string where = fmt::format("line {} ({}", found.line, found.op);
    if (!found.name.empty()) where += " '" + found.name + "'";
    if (!found.scope.empty()) where += ", in " + found.scope;
    return fmt::format("{}: {} at [{}] of {})",
        found.direction == NonFinite::Direction::forward ? "forward" : "backward", found.value,
        fmt::join(found.index, ", "), where);
}

std::optional<NonFinite> first_nonfinite(const Tape& tape) {
    if (tape.shapes_only()) throw Error("first_nonfinite: this tape is shape-only and has no numbers");
    return look_forward(*tape.state(), tape.state()->size());
}

template <class T> std::optional<NonFinite> first_nonfinite(const Var<T>& y) {
    const Index i = y.checked("first_nonfinite");
    TapeState& tape = *y.state();
    if (tape.shapes_only) throw Error("first_nonfinite: this tape is shape-only and has no numbers");
    if (auto found = look_forward(tape, i + 1)) return found;
    if (!y.needs_grad()) return {};
    std::optional<NonFinite> found;
    const std::vector<work_t<T>> ones(y.size(), work_t<T>(1));
    std::vector<Index> variables;
    for (const Index v : tape.variables)
        if (v <= i) variables.push_back(v);
    detail::sweep_towards(
        tape, i, ones.data(), variables, [](std::size_t) {},
        [&](Index k) {
            const Record& record = tape[k];
            if (!found)
                found = look(tape, k, as_doubles(work_dtype(record.dtype), record.grad, record.shape->size()),
                    NonFinite::Direction::backward);
        });
    return found;
}

#define CHALKGRAD_INSTANTIATE(T) template std::optional<NonFinite> first_nonfinite(const Var<T>&);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

} // namespace chalkgrad
