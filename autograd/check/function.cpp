// gradcheck of a function rather than of one recording of it: does f record all it does?
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include <chalkgrad/autograd/check/checked_program.hpp>

namespace chalkgrad {
namespace {

using Vars = std::vector<Var<double>>;
using Point = std::vector<Array<double>>;

/// f on a tape of its own.
struct Recording {
    Tape tape;
    Vars inputs, outputs;

    Recording(const RecordedFunction& f, const Point& point) {
        for (std::size_t i = 0; i < point.size(); ++i)
            inputs.push_back(tape.variable(point[i], "x" + std::to_string(i)));
        outputs = f(inputs);
    }
};

bool same_bits(const Array<double>& a, const Array<double>& b) {
    return a.shape() == b.shape() && (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

/// The first output whose shape differs, in words; or nothing.
std::string other_shape(const Vars& here, const Vars& there) {
    if (here.size() != there.size()) return fmt::format("{} outputs, then {}", here.size(), there.size());
    for (std::size_t y = 0; y < here.size(); ++y)
        if (here[y].shape() != there[y].shape())
            return fmt::format("shape {}, then {}", to_string(here[y].shape()), to_string(there[y].shape()));
    return {};
}

bool stops_gradients(const Vars& outputs) {
    const detail::TapeState& tape = *outputs.front().state();
    for (detail::Index i = 0; i < tape.size(); ++i)
        if (tape[i].op != nullptr && tape[i].op->blocks_gradient()) return true;
    return false;
}

/// Close by, f must do what the tape does there: else it computes something from the numbers of its inputs that is not
/// recorded.
std::string check_nearby(const RecordedFunction& f, const Recording& recorded, const Point& point, std::uint64_t seed) {
    if (stops_gradients(recorded.outputs)) return {}; // those numbers are meant to stay
    Generator rng{Seed{0x6e6561726279u, seed}};
    Point close = point;
    for (Array<double>& x : close)
        for (double& v : x) v += 1e-6 * (v != 0 ? v : 1) * rng.standard_normal();
    const Recording there(f, close);
    if (const std::string shapes = other_shape(recorded.outputs, there.outputs); !shapes.empty())
        return "the output's shape depends on the numbers of the inputs: " + shapes;
    Replay<double> program(recorded.outputs);
    for (std::size_t i = 0; i < point.size(); ++i)
        std::copy(close[i].begin(), close[i].end(), program.values(recorded.inputs[i].line()));
    program.run();
    for (const Var<double>& y : recorded.outputs) {
        const Var<double>& now = there.outputs[static_cast<std::size_t>(&y - recorded.outputs.data())];
        double scale = 0, gap = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            const double a = program.values(y.line())[i], b = now.data()[i];
            if (!std::isfinite(a) || !std::isfinite(b)) continue;
            scale = std::max(scale, std::abs(a));
            gap = std::max(gap, std::abs(a - b));
        }
        if (gap > 1e-12 * scale)
            return fmt::format(
                "close to the point f gives other numbers than what it recorded (off by {:.2g}): it computes from the "
                "numbers of its inputs "
                "beside the tape, or branches on them; use ops, or stop_gradient() where that is meant",
                gap);
    }
    return {};
}

/// An input that feeds two programs gets the sum of both gradients.
std::string check_accumulation(const RecordedFunction& f, Recording& recorded, std::uint64_t seed) {
    Generator rng{Seed{0x7477696365u, seed}};
    std::vector<Array<double>> once;
    for (const int times : {1, 2}) {
        const Vars outputs = times == 1 ? recorded.outputs : f(recorded.inputs);
        if (!other_shape(recorded.outputs, outputs).empty()) return {};
        Generator same = rng;
        for (const Var<double>& y : outputs)
            if (y.needs_grad()) y.backward(same.standard_normal(y.shape()));
        for (std::size_t i = 0; i < recorded.inputs.size(); ++i) {
            const Var<double>& x = recorded.inputs[i];
            const Array<double> g = x.has_grad() ? x.grad() : Array<double>();
            if (times == 1) {
                once.push_back(g);
                continue;
            }
            double scale = 0, gap = 0;
            for (std::size_t j = 0; j < g.size(); ++j) {
                if (!std::isfinite(g.data()[j])) continue;
                scale = std::max(scale, std::abs(g.data()[j]));
                gap = std::max(gap, std::abs(g.data()[j] - 2 * once[i].data()[j]));
            }
            if (gap > 1e-12 * scale) return fmt::format("used twice, {} does not get twice the gradient", x.name());
        }
    }
    return {};
}

} // namespace

GradcheckReport gradcheck_function(const RecordedFunction& f, const Point& point, const GradcheckOptions& options) {
    if (point.empty()) throw Error("gradcheck: no input was given; the point needs an array for every input");
    const Point before = point;
    Recording recorded(f, before);
    if (recorded.outputs.empty()) throw Error("gradcheck: f gave no output");
    GradcheckReport report = gradcheck(recorded.outputs, recorded.inputs, options);

    const auto refuse = [&](const std::string& sentence) {
        if (sentence.empty()) return;
        report.verdict = Verdict::fail;
        report.why += (report.why.empty() ? "" : "; ") + sentence;
    };
    for (std::size_t i = 0; i < point.size(); ++i)
        if (!same_bits(point[i], before[i])) refuse(fmt::format("f changed its input x{}", i));
    try {
        const Recording again(f, before);
        const std::string shapes = other_shape(recorded.outputs, again.outputs);
        if (!shapes.empty()) {
            refuse("f gives another output when it is called again: " + shapes);
            return report;
        }
        for (std::size_t y = 0; y < again.outputs.size(); ++y) {
            const Array<double> first = recorded.outputs[y].value(), second = again.outputs[y].value();
            if (same_bits(first, second)) continue;
            double gap = 0;
            for (std::size_t i = 0; i < first.size(); ++i)
                if (const double here = std::abs(first.data()[i] - second.data()[i]); !(here <= gap)) gap = here;
            refuse(fmt::format("f differs by {:.2g} between two runs at the same point: it is not deterministic", gap));
            return report;
        }
        if (report.verdict == Verdict::fail || options.quick) return report;
        refuse(check_nearby(f, recorded, before, options.seed));
        refuse(check_accumulation(f, recorded, options.seed));
    } catch (const std::exception& error) { refuse(fmt::format("f could not be called again: {}", error.what())); }
    return report;
}

} // namespace chalkgrad
