// Course §7: the axis of a Q/K norm. Over the whole projection one head's size changes the scores of the others.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/attention/qk_norm.hpp>
#include <chalkgrad/ops/shape/slice.hpp>

namespace chalkgrad::head_coupling_experiment {
namespace {

constexpr std::size_t heads = 4, head = 16;

/// The part of a gradient that belongs to one head.
double norm_of_head(const Array<double>& gradient, std::size_t which) {
    double squares = 0;
    for (std::size_t i = 0; i < head; ++i) squares += std::pow(gradient(0, which * head + i), 2);
    return std::sqrt(squares);
}

} // namespace

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(91);
    const Array<double> q0 = rng.standard_normal({1, heads * head}), k0 = rng.standard_normal({1, heads * head});
    struct Axis {
        const char *name, *graph;
        X (*split)(const X&); // (1, heads · d_h) → (heads, 1, d_h), normed
    };
    Plot scores{"score", "Score of head 1 while head 2 grows", {"factor c of head 2", true}, {"score"}, {}};
    Plot couplings{"coupling", "Gradient that head 2 gets from head 1's score", {"factor c of head 2", true},
        {"‖∂score₁/∂q₂‖", true}, {}};
    for (const Axis& axis : {Axis{"per head", "per_head", [](const X& x) { return qk_norm_per_head(x, heads); }},
             Axis{"whole", "whole", [](const X& x) { return qk_norm_whole(x, heads); }}}) {
        Series score{axis.name, {}, {}, Mark::line_points}, coupling = score;
        for (const double c : {1., 10., 100.}) {
            Array<double> grown = q0;
            for (std::size_t i = head; i < 2 * head; ++i) grown(0, i) *= c;
            Tape tape;
            const X q = tape.variable(grown, "q"), k = tape.constant(k0, "k");
            const X s = sum(slice(axis.split(q) * axis.split(k), "0")) / std::sqrt(double(head));
            s.backward();

            if (c == 10 && axis.name == std::string("whole")) report.tape(s);
            if (c == 1) report.graph(axis.graph, to_dot(graph_of(tape, {q.line(), k.line()})));
            judge(report, fmt::format("{}, c = {}", axis.name, c), relative(1e-10),
                {{"score of head 1", s.item()}, {"|dscore/dq| in head 1", norm_of_head(q.grad(), 0)},
                    {"|dscore/dq| in head 2", norm_of_head(q.grad(), 1)}});
            score.add(c, s.item());
            coupling.add(c, norm_of_head(q.grad(), 1));
        }
        report.measured(fmt::format("{}: score of head 1, c = 100 over c = 1", axis.name),
            score.y.back() / score.y.front(),
            "course §7: per head nothing changes; over the whole projection one large head makes the others flat");
        scores.series.push_back(std::move(score));
        if (axis.name == std::string("whole"))
            couplings.series.push_back(std::move(coupling)); // per head it is exactly 0
    }
    report.plot(scores);
    report.plot(couplings);
}

} // namespace chalkgrad::head_coupling_experiment
