// gradcheck: the backward's Jacobian beside two others, element by element.
#include <chalkgrad/autograd/gradcheck.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>

#include <fmt/format.h>

#include <chalkgrad/autograd/blame.hpp>
#include <chalkgrad/autograd/difference.hpp>
#include <chalkgrad/autograd/random.hpp>

namespace chalkgrad {
namespace {

using detail::Column;
using detail::Slopes;

constexpr std::uint64_t own_stream = 0x6772616463686bu; // of random numbers: no seed that a caller would use

/// The numbers of one (output, input) block: rows are output elements, columns input elements.
struct Block {
    std::size_t output, input; ///< positions in the caller's lists
    std::size_t rows, columns;
    std::vector<double> analytic, numeric, error, dual;
    std::vector<double> wobble; ///< how much rounding its inputs changes the backward's; empty: not measured
    double rounding = 0;        ///< of a slope in double: units in the last place of max|y| / smallest length
    std::vector<char> on_kink;  ///< by column
    double* at(std::vector<double>& matrix, std::size_t row) { return matrix.data() + row * columns; }
    /// What an element may be off for reasons of rounding, the differences' and the backward's own.
    double slack(std::size_t k) const { return 10 * error[k] + rounding + (wobble.empty() ? 0 : 30 * wobble[k]); }
};

std::vector<std::size_t> multi_index(std::size_t flat, const Shape& shape) {
    std::vector<std::size_t> index(shape.rank());
    for (std::size_t k = shape.rank(); k-- > 0; flat /= shape[k]) index[k] = flat % shape[k];
    return index;
}

std::string describe(const Var<double>& x) {
    const std::string name = x.name();
    return name.empty() ? fmt::format("line {}", x.line()) : name;
}

/// Lengths over which the program may bend along a leaf: the size of its numbers, and what the ops that read it declare.
std::vector<double> lengths(const Var<double>& x, double typical) {
    std::vector<double> result;
    if (typical > 0 && std::isfinite(typical)) result.push_back(typical);
    const detail::TapeState& tape = *x.state();
    for (detail::Index i = static_cast<detail::Index>(x.line()); i < tape.size(); ++i) {
        const detail::Record& record = tape[i];
        if (record.op == nullptr) continue;
        const detail::Index* in = tape.inputs(record);
        if (std::find(in, in + record.input_count, x.line()) == in + record.input_count) continue;
        std::vector<In<double>> ins(record.input_count);
        for (std::size_t k = 0; k < record.input_count; ++k)
            if (in[k] != detail::absent) ins[k] = {static_cast<const double*>(tape[in[k]].value), tape[in[k]].shape};
        const double length = record.op->natural_length({ins.data(), ins.size()});
        if (length > 0 && std::isfinite(length)) result.push_back(length);
    }
    if (result.empty()) result.push_back(1);
    return result;
}

class Check {
public:
    Check(const std::vector<Var<double>>& outputs, const std::vector<Var<double>>& inputs, const GradcheckOptions& options)
        : outputs_(outputs), inputs_(inputs), options_(options), program_(outputs) {
        for (std::size_t y = 0; y < outputs.size(); ++y) output_lines_.push_back(outputs[y].line());
        for (std::size_t y = 0; y < outputs.size(); ++y)
            for (std::size_t x = 0; x < inputs.size(); ++x) {
                Block block{y, x, outputs[y].size(), inputs[x].size(), {}, {}, {}, {}, {}, 0, std::vector<char>(inputs[x].size(), 0)};
                for (auto* matrix : {&block.analytic, &block.numeric, &block.error, &block.dual})
                    matrix->assign(block.rows * block.columns, 0);
                blocks_.push_back(std::move(block));
            }
    }

