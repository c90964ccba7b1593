// The program under check, and names for what a report says of it.
#pragma once // internal

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <chalkgrad/autograd/check/difference.hpp>
#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/autograd/tape/numbers.hpp>
#include <chalkgrad/autograd/tape/replay.hpp>

namespace chalkgrad::detail {

/// Lengths over which a program may bend along a leaf: the size of its numbers, and what the ops that read it declare.
std::vector<double> lengths(const Var<double>& x);

/// The program under check at its recorded point, and what is known of it beforehand. A step may run it elsewhere, and restores it.
struct CheckedProgram {
    CheckedProgram(const std::vector<Var<double>>& outputs, const std::vector<Var<double>>& inputs,
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
    std::string no_dual;                                ///< why dual numbers and long double cannot run it; or nothing
    bool has_dual = true;                               ///< they can, and are wanted
    bool finds_structure = true;                        ///< else every output element gets a sweep of its own

    double shortest(std::size_t x) const { return *std::min_element(lengths[x].begin(), lengths[x].end()); }
    /// The largest finite number of a variable, without its sign.
    static double size_of(const Var<double>& v);
    /// How much of d y / d x may be lost to rounding inside ops.
    double loss(std::size_t y, std::size_t x, double epsilon) const {
        return rounding_loss(epsilon, size_of(outputs[y]), size_of(inputs[x]), shortest(x));
    }
    /// Random numbers of one purpose: no seed that a caller would use, or v could be x itself, the one direction in
    /// which the derivative of a norm is 0.
    Generator stream(std::uint64_t purpose, std::uint64_t which = 0) const {
        return Generator(Seed{0x6772616463686bu + purpose, options.seed, which});
    }
    /// Whether every output is finite where the program stands.
    bool all_finite();
    /// Puts the inputs back to the recorded point.
    void restore();

    /// Calls f with the inputs at these numbers, unless an op refuses them or an output is not finite there.
    template <class F> void at_point(const std::vector<Array<double>>& point, F f) {
        try {
            for (std::size_t x = 0; x < inputs.size(); ++x)
                std::copy(point[x].begin(), point[x].end(), program.values(inputs[x].line()));
            program.run();
            if (all_finite()) f();
        } catch (const std::exception&) {}
    }

    /// Changes every input by up to `units` of `epsilon` relative to itself, runs f, and changes them back. False,
    /// without f, where that leads across a kink.
    template <class F> bool at_perturbed_inputs(std::uint64_t which, double change, F f) {
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

/// The change of an input that rounding makes, for CheckedProgram::at_perturbed_inputs.
inline constexpr double a_few_units = 4 * std::numeric_limits<double>::epsilon();

/// The name, or "line 7".
std::string describe(const Var<double>& x);

/// Random numbers in the shape of each: directions, or cotangents.
std::vector<Array<double>> draw(const std::vector<Var<double>>& vars, Generator& rng);
/// A random cotangent, 0 where the output is not finite: masked, or overflown; verdict_of() looks at it.
Array<double> draw_cotangent(const Var<double>& y, Generator& rng);
/// Runs the program at the recorded point with these tangents.
void set_tangents(CheckedProgram& s, Replay<Dual<double>>& program, const std::vector<Array<double>>& directions);

/// The gradients of ⟨w, y⟩ for one output y by all inputs, one behind the other, where the program stands; 0 where none arrives.
template <class U, class Numbers>
std::vector<U> gradients_of(const CheckedProgram& s, Replay<U>& program, std::size_t y, const Numbers& w) {
    const std::vector<U> cotangent(w.begin(), w.end());
    program.backward(s.output_lines[y], cotangent.data());
    std::vector<U> all;
    for (const Var<double>& x : s.inputs) {
        const U* g = program.gradient(x.line());
        if (g != nullptr) all.insert(all.end(), g, g + x.size());
        else all.resize(all.size() + x.size(), U(0));
    }
    return all;
}

} // namespace chalkgrad::detail
