// gradcheck: is a backward the derivative of its forward? Three independent oracles, and a report that says what is wrong where.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <chalkgrad/autograd/check/blame.hpp>
#include <chalkgrad/autograd/check/identity.hpp>
#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// What a check found. `kink`: all smooth elements are right, and some lie on a kink, where the value is one that lies between
/// the slopes on both sides. `inconclusive`: nothing wrong was seen, but at this point a fault could not have been seen either.
enum class Verdict { pass, fail, kink, inconclusive };
const char* name(Verdict verdict);

/// How much of a Jacobian is looked at. `projected`: a few random directions, and all of it only when one of them disagrees.
/// `automatic`: all of it up to four million elements.
enum class Coverage { automatic, full, projected };

struct GradcheckOptions {
    /// Largest accepted max|a − n| / max|n| of a Jacobian block (one output, one input): a analytic, n numeric.
    double tolerance = 1e-9;
    /// Largest accepted |⟨w, Jv⟩ − ⟨Jᵀw, v⟩| / Σ|wᵢ Jᵢⱼ vⱼ|, with J and Jv from dual numbers; and of declared identities.
    /// Where there are no dual numbers, a tenth of the error that is looked for in what differences tell.
    double identity_tolerance = 1e-13;
    /// Seed of the random directions.
    std::uint64_t seed = 0;
    /// Whether inputs that cannot show a fault make the verdict inconclusive: a gain of ones, a side of a clamp that no number
    /// lies on, an output that does not depend on an input. Off for the catalogue's samples, which cover each other.
    bool blind_spots = true;
    Coverage coverage = Coverage::automatic;
    /// Differences in double alone, as other checkers take them, at a tolerance of 1e-6 or more: no dual numbers, no identities, no
    /// contract.
    bool quick = false;
    /// Differences see through a stop_gradient() and the backward does not, so that what stops is named as wrong. With this, what
    /// lies behind a stop is held fixed instead.
    bool hold_stops = false;
    /// Runs both instruction sets of the kernels too. That switches the whole process: only where no other thread computes.
    bool both_isas = false;
    /// What is known of the Jacobian, by the names of the inputs. A product of one number stands for every output element.
    std::vector<Identity> identities = {};
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
    bool declared = true;       ///< the op names this kink; else it was seen in the differences
};

struct GradcheckReport {
    Verdict verdict = Verdict::pass;
    JacobianElement worst;          ///< of the smooth elements
    double difference = 0;          ///< largest relative error against the differences
    double dual = 0;                ///< the same against Jacobian columns by dual numbers
    double transpose = 0;           ///< of the transpose identity
    std::optional<double> identity; ///< of the identities that were declared; absent where there were none
    double second_order =
        0; ///< relative error of H v against differences of gradients, or of its symmetry; H of ⟨w, y⟩
    double resolution = 0; ///< largest estimated error of the differences themselves, relative to their block
    std::size_t elements = 0, failed = 0; ///< of the Jacobian
    bool projected = false;               ///< directions were checked, not elements
    std::vector<Kink> kinks;
    std::vector<Blame> blame; ///< after a fail: the lines whose own backward is wrong, with the likely cause
    /// After inconclusive: one array for each input, a point that would show a fault; empty where none was found.
    std::vector<Array<double>> proposal;
    std::string why;   ///< one or more sentences; empty for a plain pass
    std::string notes; ///< what was left out, as for ops that run in double only; no reason for the verdict

    explicit operator bool() const { return verdict == Verdict::pass || verdict == Verdict::kink; }
};

/// The report in words: verdict, oracles, the worst element, kinks.
std::string to_string(const GradcheckReport& report);
std::ostream& operator<<(std::ostream& out, const GradcheckReport& report);
/// The report as one JSON object, as `chalkgrad gradcheck --json` prints it; non-finite numbers are words.
std::string to_json(const GradcheckReport& report);

/// Checks the program that leads from the variables `inputs` to `outputs` (all on one tape, double): its Jacobian against
/// differences of the forward run in long double, against dual numbers and against what `options` says is known; and what
/// the tape relies on. Kept gradients are not touched. Never throws for a wrong gradient; throws Error for inputs that are
/// no variables of the tape.
GradcheckReport gradcheck(const std::vector<Var<double>>& outputs, const std::vector<Var<double>>& inputs,
    const GradcheckOptions& options = {});

/// Runs outputs and gradients on both instruction sets of the kernels: how they differ by more than rounding, in words, or nothing (also
/// where this machine has one only). Switches the whole process meanwhile: only where no other thread computes.
std::string compare_instruction_sets(
    const std::vector<Var<double>>& outputs, const std::vector<Var<double>>& inputs, std::uint64_t seed = 0);

/// What gradcheck(f, point) calls: f from the variables of a tape to its outputs.
using RecordedFunction = std::function<std::vector<Var<double>>(const std::vector<Var<double>>&)>;

/// Checks f at a point; the variables are called x0, x1, … Beyond the program that f records there it is checked that f records
/// it: two runs agree to the last bit, the point stays as it is, and close by f still does what the tape has recorded. Throws
/// Error for an empty point, and whatever f throws at the point itself.
GradcheckReport gradcheck_function(
    const RecordedFunction& f, const std::vector<Array<double>>& point, const GradcheckOptions& options = {});

/// The same for any f(const std::vector<Var<double>>&) that returns a Var or a vector of Vars.
template <class F>
requires std::is_invocable_v < F&, const std::vector<Var<double>>
& > GradcheckReport gradcheck(F&& f, const std::vector<Array<double>>& point, const GradcheckOptions& options = {}) {
    const auto recorded = [&f](const std::vector<Var<double>>& x) {
        auto y = f(x);
        if constexpr (requires { y.value(); }) return std::vector<Var<double>>{std::move(y)};
        else return y;
    };
    return gradcheck_function(recorded, point, options);
}

/// The slope of a one-element y along a random direction of a variable x, by the backward and by differences in long double:
/// one number instead of a Jacobian.
struct DirectionalSlope {
    double backward = 0, difference = 0;
    double relative_error = 0; ///< |backward − difference| / |difference|
};
DirectionalSlope directional_slope(const Var<double>& y, const Var<double>& x, std::uint64_t seed = 0);

} // namespace chalkgrad
