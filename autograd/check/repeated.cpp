// What dual numbers see and the tolerance of differences hides: deviations far above the noise of the differences, which stay what they are
// when the inputs change a little. Rounding errors do not, nor does what is left where an exponential has all but died.
#include <chalkgrad/autograd/check/steps.hpp>

namespace chalkgrad::detail {
namespace {

/// Elements of one column of the Jacobian that look wrong.
struct Suspect {
    Block* block;
    std::size_t row, of_all, at; ///< of the block, of all outputs; where its numbers are
    double gap;                  ///< backward less differences
};
struct Suspects {
    std::size_t input, column;
    double clearest; ///< a gap beside the error of its difference
    std::vector<Suspect> elements;
};

/// Whether differences of several steps agree far better than with the backward.
bool is_clear(double gap, double error) { return std::isfinite(error) && std::abs(gap) > 10 * error; }

/// Whether an element is wrong by more than what looks so by chance.
bool is_far_off(const CheckedProgram& s, const Block& b, std::size_t i, std::size_t k, double size) {
    return b.is_wrong(i, k, size, std::max(1e-5, s.options.tolerance));
}

/// Whether a backward gives numbers of single precision, many and none of them round: its error changes from point to point.
bool in_single_precision(const Block& b) {
    std::size_t telling = 0;
    for (const double v : b.analytic) {
        if (v != static_cast<double>(static_cast<float>(v))) return false;
        int exponent;
        const double scaled = std::frexp(v, &exponent) * 0x1p12;
        telling += scaled != std::trunc(scaled);
    }
    return telling >= 8;
}

/// The clearest columns; none where an element is wrong by far.
std::vector<Suspects> suspects_of(const CheckedProgram& s, Jacobians& jacobians) {
    std::vector<Suspects> all;
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        std::vector<Suspects> columns(s.inputs[x].size());
        std::size_t first = 0;
        for (std::size_t y = 0; y < s.outputs.size(); first += s.outputs[y++].size()) {
            Block& b = jacobians.block(y, x);
            const Sizes sizes(b, b.numeric);
            const double size = std::max(sizes.largest(), CheckedProgram::size_of(s.outputs[y]) / s.shortest(x));
            const double lost =
                in_single_precision(b) ? 1e-3 : 5e-2; // over a step of a fiftieth of the length, the largest
            bool wrong = false;
            b.each([&](std::size_t i, std::size_t j, std::size_t k) {
                const double gap = b.analytic[k] - b.numeric[k];
                if (b.on_kink[j] || !is_clear(gap, b.error[k])) return;
                wrong |= is_far_off(s, b, i, k, sizes.of(i, j));
                // What the forward loses where it adds large numbers to it is the same at all points.
                if (std::abs(gap) <= 10 * s.options.identity_tolerance * size + lost * b.rounding[i]) return;
                Suspects& column = columns[j];
                column.elements.push_back({&b, i, first + i, k, gap});
                column.clearest = std::max(column.clearest, std::abs(gap) / (b.error[k] + 1e-300));
            });
            if (wrong) return {};
        }
        for (std::size_t j = 0; j < columns.size(); ++j) {
            if (columns[j].elements.empty()) continue;
            columns[j].input = x;
            columns[j].column = j;
            all.push_back(std::move(columns[j]));
        }
    }
    constexpr std::size_t enough = 16;
    std::sort(all.begin(), all.end(), [](const Suspects& a, const Suspects& b) { return a.clearest > b.clearest; });
    if (all.size() > enough) all.resize(enough);
    return all;
}

} // namespace

void find_repeated(CheckedProgram& s, Jacobians& jacobians) {
    std::vector<Suspects> suspects = suspects_of(s, jacobians);
    if (suspects.empty()) return;
    for (Block& b : jacobians.blocks) b.nearby.assign(b.stored(), 0);
    int points = 0; // at which the kinks are where they were
    const auto look_again = [&] {
        fill_backward(s, jacobians, &Block::nearby);
        Replay<double> there(s.outputs);
        for (const Var<double>& x : s.inputs) std::copy_n(s.program.values(x.line()), x.size(), there.values(x.line()));
        there.run();
        Differences<double> differences(there, s.output_lines);
        for (Suspects& column : suspects) {
            const std::size_t x = column.input;
            const std::vector<Move> move{{s.inputs[x].line(), column.column}};
            const Column slopes = differences.along(move, s.dependents[x], s.lengths[x]);
            std::erase_if(column.elements, [&](const Suspect& one) {
                const double gap = one.block->nearby[one.at] - slopes.slope[one.of_all];
                const bool same = std::abs(gap - one.gap) <= 0.1 * std::abs(one.gap);
                return !is_clear(gap, slopes.error[one.of_all]) || !(same || in_single_precision(*one.block));
            });
        }
        std::erase_if(suspects, [](const Suspects& column) { return column.elements.empty(); });
    };
    for (std::uint64_t which = 0; which < 5 && !suspects.empty(); ++which) try {
            points += s.at_perturbed_inputs(20 + which, 1e-3, look_again);
        } catch (const std::exception&) { // an op refuses such numbers
            s.restore();
        }
    if (points < (suspects.empty() ? 1 : 3)) return;
    for (const Suspects& column : suspects)
        for (const Suspect& one : column.elements) {
            one.block->off.resize(one.block->stored(), 0);
            one.block->off[one.at] = 1;
        }
    if (!suspects.empty()) return;
    for (Block& b : jacobians.blocks) { // nothing is off for certain: by chance the differences agreed among themselves
        const Sizes sizes(b, b.numeric);
        b.each([&](std::size_t i, std::size_t j, std::size_t k) {
            const double gap = std::abs(b.analytic[k] - b.numeric[k]), size = sizes.of(i, j);
            if (!b.on_kink[j] && b.is_wrong(i, k, size, s.options.tolerance) && !is_far_off(s, b, i, k, size))
                b.error[k] = std::max(b.error[k], gap);
        });
    }
}

} // namespace chalkgrad::detail
