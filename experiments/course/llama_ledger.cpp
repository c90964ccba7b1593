// Course §10: Llama-3.1-8B recorded on a tape of shapes, without a weight. The ledger is a sum over its leaves.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/attention/rope.hpp>
#include <chalkgrad/ops/linear/embedding.hpp>

namespace chalkgrad::llama_ledger_experiment {

constexpr std::size_t vocabulary = 128256, d = 4096, layers = 32, d_ff = 14336, q_heads = 32, kv_heads = 8,
                      d_head = 128;

void record_model(const Tape& tape) {
    const auto parameter = [&](const char* name, const Shape& shape) {
        return tape.leaf<double>(shape, nullptr, true, name);
    };
    const auto heads = [&](const X& x, std::size_t count) {
        const X y = matmul(x, parameter("attention", {d, count * d_head}));
        return transpose(reshape(y, {-1, std::ptrdiff_t(count), d_head}), {1, 0, 2});
    };
    const auto attention = [&](const X& x) {
        const X y = sdpa(rope(heads(x, q_heads)), rope(heads(x, kv_heads)), heads(x, kv_heads), {.causal = true});
        const X merged = reshape(transpose(y, {1, 0, 2}), {-1, q_heads * d_head});
        return matmul(merged, parameter("attention", {q_heads * d_head, d}));
    };
    const auto ffn = [&](const X& x) {
        const X h = swiglu_act(matmul(x, parameter("ffn", {d, d_ff})), matmul(x, parameter("ffn", {d, d_ff})));
        return matmul(h, parameter("ffn", {d_ff, d}));
    };
    const auto norm = [&](const X& x, int) { return rms_norm(x, parameter("norm", {d}), 1e-5); };
    X h = embedding(parameter("embedding", {vocabulary, d}), Array<std::int64_t>{1, 2, 3, 4});
    for (std::size_t l = 0; l < layers; ++l) {
        h = nn::residual(Placement::pre, h, attention, norm);
        h = nn::residual(Placement::pre, h, ffn, norm);
    }
    matmul(norm(h, 1), parameter("output", {d, vocabulary}));
}

void run(Report& report, const ExperimentOptions&) {
    const Tape tape(Tape::Mode::shapes_only);
    record_model(tape);
    const auto count = [&](const char* name) { return parameters_on(tape, name); };
    const double model = parameters_on(tape), attention = count("attention") / layers, ffn = count("ffn") / layers;
    const double norms = (count("norm") - d) / layers, block = attention + ffn + norms;
    const auto check = [&](const char* name, double value, double course) {
        report.number(name, value, course, exact, "course §10");
    };
    check("attention matrices of a block, 2.5 d²", attention, 41943040);
    check("FFN matrices of a block, 3 d d_ff", ffn, 176160768);
    check("norm scales of a block, 2 d", norms, 8192);
    check("matrices of a block, 13 d²", attention + ffn, 218103808);
    check("block, 13 d² + 2 d", block, 218112000);
    check("model, 2 V d + 32 blocks + d", model, 8030261248);
    report.number("share of the FFN in a block (%)", 100 * ffn / block, 80.8, decimals(1), "course §10");
    report.number("both embeddings, 2 V d", count("embedding") + count("output"), 1050673152, exact, "integers");
    report.number(
        "tied: V d less", model - count("output"), 7504924672, exact, "course §10: V d in the place of 2 V d");

    Table& table = report.table({"ledger", {"component", "parameters", "share (%)"}});
    for (const char* const name : {"embedding", "attention", "ffn", "norm", "output"})
        table.rows.push_back({name, count(name), 100 * count(name) / model});
    report.measured("lines on the tape", double(tape.size()), "recorded without allocating a weight");
}

} // namespace chalkgrad::llama_ledger_experiment
