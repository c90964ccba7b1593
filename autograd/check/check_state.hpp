// The inside of gradcheck: the program under check, its Jacobian as each oracle sees it, and the steps of a check.
// Users see gradcheck.hpp.
#pragma once // internal

#include <algorithm>
#include <limits>

#include <chalkgrad/autograd/check/difference.hpp>
#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/autograd/tape/numbers.hpp>
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

/// The columns of a row that its output element may feel: `count` from `first` on. Their numbers lie from `at` on.
struct Span {
    std::size_t first = 0, count = 0, at = 0;

    bool holds(std::size_t column) const { return column - first < count; }
    std::size_t operator[](std::size_t column) const { return at + column - first; }
};

/// The numbers of one (output, input) pair: rows are output elements, columns input elements. Only spans are stored: outside
/// them the Jacobian is 0, forwards and backwards (check_structure.cpp).
struct Block {
    std::size_t output = 0, input = 0; ///< positions in the caller's lists
    std::size_t rows = 0, columns = 0;
    std::vector<Span> spans; ///< by row
    Matrix analytic, numeric, error, dual;
    Matrix nearby;              ///< working memory: the backward beside the point
    Matrix input_rounding;      ///< how much rounding its inputs changes the backward's; empty: not measured
    Matrix evaluation_rounding; ///< what the backward loses in double beside long double, where that can be rounding;
                                ///< empty: not measured
    double rounding = 0;        ///< of a slope in double: units in the last place of max|y| / smallest length
    std::vector<char> on_kink;  ///< by column: 1 for a kink that an op declares, 2 for one that only differences show
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
    /// What an element may be off for reasons of rounding, the differences' and the backward's own.
    double slack(std::size_t k) const {
        return 10 * error[k] + rounding + (input_rounding.empty() ? 0 : 30 * input_rounding[k]) +
               (evaluation_rounding.empty() ? 0 : evaluation_rounding[k]);
    }
};

/// What a check works on, and what it has found so far.
struct CheckState {
    CheckState(const std::vector<Var<double>>& outputs, const std::vector<Var<double>>& inputs,
        const GradcheckOptions& options);

    const std::vector<Var<double>>&outputs, &inputs;
    const GradcheckOptions& options;
    Replay<double> program;
    std::vector<std::size_t> output_lines;
    std::vector<std::vector<std::uint32_t>> dependents; ///< of each input
    std::vector<std::uint32_t> lines;                   ///< all between an input and an output
    std::vector<std::uint32_t> kinked_lines;            ///< those of them with kinks
    std::vector<std::vector<double>> lengths;           ///< of each input: see difference.hpp
    std::size_t rows = 0;                               ///< elements of all outputs
    std::vector<Block> blocks;
    GradcheckReport report;
    bool has_dual = true;           ///< dual numbers and long double can run the program
    bool contract_broken = false;   ///< the backward is not what the tape relies on
    bool sparsity_violated = false; ///< something was felt outside a span: the structure does not hold
    bool below_noise = false;       ///< the transpose identity is lost in rounding errors

    Block& block(std::size_t output, std::size_t input) { return blocks[output * inputs.size() + input]; }
    /// `structure`: by input the spans of all output elements, nothing where each may feel all of it.
    void allocate_blocks(const std::vector<std::vector<Span>>& structure);
    double shortest(std::size_t x) const { return *std::min_element(lengths[x].begin(), lengths[x].end()); }
    /// The largest finite number of a variable, without its sign.
    static double size_of(const Var<double>& v);
    /// How much of d y / d x may be lost to rounding inside ops.
    double loss(std::size_t y, std::size_t x, double epsilon) const {
        return rounding_loss(epsilon, size_of(outputs[y]), size_of(inputs[x]), shortest(x));
    }
    void say(const std::string& sentence) { report.why += (report.why.empty() ? "" : "; ") + sentence; }
    /// Says what breaks the contract; the verdict will be fail.
    void break_contract(const std::string& sentence) {
        contract_broken = true;
        say(sentence);
    }
    /// Random numbers of one purpose: no seed that a caller would use, or v could be x itself, the one direction in
    /// which the derivative of a norm is 0.
    Generator stream(std::uint64_t purpose, std::uint64_t which = 0) const {
        return Generator(Seed{0x6772616463686bu + purpose, options.seed, which});
    }
    /// Puts the inputs back to the recorded point.
    void restore();

    /// Changes every input by up to `units` of `epsilon` relative to itself, runs f, and changes them back. False,
    /// without f, where that leads across a kink.
    template <class F> bool beside(std::uint64_t which, double change, F f) {
        const std::uint64_t here = program.kinks(kinked_lines).fingerprint();
        Generator rng = stream(2, which);
        for (const Var<double>& x : inputs)
            for (std::size_t j = 0; j < x.size(); ++j)
                program.values(x.line())[j] = x.data()[j] * (1 + rng.uniform(-change, change));
        program.run();
        const bool same = program.kinks(kinked_lines).fingerprint() == here;
        if (same) f();
        restore();
        return same;
    }
};

/// The change of an input that rounding makes, for CheckState::beside.
inline constexpr double a_few_units = 4 * std::numeric_limits<double>::epsilon();

/// The name, or "line 7".
std::string describe(const Var<double>& x);

/// A random direction for each input.
std::vector<Array<double>> draw_directions(const CheckState& subject, Generator& rng);
/// A random cotangent, 0 where the output is not finite: masked, or overflown; judge() looks at it.
Array<double> draw_cotangent(const Var<double>& y, Generator& rng);
/// Runs the program at the subject's point with these tangents.
void set_tangents(CheckState& subject, Replay<Dual<double>>& program, const std::vector<Array<double>>& directions);

// ---- the steps; each fills in a part of the subject

/// By input the spans of all output elements, one output behind the other; nothing for an input that all of them may feel.
std::vector<std::vector<Span>> find_structure(CheckState& subject);
/// Rows of one output whose spans do not overlap, so that one sweep gives all of them.
std::vector<std::vector<std::size_t>> shared_sweeps(const CheckState& subject, std::size_t output);
void fill_backward(CheckState& subject, Matrix Block::*matrix);
void fill_dual(CheckState& subject);
void fill_differences(CheckState& subject);
/// Measures Block::wobble and Block::inexact, if an element may turn out wrong.
void measure_rounding(CheckState& subject);
/// Measures Block::inexact, once.
void measure_inexact(CheckState& subject);
/// ⟨w, Jv⟩ = ⟨Jᵀw, v⟩ for random v and w, exact at kinks too, since both sides take the same branch.
void check_transpose(CheckState& subject);
void check_identities(CheckState& subject);
void check_contract(CheckState& subject);
void check_second_order(CheckState& subject);
/// A few random directions instead of a Jacobian; true where all agree.
bool agrees_along_directions(CheckState& subject);
/// The verdict from all that was found.
void judge(CheckState& subject);
/// Inputs that cannot show a fault: nothing wrong was seen, and nothing could have been. Proposes a better point.
void look_for_blind_spots(CheckState& subject);

} // namespace chalkgrad::detail