    GradcheckReport run() {
        fill_backward(&Block::analytic);
        std::string why;
        if (Replay<long double>::possible(outputs_)) {
            fill_numeric<long double>();
            fill_dual();
            check_identity();
        } else {
            Replay<long double>::possible(outputs_, &why);
            fill_numeric<double>();
            say("differences in double, no dual numbers: " + why);
            has_dual_ = false;
        }
        check_contract();
        if (suspicious()) measure_wobble();
        judge();
        if (options_.blind_spots) look_for_blind_spots();
        if (report_.verdict == Verdict::fail)
            for (const Var<double>& y : outputs_)
                for (const Blame& b : blame(y, options_.seed)) {
                    report_.blame.push_back(b);
                    say(fmt::format("line {} ({}{}{}): the gradient of its input '{}' is wrong{}{}", b.line, b.op, b.scope.empty() ? "" : ", in ", b.scope,
                                    b.input, b.hint.empty() ? "" : ": ", b.hint));
                }
        return std::move(report_);
    }

private:
    Block& block(std::size_t output, std::size_t input) { return blocks_[output * inputs_.size() + input]; }

    // One sweep for each output element.
    void fill_backward(std::vector<double> Block::*matrix) {
        for (std::size_t y = 0; y < outputs_.size(); ++y) {
            std::vector<double> cotangent(outputs_[y].size(), 0);
            for (std::size_t i = 0; i < cotangent.size(); ++i) {
                cotangent[i] = 1;
                program_.backward(output_lines_[y], cotangent.data());
                cotangent[i] = 0;
                for (std::size_t x = 0; x < inputs_.size(); ++x)
                    if (const double* g = program_.gradient(inputs_[x].line()))
                        std::copy_n(g, inputs_[x].size(), block(y, x).at(block(y, x).*matrix, i));
            }
        }
    }

    /// Changes every input by a few units in its last place, runs f, and changes them back. False, without f, where that leads
    /// across a kink.
    template <class F>
    bool beside(std::uint64_t which, F f) {
        const auto lines = kinked_lines();
        const std::uint64_t here = program_.sides(lines).fingerprint();
        Generator rng{Seed{own_stream + 2, options_.seed, which}};
        for (const Var<double>& x : inputs_)
            for (std::size_t j = 0; j < x.size(); ++j)
                program_.values(x.line())[j] = x.data()[j] * (1 + rng.uniform(-4, 4) * std::numeric_limits<double>::epsilon());
        program_.run();
        const bool same = program_.sides(lines).fingerprint() == here;
        if (same) f();
        for (const Var<double>& x : inputs_) std::copy_n(x.data(), x.size(), program_.values(x.line()));
        program_.run();
        return same;
    }

    // A slope that rounding of the inputs changes as much as the disagreement is not known better than that.
    void measure_wobble() {
        for (Block& b : blocks_) b.wobble.assign(b.rows * b.columns, 0);
        std::vector<std::vector<double>> most(blocks_.size());
        for (std::size_t k = 0; k < blocks_.size(); ++k) most[k].assign(blocks_[k].wobble.size(), 0);
        for (std::uint64_t which = 0; which < 3; ++which)
            beside(which, [&] {
                fill_backward(&Block::wobble);
                for (std::size_t k = 0; k < blocks_.size(); ++k)
                    for (std::size_t i = 0; i < most[k].size(); ++i)
                        most[k][i] = std::max(most[k][i], std::abs(blocks_[k].wobble[i] - blocks_[k].analytic[i]));
            });
        for (std::size_t k = 0; k < blocks_.size(); ++k) blocks_[k].wobble = std::move(most[k]);
    }

    /// Whether an element may turn out wrong: only then rounding is looked into.
    bool suspicious() const {
        for (const Block& b : blocks_) {
            double scale = 0;
            for (const double n : b.numeric)
                if (std::isfinite(n)) scale = std::max(scale, std::abs(n));
            for (std::size_t k = 0; k < b.numeric.size(); ++k)
                if (!b.on_kink[k % b.columns] && std::abs(b.analytic[k] - b.numeric[k]) > options_.tolerance * scale + b.slack(k)) return true;
        }
        return false;
    }

