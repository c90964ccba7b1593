// Second order: H v by dual numbers through the backward, H the Hessian of ⟨w, y⟩ over all outputs and inputs.
#include <chalkgrad/autograd/check/steps.hpp>

namespace chalkgrad::detail {
namespace {

using DualNumber = Dual<double>;

/// The gradient of ⟨w, y⟩ over all outputs by all inputs, in one list, at the program's point.
template <class U>
std::vector<U> gradient_of(CheckedProgram& s, Replay<U>& program, const std::vector<Array<double>>& w) {
    std::vector<U> sum;
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        const std::vector<U> of_one = gradients_of(s, program, y, w[y]);
        sum.resize(of_one.size(), U(0));
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += of_one[k];
    }
    return sum;
}

double largest(const std::vector<double>& numbers) {
    double size = 0;
    for (const double n : numbers) size = std::max(size, std::abs(n));
    return size;
}

/// Whether an op of the program saves anything for its backward.
bool keeps_numbers(const CheckedProgram& s) {
    const TapeState& tape = *s.outputs.front().state();
    return std::any_of(
        s.lines.begin(), s.lines.end(), [&](std::uint32_t line) { return tape.saved_size(tape[line]) > 0; });
}

/// How far H v is from what it must be where s.program stands, and whether that is too far.
struct Asymmetry {
    double size = 0;
    bool broken = false;
};

Asymmetry asymmetry_of(CheckedProgram& s) {
    Generator rng = s.stream(5);
    std::vector<Array<double>> w, directions[2] = {draw(s.inputs, rng), draw(s.inputs, rng)};
    for (const Var<double>& y : s.outputs) w.push_back(draw_cotangent(y, rng));
    double length = 1, slowest = 0;
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        const double whole = s.lengths[x].front();
        length = std::min(length, s.shortest(x) / whole);
        slowest = std::max(slowest, whole / s.shortest(x));
        for (auto& direction : directions)
            for (double& v : direction[x]) v *= whole;
    }

    Replay<DualNumber> dual(s.outputs);
    std::vector<double> product[2], gradient; // H u, H v
    for (int k = 0; k < 2; ++k) {
        set_tangents(s, dual, directions[k]);
        gradient.clear();
        for (const DualNumber& n : gradient_of(s, dual, w)) {
            product[k].push_back(n.d);
            gradient.push_back(n.v);
        }
    }
    const double size = std::max(largest(product[0]), largest(product[1]));
    if (!std::isfinite(size) || !std::isfinite(largest(gradient))) return {};

