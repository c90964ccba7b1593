// Kinks: the slopes that a backward gives there lie between those on both sides, in every direction.
#include <chalkgrad/autograd/check/steps.hpp>

namespace chalkgrad::detail {
namespace {

/// The least and the largest slope of every output element in one direction, and what they may be off.
struct Bounds {
    std::vector<double> least, most, slack;

    explicit Bounds(std::size_t rows) : least(rows, HUGE_VAL), most(rows, -HUGE_VAL), slack(rows, 0) {}
    void add(const Column& column, double relative) {
        const Slopes &left = column.both_sides ? column.both_sides->first : column,
                     &right = column.both_sides ? column.both_sides->second : column;
        for (std::size_t row = 0; row < least.size(); ++row)
            for (const Slopes* side : {&left, &right}) {
                const double slope = side->slope[row];
                const bool known = std::isfinite(slope); // else anything may be true there
                least[row] = std::min(least[row], known ? slope : -HUGE_VAL);
                most[row] = std::max(most[row], known ? slope : HUGE_VAL);
                if (known) slack[row] += relative * std::abs(slope) + 10 * side->error[row];
            }
    }
    bool hold(std::size_t row, double slope) const {
        return !(slope < least[row] - slack[row] || slope > most[row] + slack[row]);
    }
};

/// Directions in which the numbers on kinks move together: all alike, at random with equal weights, and with any.
std::vector<std::vector<double>> directions(Generator rng, std::size_t moves) {
    std::vector<std::vector<double>> all{std::vector<double>(moves, 1)};
    for (int n = 0; n < 14; ++n) {
        std::vector<double>& v = all.emplace_back(moves);
        for (double& weight : v) {
            weight = rng.standard_normal();
            if (n % 2 == 0) weight = std::copysign(1, weight);
        }
    }
    return all;
}

/// A direction in which an output leaves its bounds, in words; or nothing.
template <class U> std::string outside_bounds(CheckedProgram& s, const Measured& measured) {
    const Jacobians& jacobians = measured.jacobians;
    std::vector<Move> moves;
    std::vector<std::size_t> inputs;
    double shortest = HUGE_VAL;
    for (std::size_t x = 0; x < s.inputs.size(); ++x)
        for (std::size_t j = 0; j < s.inputs[x].size(); ++j) {
            if (!jacobians.block(0, x).on_kink[j]) continue;
            moves.push_back({s.inputs[x].line(), j});
            inputs.push_back(x);
            shortest = std::min(shortest, s.shortest(x));
        }
    Replay<U> program(s.outputs);
    for (const std::vector<double>& weights : directions(s.stream(14), moves.size())) {
        std::vector<double> slope(s.rows, 0);
        for (std::size_t k = 0; k < moves.size(); ++k) {
            moves[k].weight = weights[k];
            each_row(jacobians, inputs[k], [&](const Block& b, std::size_t i, std::size_t row) {
                const std::size_t j = moves[k].element;
                if (b.spans[i].holds(j)) slope[row] += weights[k] * b.analytic[b.spans[i][j]];
            });
        }
        const auto along = [&](double length) {
            return Differences<U>(program, s.output_lines).along(moves, s.lines, {length * shortest});
        };
        Bounds bounds(s.rows);
        bounds.add(along(0.1), s.options.tolerance);
        bool widened = false;
        for (std::size_t row = 0; row < s.rows; ++row) {
            if (bounds.hold(row, slope[row])) continue;
            // Bent both ways, an output may have slopes of pieces around the point that this line through it does not meet.
            constexpr std::size_t few = 6;
            if (measured.bends[row] == 3 && moves.size() > few) continue;
            if (measured.bends[row] == 3 && !widened) {
                widened = true;
                Generator rng = s.stream(15);
                for (std::size_t piece = 0; piece < std::size_t(1) << moves.size(); ++piece) {
                    for (std::size_t k = 0; k < moves.size(); ++k)
                        program.values(moves[k].leaf)[moves[k].element] +=
                            static_cast<U>((piece >> k & 1 ? 1 : -1) * rng.uniform(0.5, 1) * 1e-2 * shortest);
                    bounds.add(along(1e-3), 0.05);
                    for (std::size_t k = 0; k < moves.size(); ++k)
                        program.values(moves[k].leaf)[moves[k].element] =
                            static_cast<U>(s.inputs[inputs[k]].data()[moves[k].element]);
                }
                if (bounds.hold(row, slope[row])) continue;
            }
            return fmt::format(
                "along a direction in which {} numbers on kinks move the backward gives {:.6g}, outside "
                "the slopes from {:.6g} to {:.6g}: the shares of a tie do not add up",
                moves.size(), slope[row], bounds.least[row], bounds.most[row]);
        }
    }
    return {};
}

/// Whether an op by itself gives such a slope. If none does, the program only puts the choices of several together.
bool is_wrong_alone(const CheckedProgram& s, std::uint32_t line) {
    const TapeState& tape = *s.outputs.front().state();
    const Record& record = tape[line];
    if (record.op->blocks_gradient() || record.op->changes_dtype()) return false;
    const ProgramCopy copy = op_alone(tape, record, wanted_operands(tape, record));
    CheckedProgram alone(copy.outputs, copy.inputs, s.options);
    const std::optional<Measured> measured = measure_jacobians(alone, Structure(copy.inputs.size()));
    return measured && check_kinks(alone, *measured).report.failed > 0;
}

} // namespace

Findings check_kinks(CheckedProgram& s, const Measured& measured) {
    Findings found;
    if (measured.found.report.kinks.empty()) return found;
    std::vector<std::string> outside = measured.outside;
    if (outside.empty()) {
        const std::string sentence =
            s.has_dual ? outside_bounds<long double>(s, measured) : outside_bounds<double>(s, measured);
        if (!sentence.empty()) outside.push_back(sentence);
    }
    if (outside.empty()) return found;
    if (s.lines.size() > 1 &&
        std::none_of(s.lines.begin(), s.lines.end(), [&](std::uint32_t line) { return is_wrong_alone(s, line); }))
        return found;
    found.report.failed = outside.size();
    for (const std::string& sentence : outside) found.say(sentence);
    return found;
}

} // namespace chalkgrad::detail