    template <class U>
    void fill_numeric() {
        Replay<U> program(outputs_);
        for (std::size_t x = 0; x < inputs_.size(); ++x) {
            const double* numbers = inputs_[x].data();
            const std::size_t n = inputs_[x].size();
            double square = 0;
            for (std::size_t j = 0; j < n; ++j) square += numbers[j] * numbers[j];
            const std::vector<double> scales = lengths(inputs_[x], std::sqrt(square / static_cast<double>(n)));
            detail::Differences<U> differences(program, output_lines_, inputs_[x].line(), scales);
            for (std::size_t y = 0; y < outputs_.size(); ++y) {
                double largest = 0;
                for (std::size_t i = 0; i < outputs_[y].size(); ++i)
                    if (std::isfinite(outputs_[y].data()[i])) largest = std::max(largest, std::abs(outputs_[y].data()[i]));
                block(y, x).rounding = 4 * std::numeric_limits<double>::epsilon() * largest / *std::min_element(scales.begin(), scales.end());
            }
            for (std::size_t j = 0; j < n; ++j) put(x, j, differences.column(j));
        }
    }

    /// A column of differences runs over all outputs.
    void put(std::size_t x, std::size_t j, const Column& column) {
        std::size_t row = 0;
        for (std::size_t y = 0; y < outputs_.size(); ++y) {
            Block& b = block(y, x);
            for (std::size_t i = 0; i < b.rows; ++i, ++row) {
                b.at(b.numeric, i)[j] = column.slope[row];
                b.at(b.error, i)[j] = column.error[row];
                if (!column.both_sides) continue;
                b.on_kink[j] = 1;
                note_kink(y, x, i, j, column.both_sides->first, column.both_sides->second, row);
            }
        }
    }

    // At a kink the value must lie between the slopes on both sides.
    void note_kink(std::size_t y, std::size_t x, std::size_t i, std::size_t j, const Slopes& left, const Slopes& right, std::size_t row) {
        const double l = left.slope[row], r = right.slope[row], a = block(y, x).at(block(y, x).analytic, i)[j];
        const double slack = options_.tolerance * std::max(std::abs(l), std::abs(r)) + 10 * (left.error[row] + right.error[row]);
        if (std::abs(l - r) <= slack && std::abs(a - l) <= slack) return; // smooth along this output
        const bool between = a >= std::min(l, r) - slack && a <= std::max(l, r) + slack;
        report_.kinks.push_back({describe(inputs_[x]), multi_index(j, inputs_[x].shape()), multi_index(i, outputs_[y].shape()), l, r, a,
                                 (a - l) / (r - l)});
        if (between) return;
        ++report_.failed;
        say(fmt::format("on a kink of {}[{}] the backward gives {:.6g}, outside the slopes {:.6g} (left) and {:.6g} (right)",
                        describe(inputs_[x]), fmt::join(multi_index(j, inputs_[x].shape()), ", "), a, l, r));
    }

    // Exact columns: one forward in dual numbers for each input element.
    void fill_dual() {
        Replay<Dual<double>> program(outputs_);
        for (std::size_t x = 0; x < inputs_.size(); ++x) {
            const std::size_t line = inputs_[x].line();
            const auto lines = program.dependents(line);
            for (std::size_t j = 0; j < inputs_[x].size(); ++j) {
                program.values(line)[j].d = 1;
                program.run(lines);
                program.values(line)[j].d = 0;
                for (std::size_t y = 0; y < outputs_.size(); ++y) {
                    const Dual<double>* values = program.values(output_lines_[y]);
                    for (std::size_t i = 0; i < outputs_[y].size(); ++i) block(y, x).at(block(y, x).dual, i)[j] = values[i].d;
                }
            }
            program.run(lines);
        }
    }

