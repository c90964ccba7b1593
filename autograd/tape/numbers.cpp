// Reading a tape's numbers as doubles, and summaries of them.
#include <chalkgrad/autograd/tape/numbers.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace chalkgrad {

using detail::Index;
using detail::Record;

namespace {

std::vector<double> as_doubles(Dtype dtype, const void* data, std::size_t n) {
    std::vector<double> numbers(n);
    detail::convert_numbers(dtype, data, Dtype::f64, numbers.data(), n);
    return numbers;
}

const Record& record_of(const Tape& tape, std::size_t line) {
    if (line >= tape.size()) throw Error(fmt::format("line: {} of a tape of {} lines", line, tape.size()));
    return (*tape.state())[static_cast<Index>(line)];
}

const Record& record_with_numbers(const char* function, const Tape& tape, std::size_t line) {
    const Record& record = record_of(tape, line);
    if (tape.shapes_only())
        throw Error(fmt::format(
            "{}: {} has no numbers: its tape is shape-only", function, tape.state()->label(static_cast<Index>(line))));
    return record;
}

} // namespace

std::vector<double> values_of(const Tape& tape, std::size_t line) {
    const Record& record = record_with_numbers("values_of", tape, line);
    return as_doubles(record.dtype, record.value, record.shape->size());
}

std::optional<std::vector<double>> gradient_of(const Tape& tape, std::size_t line) {
    const Record& record = record_of(tape, line);
    if (record.grad == nullptr) return {};
    return as_doubles(work_dtype(record.dtype), record.grad, record.shape->size());
}

std::size_t saved_size(const Tape& tape, std::size_t line) { return tape.state()->saved_size(record_of(tape, line)); }

std::vector<double> saved_of(const Tape& tape, std::size_t line) {
    const Record& record = record_with_numbers("saved_of", tape, line);
    if (record.saved == nullptr) return {};
    return as_doubles(work_dtype(record.dtype), record.saved, tape.state()->saved_size(record));
}

Var<double> line_at(const Tape& tape, std::size_t line) {
    return Var<double>(tape.state_ref(), static_cast<Index>(line), record_of(tape, line).epoch);
}

const char* name(Line::Kind kind) {
    return kind == Line::Kind::op ? "op" : kind == Line::Kind::variable ? "variable" : "constant";
}

void keep_all_gradients(const Tape& tape) {
    for (std::size_t i = 0; i < tape.size(); ++i) {
        const Record& record = record_of(tape, i);
        if (record.op != nullptr && record.has(Record::needs_grad)) line_at(tape, i).keep_grad(); // whatever its scalar
    }
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

} // namespace chalkgrad
