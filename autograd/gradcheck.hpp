// gradcheck: is a backward the derivative of its forward? Two independent oracles, and a report that says what is wrong where.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <chalkgrad/autograd/blame.hpp>
#include <chalkgrad/autograd/tape.hpp>

namespace chalkgrad {

/// What a check found. `kink`: all smooth elements are right, and some lie on a kink, where the value is one that lies between
/// the slopes on both sides. `inconclusive`: nothing wrong was seen, but the differences could not decide.
enum class Verdict { pass, fail, kink, inconclusive };
const char* name(Verdict verdict);

struct GradcheckOptions {
    /// Largest accepted max|a − n| / max|n| of a Jacobian block (one output, one input): a analytic, n numeric.
    double tolerance = 1e-9;
    /// Largest accepted |⟨w, Jv⟩ − ⟨Jᵀw, v⟩| / Σ|wᵢ Jᵢⱼ vⱼ|, with J and Jv from dual numbers.
    double identity_tolerance = 1e-13;
    /// Seed of the random w and v.
    std::uint64_t seed = 0;
    /// Whether inputs that cannot show a fault make the verdict inconclusive: a gain of ones, a side of a clamp that no number
    /// lies on, an output that does not depend on an input. Off for the catalogue's samples, which cover each other.
    bool blind_spots = true;
};

/// One element of a Jacobian: d(output[row]) / d(input[column]), each by its multi-index.
struct JacobianElement {
    std::string op;     ///< the op that made the output
    std::string output; ///< its name or tape line
    std::string input;
    std::vector<std::size_t> output_index, index;
    double analytic = 0;       ///< what the backward says
    double numeric = 0;        ///< what the differences say
    double relative_error = 0; ///< |analytic − numeric| / largest |numeric| of the block
    double tolerance = 0;      ///< the largest relative error accepted here
};

/// An input element that lies on a kink, with the slopes of one output element on both sides of it.
struct Kink {
    std::string input;
    std::vector<std::size_t> index, output_index;
    double left = 0, right = 0; ///< one-sided slopes
    double analytic = 0;        ///< what the backward says
    double convention = 0;      ///< where that lies: 0 = left slope, 1 = right slope, ½ = their mean
};

struct GradcheckReport {
    Verdict verdict = Verdict::pass;
    JacobianElement worst;  ///< of the smooth elements
    double difference = 0;  ///< largest relative error against the differences
    double dual = 0;        ///< the same against Jacobian columns by dual numbers
    double identity = 0;    ///< of the transpose identity
    double resolution = 0;  ///< largest estimated error of the differences themselves, relative to their block
    std::size_t elements = 0, failed = 0; ///< of the Jacobian
    std::vector<Kink> kinks;
    std::vector<Blame> blame; ///< after a fail: the lines whose own backward is wrong, with the likely cause
    std::string why; ///< one or more sentences; empty for a plain pass

    explicit operator bool() const { return verdict == Verdict::pass || verdict == Verdict::kink; }
};

/// The report in words: verdict, oracles, the worst element, kinks.
std::string to_string(const GradcheckReport& report);
std::ostream& operator<<(std::ostream& out, const GradcheckReport& report);

/// Checks the program that leads from the variables `inputs` to `outputs` (all on one tape, double): the full Jacobian against
/// differences of the forward run in long double, and against dual numbers. Kept gradients are not touched. Never throws for
/// a wrong gradient; throws Error for inputs that are no variables of the tape.
GradcheckReport gradcheck(const std::vector<Var<double>>& outputs, const std::vector<Var<double>>& inputs,
                          const GradcheckOptions& options = {});

/// The slope of a one-element y along a random direction of a variable x, by the backward and by differences in long double:
/// one number instead of a Jacobian, for programs too large for gradcheck.
struct DirectionalSlope {
    double backward = 0, difference = 0;
    double relative_error = 0; ///< |backward − difference| / |difference|
};
DirectionalSlope directional_slope(const Var<double>& y, const Var<double>& x, std::uint64_t seed = 0);

/// Checks a function of Vars at the given point: f(const std::vector<Var<double>>&) returns a Var or a vector of Vars.
template <class F>
GradcheckReport gradcheck(F&& f, const std::vector<Array<double>>& point, const GradcheckOptions& options = {}) {
    Tape tape;
    std::vector<Var<double>> inputs;
    for (std::size_t i = 0; i < point.size(); ++i) inputs.push_back(tape.variable(point[i], "x" + std::to_string(i)));
    const auto y = f(static_cast<const std::vector<Var<double>>&>(inputs));
    if constexpr (requires { y.value(); })
        return gradcheck(std::vector<Var<double>>{y}, inputs, options);
    else
        return gradcheck(y, inputs, options);
}

} // namespace chalkgrad