    // ⟨w, Jv⟩ = ⟨Jᵀw, v⟩ for random v and w: exact at kinks too, since both sides take the same branch. v and w are drawn from a
    // stream of their own: with the caller's seed v could be x itself, the one direction in which a norm's derivative is 0.
    void check_identity() {
        Generator rng{Seed{own_stream, options_.seed}};
        Replay<Dual<double>> program(outputs_);
        std::vector<Array<double>> directions;
        for (const Var<double>& x : inputs_) directions.push_back(rng.standard_normal(x.shape()));
        for (std::size_t y = 0; y < outputs_.size(); ++y) {
            Array<double> w = rng.standard_normal(outputs_[y].shape());
            for (std::size_t i = 0; i < w.size(); ++i)
                if (!std::isfinite(outputs_[y].data()[i])) w.data()[i] = 0; // masked, or overflown: judge() looks at it
            const auto gap = [&] {
                for (std::size_t x = 0; x < inputs_.size(); ++x)
                    for (std::size_t j = 0; j < inputs_[x].size(); ++j) {
                        const std::size_t line = inputs_[x].line();
                        program.values(line)[j] = {program_.values(line)[j], directions[x].data()[j]};
                    }
                program.run();
                program_.backward(output_lines_[y], w.data());
                double forward = 0, backward = 0;
                for (std::size_t i = 0; i < w.size(); ++i)
                    if (w.data()[i] != 0) forward += w.data()[i] * program.values(output_lines_[y])[i].d;
                for (std::size_t x = 0; x < inputs_.size(); ++x)
                    if (const double* g = program_.gradient(inputs_[x].line()))
                        for (std::size_t j = 0; j < inputs_[x].size(); ++j) backward += g[j] * directions[x].data()[j];
                return forward - backward;
            };
            double magnitude = 0, rounding = 0;
            for (std::size_t x = 0; x < inputs_.size(); ++x) {
                Block& b = block(y, x);
                for (std::size_t i = 0; i < b.rows; ++i)
                    for (std::size_t j = 0; j < b.columns; ++j) {
                        const double weight = std::abs(w.data()[i] * directions[x].data()[j]);
                        if (weight != 0) magnitude += weight * std::abs(b.at(b.dual, i)[j]);
                        rounding += weight * b.rounding;
                    }
            }
            const double broken = gap(), size = std::abs(broken);
            if (std::isnan(broken)) {
                report_.identity = std::numeric_limits<double>::quiet_NaN();
                continue;
            }
            if (size <= options_.identity_tolerance * magnitude) {
                if (size != 0) report_.identity = std::max(report_.identity, size / magnitude);
                continue;
            }
            // A mistake stays what it is when the inputs are rounded otherwise; rounding errors do not.
            bool rounded = size <= rounding;
            for (std::uint64_t which = 0; which < 3 && !rounded; ++which)
                beside(which, [&] { rounded = std::abs(gap() - broken) > 0.1 * size; });
            if (rounded)
                drowned_ = true;
            else
                report_.identity = std::max(report_.identity, magnitude > 0 ? size / magnitude : HUGE_VAL);
        }
    }

    // What the tape relies on: the same cotangent gives the same gradient to the last bit, twice the cotangent twice the gradient,
    // and none gives none.
    void check_contract() {
        Generator rng{Seed{own_stream + 1, options_.seed}};
        for (std::size_t y = 0; y < outputs_.size(); ++y) {
            Array<double> w = rng.standard_normal(outputs_[y].shape());
            const auto gradients = [&](double factor) {
                std::vector<double> all, scaled(w.size());
                for (std::size_t i = 0; i < w.size(); ++i) scaled[i] = factor * w.data()[i];
                program_.backward(output_lines_[y], scaled.data());
                for (const Var<double>& x : inputs_)
                    if (const double* g = program_.gradient(x.line())) all.insert(all.end(), g, g + x.size());
                return all;
            };
            const auto once = gradients(1), again = gradients(1), twice = gradients(2), none = gradients(0);
            constexpr double subnormal = std::numeric_limits<double>::min(); // below it digits are lost
            double largest = 0;
            for (const double g : once)
                if (std::isfinite(g)) largest = std::max(largest, std::abs(g));
            for (std::size_t k = 0; k < once.size(); ++k) {
                if (!std::isfinite(once[k])) continue;
                const char* broken = once[k] != again[k]                                    ? "gives another gradient when it runs again"
                                     : none[k] != 0                                         ? "gives a gradient for a cotangent of zero"
                                     : std::abs(twice[k] - 2 * once[k]) > 1e-12 * largest + subnormal ? "is not linear in the cotangent"
                                                                                            : nullptr;
                if (broken == nullptr) continue;
                contract_broken_ = true;
                say(fmt::format("the backward of {} {}", describe(outputs_[y]), broken));
                break;
            }
        }
    }

