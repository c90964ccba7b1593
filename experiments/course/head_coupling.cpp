// Course §7: the axis of a Q/K norm. Over the whole projection one head's size changes the scores of the others.
#include <chalkgrad/experiments/course/course.hpp>

namespace chalkgrad::head_coupling_experiment {

constexpr std::size_t heads = 4, head = 16;

/// (1, heads · d_h) → (heads, 1, d_h), normed.
X per_head(const X& x) { return qk_norm_per_head(x, heads); }
X whole(const X& x) { return qk_norm_whole(x, heads); }

/// The part of a gradient that belongs to one head.
double norm_of_head(const Array<double>& gradient, std::size_t which) {
    return norm(std::vector<double>(&gradient(0, which * head), &gradient(0, which * head) + head));
}

void run(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(91);
    const Array<double> q0 = rng.standard_normal({1, heads * head}), k0 = rng.standard_normal({1, heads * head});
    Plot& scores =
        report.plot({"score", "Score of head 1 while head 2 grows", {"factor c of head 2", true}, {"score"}});
    Plot& couplings = report.plot({"coupling", "Gradient that head 2 gets from head 1's score",
        {"factor c of head 2", true}, {"‖∂score₁/∂q₂‖", true}});
    for (const auto& [name, graph, split] : Rows<std::string, std::string, X (*)(const X&)>{
             {"per head", "per_head", per_head}, {"whole", "whole", whole}}) {
        for (const double c : {1., 10., 100.}) {
            Array<double> grown = q0;
            for (std::size_t i = head; i < 2 * head; ++i) grown(0, i) *= c;
            Tape tape;
            const X q = tape.variable(grown, "q"), k = tape.constant(k0, "k");
            const X s = sum(slice(split(q) * split(k), "0")) / std::sqrt(double(head));
            s.backward();

            if (c == 10 && split == whole) report.tape(s);
            if (c == 1) report.graph(graph, to_dot(graph_of(tape, {q.line(), k.line()})));
            const double coupling = norm_of_head(q.grad(), 1);
            judge(report, fmt::format("{}, c = {}", name, c), relative(1e-10),
                {{"score of head 1", s.item()}, {"|dscore/dq| in head 1", norm_of_head(q.grad(), 0)},
                    {"|dscore/dq| in head 2", coupling}});
            scores.at(name).add(c, s.item());
            if (split == whole) couplings.at(name).add(c, coupling); // per head it is exactly 0
        }
        report.measured(name + ": score of head 1, c = 100 over c = 1",
            scores.at(name).y.back() / scores.at(name).y.front(),
            "course §7: per head nothing changes; over the whole projection one large head makes the others flat");
    }
}

} // namespace chalkgrad::head_coupling_experiment
