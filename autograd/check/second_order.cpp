// Second order: H v by dual numbers through the backward, H the Hessian of ⟨w, y⟩ over all outputs and inputs.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

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
    return std::any_of(s.lines.begin(), s.lines.end(), [&](std::uint32_t line) {
        std::vector<const Shape*> shapes;
        for (std::size_t k = 0; k < tape[line].input_count; ++k) {
            const Index in = tape.inputs(tape[line])[k];
            shapes.push_back(in == absent ? nullptr : tape[in].shape);
        }
        return tape[line].op->saved({shapes.data(), shapes.size()}) > 0;
    });
}

} // namespace

Findings check_second_order(CheckedProgram& s) {
    Findings found;
    Generator rng = s.stream(5);
    std::vector<Array<double>> w, directions[2] = {draw_directions(s, rng), draw_directions(s, rng)};
    for (const Var<double>& y : s.outputs) w.push_back(draw_cotangent(y, rng));
    double shortest = HUGE_VAL;
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        shortest = std::min(shortest, s.shortest(x) / s.lengths[x].front());
        for (auto& direction : directions)
            for (double& v : direction[x]) v *= s.lengths[x].front();
    }

    Replay<DualNumber> dual(s.outputs);
    std::vector<double> product[2], gradient; // H u, H v
    for (int k = 0; k < 2; ++k) {
        set_tangents(s, dual, directions[k]);
        const auto g = gradient_of(s, dual, w);
        gradient.clear();
        for (const DualNumber& n : g) {
            product[k].push_back(n.d);
            gradient.push_back(n.v);
        }
    }
    const double size = std::max(largest(product[0]), largest(product[1]));
    if (!std::isfinite(size) || !std::isfinite(largest(gradient))) return found;

    // What rounding inside the ops may change: of a gradient, over the lengths along which it moves.
    double slowest = 0;
    for (std::size_t x = 0; x < s.inputs.size(); ++x) slowest = std::max(slowest, s.lengths[x].front() / s.shortest(x));
    std::vector<double> slack;
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        double loss = 1e-13 * largest(gradient);
        for (std::size_t y = 0; y < s.outputs.size(); ++y)
            loss = std::max(loss, slowest * s.loss(y, x, std::numeric_limits<double>::epsilon()));
        slack.insert(slack.end(), s.inputs[x].size(), loss);
    }

    // uᵀ H v = vᵀ H u
    double left = 0, right = 0, terms = 0, allowed = 0;
    std::size_t k = 0;
    for (std::size_t x = 0; x < s.inputs.size(); ++x)
        for (std::size_t j = 0; j < s.inputs[x].size(); ++j, ++k) {
            const double a = directions[0][x].data()[j] * product[1][k], b = directions[1][x].data()[j] * product[0][k];
            left += a;
            right += b;
            terms += std::abs(a) + std::abs(b);
            allowed += slack[k] * (std::abs(directions[0][x].data()[j]) + std::abs(directions[1][x].data()[j]));
        }
    if (terms > 0) found.report.second_order = std::abs(left - right) / terms;
    bool broken = terms > 0 && std::abs(left - right) > s.options.tolerance * terms + allowed;

    // H v against differences of the gradient along v, in long double
    Replay<long double> program(s.outputs);
    std::vector<double> best(product[1].size()), error(product[1].size(), HUGE_VAL);
    const std::uint64_t here = program.kinks(s.kinked_lines).fingerprint();
    const auto at = [&](long double t) {
        for (std::size_t x = 0; x < s.inputs.size(); ++x)
            for (std::size_t j = 0; j < s.inputs[x].size(); ++j)
                program.values(s.inputs[x].line())[j] =
                    s.inputs[x].data()[j] + t * static_cast<long double>(directions[1][x].data()[j]);
        program.run();
        return gradient_of(s, program, w);
    };
    std::vector<long double> up[3], down[3];
    /// `points` steps up and as many down; false where that crosses a kink.
    const auto sample = [&](long double h, int points) {
        bool smooth = true;
        for (int n = 0; n < points; ++n) {
            const long double t = h * static_cast<long double>(n + 1);
            up[n] = at(t);
            smooth = smooth && program.kinks(s.kinked_lines).fingerprint() == here;
            down[n] = at(-t);
            smooth = smooth && program.kinks(s.kinked_lines).fingerprint() == here;
        }
        return smooth;
    };
    const double length = std::min(shortest, 1.0);
    constexpr long double epsilon = std::numeric_limits<long double>::epsilon();
    const auto confirmed = [&] {
        const long double h = step_of<long double>(short_fraction, length), step[2] = {h, 2 * h};
        if (!sample(h, 2)) return false;
        for (std::size_t i = 0; i < best.size(); ++i) {
            const long double u[2] = {up[0][i], up[1][i]}, d[2] = {down[0][i], down[1][i]};
            const auto estimate = short_estimate(u, d, step, static_cast<long double>(size));
            best[i] = static_cast<double>(estimate.slope);
            error[i] = static_cast<double>(estimate.error + 8 * epsilon * std::abs(u[1]) / h);
            if (!(error[i] <= 0.01 * s.options.tolerance * size &&
                    std::abs(best[i] - product[1][i]) <= 0.1 * s.options.tolerance * size))
                return false;
        }
        return true;
    };
    const auto measure = [&](double fraction) {
        const long double h = step_of<long double>(fraction, length);
        if (!sample(h, 3)) return;
        for (std::size_t i = 0; i < best.size(); ++i) {
            const auto estimate = central_estimate(up, down, i, h);
            const double e = static_cast<double>(estimate.error + 8 * epsilon * std::abs(up[2][i]) / h);
            if (!std::isfinite(e) || e >= error[i]) continue;
            best[i] = static_cast<double>(estimate.slope);
            error[i] = e;
        }
    };
    if (!confirmed()) {
        error.assign(error.size(), HUGE_VAL);
        for (const double fraction : {2e-3, 2e-4, 2e-5}) measure(fraction);
    }
    double worst = 0, scale = size;
    for (std::size_t i = 0; i < best.size(); ++i)
        if (std::isfinite(error[i])) scale = std::max(scale, std::abs(best[i]));
    for (std::size_t i = 0; i < best.size(); ++i) {
        if (!std::isfinite(error[i])) continue;
        const double gap = std::abs(best[i] - product[1][i]);
        if (error[i] <= s.options.tolerance * scale) worst = std::max(worst, gap);
        broken = broken || gap > 10 * s.options.tolerance * scale + 20 * error[i] + slack[i];
    }
    if (scale > largest(slack)) found.report.second_order = std::max(found.report.second_order, worst / scale);
    else found.report.second_order = 0; // far in saturation: rounding is all that is left of H
    if (broken)
        found.break_contract(
            fmt::format("H v by dual numbers through the backward is not symmetric, or not what differences of "
                        "gradients give: off by {:.2g}; {}",
                found.report.second_order,
                keeps_numbers(s) ? "a rule's saved numbers must be of the type it runs in"
                                 : "a backward must compute in the type it runs in, and be a gradient"));
    return found;
}

} // namespace chalkgrad::detail