    // Inputs that cannot show a fault: nothing wrong was seen, and nothing could have been.
    void look_for_blind_spots() {
        if (report_.verdict == Verdict::fail) return;
        const auto blind = [&](const std::string& sentence) {
            report_.verdict = Verdict::inconclusive;
            say(sentence);
        };
        for (std::size_t x = 0; x < inputs_.size(); ++x) {
            const double* numbers = inputs_[x].data();
            const std::size_t n = inputs_[x].size();
            if (n > 1 && std::all_of(numbers, numbers + n, [](double v) { return v == 1; }))
                blind(fmt::format("every number of {} is 1: a factor used twice, or not at all, would not show; draw it at random", describe(inputs_[x])));
            bool flat = n > 0;
            for (std::size_t y = 0; y < outputs_.size() && flat; ++y) {
                const Block& b = block(y, x);
                for (std::size_t k = 0; k < b.rows * b.columns && flat; ++k)
                    flat = !b.on_kink[k % b.columns] && std::abs(b.numeric[k]) <= b.error[k] && std::abs(b.analytic[k]) <= 1e-12;
            }
            if (flat) blind(fmt::format("no output depends on {} at this point: any backward that gives zero would pass; choose a point, or a function, where one does",
                                        describe(inputs_[x])));
        }
        const detail::TapeState& tape = *outputs_.front().state();
        for (const std::uint32_t line : kinked_lines()) {
            const Sides sides = program_.sides({line});
            for (const Sides::Branch& branch : sides.branches())
                if ((branch.below == 0) != (branch.above == 0))
                    blind(fmt::format("{}: no number lies {} {:.6g}, so the slope there was not seen; take inputs on both sides",
                                      tape.label(static_cast<detail::Index>(line)), branch.below == 0 ? "below" : "above", branch.kink));
        }
    }

    /// The ops with kinks between the inputs and the outputs.
    std::vector<std::uint32_t> kinked_lines() const {
        std::vector<std::uint32_t> lines;
        for (const Var<double>& x : inputs_)
            for (const std::uint32_t line : program_.dependents(x.line()))
                if ((*outputs_.front().state())[line].op->has_kinks()) lines.push_back(line);
        std::sort(lines.begin(), lines.end());
        lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
        return lines;
    }

    /// An output element of −inf with a gradient of exactly 0: a masked logarithm, which has no slope to compare.
    bool masked(const Block& b, std::size_t row) const {
        const double* analytic = b.analytic.data() + row * b.columns;
        return outputs_[b.output].data()[row] == -HUGE_VAL && std::all_of(analytic, analytic + b.columns, [](double a) { return a == 0; });
    }