    // What rounding inside the ops may change: of a gradient, over the lengths along which it moves.
    std::vector<double> slack;
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        double loss = 1e-13 * largest(gradient);
        for (std::size_t y = 0; y < s.outputs.size(); ++y)
            loss = std::max(loss, 10 * slowest * s.loss(y, x, std::numeric_limits<double>::epsilon()));
        slack.insert(slack.end(), s.inputs[x].size(), loss);
    }

    // uᵀ H v = vᵀ H u
    Asymmetry result;
    Gap<double> gap;
    double allowed = 0;
    std::size_t k = 0;
    for (std::size_t x = 0; x < s.inputs.size(); ++x)
        for (std::size_t j = 0; j < s.inputs[x].size(); ++j, ++k) {
            const double u = directions[0][x].data()[j], v = directions[1][x].data()[j];
            gap.add(u * product[1][k]);
            gap.add(-v * product[0][k]);
            allowed += slack[k] * (std::abs(u) + std::abs(v));
        }
    if (gap.terms > 0) result.size = std::abs(gap.gap) / gap.terms;
    result.broken = std::abs(gap.gap) > s.options.tolerance * gap.terms + allowed;

    // H v against differences of the gradient along v, in long double
    Replay<long double> program(s.outputs);
    const auto at = [&](long double t) {
        for (std::size_t x = 0; x < s.inputs.size(); ++x) {
            const std::size_t line = s.inputs[x].line();
            for (std::size_t j = 0; j < s.inputs[x].size(); ++j)
                program.values(line)[j] =
                    s.program.values(line)[j] + t * static_cast<long double>(directions[1][x].data()[j]);
        }
        program.run();
        return gradient_of(s, program, w);
    };
    at(0);
    const std::uint64_t here = program.kinks(s.kinked_lines).fingerprint();
    std::vector<long double> up[3], down[3];
    /// `points` steps up and as many down; false where that crosses a kink, or an op refuses such numbers.
    const auto sample = [&](long double h, int points) {
        try {
            for (int n = 0; n < points; ++n)
                for (const int side : {1, -1}) {
                    (side > 0 ? up : down)[n] = at(static_cast<long double>(side * (n + 1)) * h);
                    if (program.kinks(s.kinked_lines).fingerprint() != here) return false;
                }
        } catch (const std::exception&) { return false; }
        return true;
    };
    constexpr long double epsilon = std::numeric_limits<long double>::epsilon();
    Slopes slopes{std::vector<double>(slack.size()), std::vector<double>(slack.size(), HUGE_VAL)};
    const auto confirmed = [&] {
        const long double h = step_of<long double>(short_fraction, length), step[2] = {h, 2 * h};
        if (!sample(h, 2)) return false;
        for (std::size_t i = 0; i < slack.size(); ++i) {
            const long double u[2] = {up[0][i], up[1][i]}, d[2] = {down[0][i], down[1][i]};
            const auto [slope, distance] = central_estimate<2>(u, d, step);
            slopes.slope[i] = static_cast<double>(slope);
            slopes.error[i] = static_cast<double>(
                short_error(distance, static_cast<long double>(size)) + 8 * epsilon * std::abs(u[1]) / h);
            if (!(slopes.error[i] <= 0.01 * s.options.tolerance * size &&
                    std::abs(slopes.slope[i] - product[1][i]) <= 0.1 * s.options.tolerance * size))
                return false;
        }
        return true;
    };
    if (!confirmed()) {
        Trail<long double> trail(slack.size());
        for (const double fraction : {2e-3, 2e-4, 2e-5, 2e-6}) {
            const long double h = step_of<long double>(fraction, length);
            if (!sample(h, 3)) continue;
            for (std::size_t i = 0; i < slack.size(); ++i) {
                const long double u[3] = {up[0][i], up[1][i], up[2][i]}, d[3] = {down[0][i], down[1][i], down[2][i]},
                                  step[3] = {h, 2 * h, 3 * h};
                Estimate<long double> estimate = central_estimate<3>(u, d, step);
                const long double noise = 8 * epsilon * std::abs(up[2][i]) / h;
                estimate.error += noise;
                trail.add(i, estimate, noise);
            }
        }
        slopes = std::move(trail.best);
    }
    double worst = 0, scale = size;
    for (std::size_t i = 0; i < slack.size(); ++i)
        if (std::isfinite(slopes.error[i])) scale = std::max(scale, std::abs(slopes.slope[i]));
    for (std::size_t i = 0; i < slack.size(); ++i) {
        if (!std::isfinite(slopes.error[i])) continue;
        const double off = std::abs(slopes.slope[i] - product[1][i]);
        if (slopes.error[i] <= s.options.tolerance * scale) worst = std::max(worst, off);
        result.broken |= off > 10 * s.options.tolerance * scale + 20 * slopes.error[i] + slack[i];
    }
    // Far in saturation rounding is all that is left of H.
    result.size = scale > largest(slack) ? std::max(result.size, worst / scale) : 0;
    return result;
}

} // namespace

Findings check_second_order(CheckedProgram& s) {
    Findings found;
    const Asymmetry here = asymmetry_of(s);
    found.report.second_order = here.size;
    if (!here.broken) return found;
    // Where an inner slope is infinite the chain rule gives no H. Close by it does, and a mistake is one there too.
    Generator rng = s.stream(16);
    for (std::size_t x = 0; x < s.inputs.size(); ++x)
        for (std::size_t j = 0; j < s.inputs[x].size(); ++j)
            s.program.values(s.inputs[x].line())[j] += 1e-2 * s.shortest(x) * rng.uniform(-1, 1);
    s.program.run();
    const bool broken = !s.all_finite() || asymmetry_of(s).broken;
    s.restore();
    if (broken)
        found.break_contract(
            fmt::format("H v by dual numbers through the backward is not symmetric, or not what differences of "
                        "gradients give: off by {:.2g}; {}",
                found.report.second_order,
                keeps_numbers(s) ? "a rule's saved numbers must be of the type it runs in"
                                 : "a backward must compute in the type it runs in, and be a gradient"));
    else {
        found.nothing_seen = true;
        found.say(
            "close to this point the second derivatives are right, at it they are not: an inner slope is not "
            "finite; choose another point");
    }
    return found;
}

} // namespace chalkgrad::detail
