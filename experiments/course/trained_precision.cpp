// Half precision on trained weights: storing them in 16 bits, against computing in 16 bits (course §5).
#include <chalkgrad/experiments/course/trained.hpp>

#include <chalkgrad/autograd/base/half.hpp>

namespace chalkgrad::trained_precision_experiment {

template <class T> nn::Checkpoint stored_as() {
    const nn::Checkpoint model = trained_model();
    for_each(model, "", [](Array<double>& w) {
        for (double& x : w) x = static_cast<double>(static_cast<T>(x));
    });
    return model;
}

/// Scores of a run in T, judged by the same loss in double.
template <class T> double loss_in(const nn::Checkpoint& model) {
    const Array<T> scores = model.logits<T>(other_story());
    Array<double> wide(std::vector<std::size_t>{scores.shape()[0], scores.shape()[1]});
    std::transform(scores.begin(), scores.end(), wide.begin(), [](T x) { return static_cast<double>(x); });
    return loss(wide, other_story());
}

void run(Report& report, const ExperimentOptions&) {
    const nn::Checkpoint model = trained_model();
    const double exact = report_changed(report, "as_trained", model);
    const double bf16 = report_changed(report, "weights_bfloat16", stored_as<bfloat16>());
    const double f16 = report_changed(report, "weights_float16", stored_as<half>());
    Table& table = report.table({"loss", {"what", "loss", "difference from double"}});
    for (const auto& [what, value] : Rows<std::string, double>{{"double", exact}, {"weights in half", f16},
             {"weights in bfloat16", bf16}, {"computed in float", loss_in<float>(model)},
             {"computed in half", loss_in<half>(model)}, {"computed in bfloat16", loss_in<bfloat16>(model)}}) {
        table.rows.push_back({what, value, value - exact});
        if (what.starts_with("computed"))
            report.measured(what + ": difference from double", value - exact,
                "every op computes in float or wider inside, and rounds what it hands on");
    }
    report.measured("weights in bfloat16: difference from double", bf16 - exact,
        "8 bits of a weight suffice: by chance the loss even falls");
}

} // namespace chalkgrad::trained_precision_experiment