    void judge() {
        bool unresolved = false, unfinite = false;
        double worst_excess = -1;
        for (Block& b : blocks_) {
            std::vector<char> row_is_masked(b.rows);
            for (std::size_t i = 0; i < b.rows; ++i) row_is_masked[i] = masked(b, i);
            const auto skipped = [&](std::size_t k) { return b.on_kink[k % b.columns] || row_is_masked[k / b.columns]; };
            double scale = 0, exact_scale = 0;
            for (std::size_t k = 0; k < b.rows * b.columns; ++k) {
                if (skipped(k)) continue;
                if (std::isfinite(b.numeric[k])) scale = std::max(scale, std::abs(b.numeric[k]));
                exact_scale = std::max(exact_scale, std::abs(b.dual[k]));
            }
            report_.elements += b.rows * b.columns;
            for (std::size_t k = 0; k < b.rows * b.columns; ++k) {
                if (skipped(k)) continue;
                const double a = b.analytic[k], n = b.numeric[k], difference = std::abs(a - n);
                if (has_dual_ && exact_scale > 0) report_.dual = worse(report_.dual, std::abs(a - b.dual[k]) / exact_scale);
                if (!std::isfinite(a) || !std::isfinite(n)) {
                    unfinite = true;
                    if (std::isfinite(n) && b.error[k] <= options_.tolerance * scale) { // a smooth point with a wild gradient
                        ++report_.failed;
                        worst_excess = HUGE_VAL;
                        note_worst(b, k, HUGE_VAL);
                    }
                    continue;
                }
                const double relative = difference == 0 ? 0 : difference / std::max(scale, std::numeric_limits<double>::min());
                const double resolution = scale > 0 ? b.error[k] / scale : 0;
                report_.resolution = std::max(report_.resolution, resolution);
                const bool within = difference <= options_.tolerance * scale;
                const bool decided = difference > options_.tolerance * scale + b.slack(k);
                if (decided) ++report_.failed;
                if (!decided && (!within || resolution > options_.tolerance)) unresolved |= scale > 0 || difference > 0;
                if (within || decided) report_.difference = std::max(report_.difference, relative);
                const double excess = decided ? 1 + relative : relative;
                if (excess > worst_excess) {
                    worst_excess = excess;
                    note_worst(b, k, relative);
                }
            }
        }
        const bool broken = has_dual_ && !(report_.identity <= options_.identity_tolerance);
        if (broken && std::isfinite(report_.identity))
            say(fmt::format("the backward is not the transpose of the forward's derivative: ⟨w, Jv⟩ and ⟨Jᵀw, v⟩ differ by {:.2g} of Σ|terms|",
                            report_.identity));
        if (report_.failed > 0 || contract_broken_ || (broken && std::isfinite(report_.identity)))
            report_.verdict = Verdict::fail;
        else if (unfinite || (broken && !std::isfinite(report_.identity))) {
            report_.verdict = Verdict::inconclusive;
            say("values or slopes at this point are not finite; choose another point");
        } else if (unresolved) {
            report_.verdict = Verdict::inconclusive;
            say(fmt::format("the differences resolve {:.2g} of a block, coarser than the tolerance {:.2g}; choose a point where the output neither "
                            "saturates nor overflows",
                            report_.resolution, options_.tolerance));
        } else if (drowned_) {
            report_.verdict = Verdict::inconclusive;
            say("what is left of the gradient at this point is no larger than its rounding errors; choose a point that does not saturate");
        } else if (!report_.kinks.empty()) {
            report_.verdict = Verdict::kink;
        }
    }

    static double worse(double a, double b) { return std::isnan(b) || b > a ? b : a; }

    void note_worst(const Block& b, std::size_t k, double relative) {
        const Var<double>&y = outputs_[b.output], &x = inputs_[b.input];
        const detail::Record& record = (*y.state())[static_cast<detail::Index>(y.line())];
        report_.worst = {record.op != nullptr ? record.op->name() : "leaf",
                         describe(y),
                         describe(x),
                         multi_index(k / b.columns, y.shape()),
                         multi_index(k % b.columns, x.shape()),
                         b.analytic[k],
                         b.numeric[k],
                         relative,
                         options_.tolerance};
    }

    void say(const std::string& sentence) { report_.why += (report_.why.empty() ? "" : "; ") + sentence; }

