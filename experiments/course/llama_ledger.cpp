// Course §10: Llama-3.1-8B recorded on a tape of shapes, without a weight. The ledger is a sum over its leaves.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/nn/layers/residual.hpp>
#include <chalkgrad/ops/attention/rope.hpp>
#include <chalkgrad/ops/attention/sdpa.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>
#include <chalkgrad/ops/linear/embedding.hpp>
#include <chalkgrad/ops/shape/shape_ops.hpp>

namespace chalkgrad::llama_ledger_experiment {
namespace {

constexpr std::size_t vocabulary = 128256, d = 4096, layers = 32, d_ff = 14336, q_heads = 32, kv_heads = 8,
                      d_head = 128, tokens = 4;

struct Model {
    Tape tape{Tape::Mode::shapes_only};

    X parameter(const char* name, const Shape& shape) const { return tape.leaf<double>(shape, nullptr, true, name); }

    X heads(const X& x, const char* name, std::size_t count) const {
        const X y = matmul(x, parameter(name, {d, count * d_head}));
        return transpose(reshape(y, {-1, std::ptrdiff_t(count), d_head}), {1, 0, 2});
    }
    X attention(const X& x) const {
        const X y = sdpa(rope(heads(x, "attention", q_heads)), rope(heads(x, "attention", kv_heads)),
            heads(x, "attention", kv_heads), {.causal = true});
        return matmul(
            reshape(transpose(y, {1, 0, 2}), {-1, q_heads * d_head}), parameter("attention", {q_heads * d_head, d}));
    }
    X ffn(const X& x) const {
        const X h = swiglu_act(matmul(x, parameter("ffn", {d, d_ff})), matmul(x, parameter("ffn", {d, d_ff})));
        return matmul(h, parameter("ffn", {d_ff, d}));
    }
    void run() const {
        const auto norm = [&](const X& x, int) { return rms_norm(x, parameter("norm", {d}), 1e-5); };
        X h = embedding(parameter("embedding", {vocabulary, d}), Array<std::int64_t>{1, 2, 3, 4});
        for (std::size_t l = 0; l < layers; ++l) {
            h = nn::residual(
                nn::Placement::pre, h, [&](const X& x) { return attention(x); }, norm);
            h = nn::residual(
                nn::Placement::pre, h, [&](const X& x) { return ffn(x); }, norm);
        }
        matmul(norm(h, 1), parameter("output", {d, vocabulary}));
    }
    double count(std::string_view name = {}) const { return parameters_on(tape, name); }
};

} // namespace

void run(Report& report, const ExperimentOptions&) {
    const Model model;
    model.run();
    const double attention = model.count("attention") / layers, ffn = model.count("ffn") / layers;
    const double norms = (model.count("norm") - d) / layers, block = attention + ffn + norms;
    const auto count = [&](const char* name, double value, double course) {
        report.number(name, value, course, exact, "course §10");
    };
    count("attention matrices of a block, 2.5 d²", attention, 41943040);
    count("FFN matrices of a block, 3 d d_ff", ffn, 176160768);
    count("norm scales of a block, 2 d", norms, 8192);
    count("matrices of a block, 13 d²", attention + ffn, 218103808);
    count("block, 13 d² + 2 d", block, 218112000);
    count("model, 2 V d + 32 blocks + d", model.count(), 8030261248);
    report.number("share of the FFN in a block (%)", 100 * ffn / block, 80.8, decimals(1), "course §10");
    report.number(
        "both embeddings, 2 V d", model.count("embedding") + model.count("output"), 1050673152, exact, "integers");
    report.number("tied: V d less", model.count() - model.count("output"), 7504924672, exact,
        "course §10: V d in the place of 2 V d");

    Table table{"ledger", {"component", "parameters", "share (%)"}, {}};
    for (const char* const name : {"embedding", "attention", "ffn", "norm", "output"})
        table.rows.push_back({name, model.count(name), 100 * model.count(name) / model.count()});
    report.table(std::move(table));
    report.measured("lines on the tape", double(model.tape.size()), "recorded without allocating a weight");
}

} // namespace chalkgrad::llama_ledger_experiment
