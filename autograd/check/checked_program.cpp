// The program under check: its lines, room for its Jacobians, and how findings add up.
#include <chalkgrad/autograd/check/steps.hpp>
#include <chalkgrad/autograd/tape/single_op.hpp>

namespace chalkgrad::detail {

std::vector<double> lengths(const Var<double>& x) {
    std::vector<double> result;
    double square = 0;
    for (std::size_t j = 0; j < x.size(); ++j) square += x.data()[j] * x.data()[j];
    const double typical = std::sqrt(square / static_cast<double>(x.size()));
    if (typical > 0 && std::isfinite(typical)) result.push_back(typical);
    const TapeState& tape = *x.state();
    for (Index i = static_cast<Index>(x.line()); i < tape.size(); ++i) {
        const Record& record = tape[i];
        if (record.op == nullptr) continue;
        const Index* in = tape.inputs(record);
        if (std::find(in, in + record.input_count, x.line()) == in + record.input_count) continue;
        const std::vector<In<double>> ins = inputs_of<double>(tape, record);
        const double length = record.op->length_scale({ins.data(), ins.size()});
        if (length > 0 && std::isfinite(length)) result.push_back(length);
    }
    if (result.empty()) result.push_back(1);
    return result;
}

CheckedProgram::CheckedProgram(
    const std::vector<Var<double>>& outputs_, const std::vector<Var<double>>& inputs_, const GradcheckOptions& options_)
    : outputs(outputs_), inputs(inputs_), options(options_), program(outputs_) {
    for (const Var<double>& y : outputs) {
        output_lines.push_back(y.line());
        rows += y.size();
    }
    const TapeState& tape = *outputs.front().state();
    for (const Var<double>& x : inputs) {
        dependents.push_back(program.dependents(x.line()));
        lengths.push_back(detail::lengths(x));
        lines.insert(lines.end(), dependents.back().begin(), dependents.back().end());
    }
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    for (const std::uint32_t line : lines)
        if (tape[line].op->has_kinks()) kinked_lines.push_back(line);
    has_dual = Replay<long double>::possible(outputs, &no_dual) && !options.quick;
}

Findings& Findings::operator+=(const Findings& next) {
    const GradcheckReport& more = next.report;
    if (!more.why.empty() && !(contract_broken && next.contract_broken)) say(more.why);
    if (!more.notes.empty()) detail::say(report.notes, more.notes);
    for (auto error : {&GradcheckReport::difference, &GradcheckReport::dual, &GradcheckReport::transpose,
             &GradcheckReport::second_order, &GradcheckReport::resolution})
        report.*error = worse(report.*error, more.*error);
    if (more.identity) report.identity = worse(report.identity.value_or(0), *more.identity);
    report.elements += more.elements;
    report.failed += more.failed;
    report.projected |= more.projected;
    report.kinks.insert(report.kinks.end(), more.kinks.begin(), more.kinks.end());
    for (auto flag : {&Findings::contract_broken, &Findings::below_noise, &Findings::nothing_seen,
             &Findings::unresolved, &Findings::unfinite})
        this->*flag |= next.*flag;
    if (!next.elsewhere.empty()) elsewhere = next.elsewhere;
    if (!next.report.worst.op.empty()) report.worst = next.report.worst;
    return *this;
}

Jacobians::Jacobians(const CheckedProgram& s, const Structure& structure) : inputs(s.inputs.size()) {
    std::size_t row = 0;
    for (std::size_t y = 0; y < s.outputs.size(); row += s.outputs[y].size(), ++y)
        for (std::size_t x = 0; x < inputs; ++x) {
            Block& b = blocks.emplace_back();
            b.output = y;
            b.input = x;
            b.rows = s.outputs[y].size();
            b.columns = s.inputs[x].size();
            std::size_t stored = 0;
            for (std::size_t i = 0; i < b.rows; ++i) {
                Span& span = b.spans.emplace_back(structure[x].empty() ? Span{0, b.columns} : structure[x][row + i]);
                span.at = stored;
                stored += span.count;
            }
            for (auto matrix : {&Block::analytic, &Block::numeric, &Block::error}) (b.*matrix).assign(stored, 0);
            if (s.has_dual) b.dual.assign(stored, 0);
            b.on_kink.assign(b.columns, 0);
            b.rounding.assign(b.rows, 0);
        }
}

Sizes::Sizes(const Block& block, const Matrix& numbers) : row(block.rows, 0), column(block.columns, 0) {
    block.each([&](std::size_t i, std::size_t j, std::size_t k) {
        const double size = std::abs(numbers[k]);
        if (!std::isfinite(size)) return;
        row[i] = std::max(row[i], size);
        column[j] = std::max(column[j], size);
    });
}

double CheckedProgram::size_of(const Var<double>& v) {
    const double* const numbers = v.data(); // asked once: a handle is checked each time
    double size = 0;
    for (std::size_t i = 0, n = v.size(); i < n; ++i)
        if (std::isfinite(numbers[i])) size = std::max(size, std::abs(numbers[i]));
    return size;
}

bool CheckedProgram::all_finite() {
    for (std::size_t y = 0; y < outputs.size(); ++y) {
        const double* values = program.values(output_lines[y]);
        if (!std::all_of(values, values + outputs[y].size(), [](double v) { return std::isfinite(v); })) return false;
    }
    return true;
}

void CheckedProgram::restore() {
    for (const Var<double>& x : inputs) std::copy_n(x.data(), x.size(), program.values(x.line()));
    program.run();
}

std::vector<Array<double>> draw(const std::vector<Var<double>>& vars, Generator& rng) {
    std::vector<Array<double>> all;
    for (const Var<double>& v : vars) all.push_back(rng.standard_normal(v.shape()));
    return all;
}

Array<double> draw_cotangent(const Var<double>& y, Generator& rng) {
    Array<double> w = rng.standard_normal(y.shape());
    const double* const values = y.data();
    for (std::size_t i = 0; i < w.size(); ++i)
        if (!std::isfinite(values[i])) w.data()[i] = 0;
    return w;
}

void set_tangents(CheckedProgram& s, Replay<Dual<double>>& program, const std::vector<Array<double>>& directions) {
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        const std::size_t line = s.inputs[x].line();
        for (std::size_t j = 0; j < s.inputs[x].size(); ++j)
            program.values(line)[j] = {s.program.values(line)[j], directions[x].data()[j]};
    }
    program.run();
}

std::string describe(const Var<double>& x) {
    const std::string name = x.name();
    return name.empty() ? fmt::format("line {}", x.line()) : name;
}

} // namespace chalkgrad::detail