    const std::vector<Var<double>>& outputs_;
    const std::vector<Var<double>>& inputs_;
    const GradcheckOptions options_;
    Replay<double> program_;
    std::vector<std::size_t> output_lines_;
    std::vector<Block> blocks_;
    bool has_dual_ = true, contract_broken_ = false;
    bool drowned_ = false; ///< the transpose identity is lost in rounding errors
    GradcheckReport report_;
};

} // namespace

const char* name(Verdict verdict) {
    switch (verdict) {
    case Verdict::pass: return "pass";
    case Verdict::fail: return "fail";
    case Verdict::kink: return "kink";
    case Verdict::inconclusive: return "inconclusive";
    }
    return "fail";
}

GradcheckReport gradcheck(const std::vector<Var<double>>& outputs, const std::vector<Var<double>>& inputs, const GradcheckOptions& options) {
    if (outputs.empty()) throw Error("gradcheck: no output was given");
    if (inputs.empty()) throw Error("gradcheck: no input was given; pass the variables to differentiate by");
    for (const Var<double>& x : inputs) {
        const detail::Index i = x.checked("gradcheck");
        if (x.state() != outputs.front().state())
            throw Error("gradcheck: input " + x.state()->label(i) + " is on another tape than the output");
        if (!(*x.state())[i].has(detail::Record::variable))
            throw Error("gradcheck: " + x.state()->label(i) + " is no variable; make it with tape.variable()");
    }
    if (!(options.tolerance > 0) || !(options.identity_tolerance > 0)) throw Error("gradcheck: tolerances must be positive");
    return Check(outputs, inputs, options).run();
}

DirectionalSlope directional_slope(const Var<double>& y, const Var<double>& x, std::uint64_t seed) {
    DirectionalSlope slope;
    const Array<double> gradient = grad(y, std::vector<Var<double>>{x}).front();
    Generator rng{Seed(seed)};
    const Array<double> direction = rng.standard_normal(x.shape());
    double size = 0;
    for (std::size_t j = 0; j < x.size(); ++j) {
        slope.backward += gradient.data()[j] * direction.data()[j];
        size = std::max(size, std::abs(x.data()[j]));
    }
    Replay<long double> program({y});
    const auto lines = program.dependents(x.line());
    const auto at = [&](long double t) {
        for (std::size_t j = 0; j < x.size(); ++j)
            program.values(x.line())[j] = x.data()[j] + t * static_cast<long double>(direction.data()[j]);
        program.run(lines);
        return *program.values(y.line());
    };
    // Order 6, with the order-4 slope as the error estimate; the best of a few steps.
    double least = HUGE_VAL;
    for (const double step : {2e-3, 2e-4, 2e-5}) {
        const long double h = step * (size > 0 ? size : 1);
        long double d[3];
        for (int k = 0; k < 3; ++k) d[k] = (at(h * (k + 1)) - at(-h * (k + 1))) / (2 * h * (k + 1));
        const long double sixth = (15 * d[0] - 6 * d[1] + d[2]) / 10, fourth = (4 * d[0] - d[1]) / 3;
        if (const double error = static_cast<double>(std::abs(sixth - fourth)); error < least) {
            least = error;
            slope.difference = static_cast<double>(sixth);
        }
    }
    slope.relative_error = std::abs(slope.backward - slope.difference) / std::abs(slope.difference);
    return slope;
}

std::string to_string(const GradcheckReport& report) {
    std::string text = fmt::format("{}: {} elements, {} wrong; against differences {:.2g}, dual numbers {:.2g}, transpose identity {:.2g}\n",
                                   name(report.verdict), report.elements, report.failed, report.difference, report.dual, report.identity);
    const JacobianElement& w = report.worst;
    if (report.verdict != Verdict::pass && !w.op.empty())
        text += fmt::format("  worst: {}, d {}[{}] / d {}[{}]: backward {:.17g}, differences {:.17g}, relative error {:.2g}, tolerance {:.2g}\n", w.op,
                            w.output, fmt::join(w.output_index, ", "), w.input, fmt::join(w.index, ", "), w.analytic, w.numeric,
                            w.relative_error, w.tolerance);
    for (const Kink& kink : report.kinks)
        text += fmt::format("  kink: {}[{}] → [{}]: slopes {:.6g} (left), {:.6g} (right); the backward takes {:.6g}\n", kink.input,
                            fmt::join(kink.index, ", "), fmt::join(kink.output_index, ", "), kink.left, kink.right, kink.analytic);
    if (!report.why.empty()) text += "  " + report.why + "\n";
    return text;
}

std::ostream& operator<<(std::ostream& out, const GradcheckReport& report) { return out << to_string(report); }

} // namespace chalkgrad
