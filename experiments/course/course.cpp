// What several experiments share: the reference values of papers, read from references.json, and the frozen stack on the tape.
#include <chalkgrad/experiments/course/course.hpp>

#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/experiments/report/embedded.hpp>
#include <chalkgrad/ops/attention/heads.hpp>

namespace chalkgrad {

const std::map<std::string, std::map<std::string, double>>& references() {
    static const auto all = [] {
        std::map<std::string, std::map<std::string, double>> all;
        for (const auto& table : nlohmann::json::parse(embedded("experiments/course/references.json")))
            for (const auto& [row, values] : table["rows"].items())
                for (std::size_t i = 0; i < std::max(values.size(), table["columns"].size()); ++i)
                    all[table["experiment"]][fmt::format("{}: {}", row, table["columns"].at(i).get<std::string>())] =
                        number_of(values.at(i));
        return all;
    }();
    return all;
}

double reference(const Report& report, std::string_view row, std::string_view column) {
    const std::string name = fmt::format("{}: {}", row, column);
    const auto experiment = references().find(report.experiment());
    if (experiment != references().end())
        if (const auto value = experiment->second.find(name); value != experiment->second.end()) return value->second;
    throw Error(
        fmt::format("{}: there is no reference value '{}'; add it to references.json", report.experiment(), name));
}

void judge(Report& report, std::string_view row, Tolerance tolerance,
    std::initializer_list<std::pair<std::string_view, double>> columns) {
    for (const auto& [column, value] : columns)
        report.seeded_number(fmt::format("{}: {}", row, column), value, reference(report, row, column), tolerance,
            "NumPy and PyTorch in float64, same draws");
}

BlockStack draw_stack(uint128 seed, std::size_t depth, double scale) {
    constexpr std::size_t d = BlockStack::width, f = BlockStack::hidden;
    Generator rng{Seed(seed)};
    const auto matrix = [&](std::size_t in, std::size_t out) {
        return rng.normal(0, scale / std::sqrt(double(in)), {in, out});
    };
    BlockStack stack{rng.standard_normal({BlockStack::tokens, d}), {}};
    for (std::size_t l = 0; l < depth; ++l) // a braced list is filled from left to right
        stack.blocks.push_back(
            {matrix(d, d), matrix(d, d), matrix(d, d), matrix(d, d), matrix(d, f), matrix(d, f), matrix(f, d)});
    return stack;
}

StackRun run_stack(const BlockStack& stack, std::optional<Placement> placement, bool backward) {
    Tape tape;
    X x = tape.constant(stack.x0, "x0");
    StackRun run{{root_mean_square(x.value())}, 0, {}};
    std::vector<X> down;
    for (const BlockStack::Block& block : stack.blocks) {
        const X wd = down.emplace_back(tape.variable(block.wd, "Wd"));
        const auto times = [&](const X& z, const Array<double>& w) { return matmul(z, tape.constant(w)); };
        const auto heads = [&](const X& z, const Array<double>& w) {
            return split_heads(times(z, w), BlockStack::heads);
        };
        const auto attention = [&](const X& z) {
            const X y = sdpa(heads(z, block.wq), heads(z, block.wk), heads(z, block.wv), {.causal = true});
            return times(merge_heads(y), block.wo);
        };
        const auto ffn = [&](const X& z) { return matmul(swiglu_act(times(z, block.wg), times(z, block.wu)), wd); };
        const auto norm = [](const X& z, int) { return rms_norm(z); };
        x = residual_step(placement, residual_step(placement, x, attention, norm), ffn, norm);
        run.rms.push_back(root_mean_square(x.value()));
    }
    run.largest = largest(x.value());
    if (!backward) return run;

    const X u = tape.constant(Generator(Seed(12)).standard_normal({BlockStack::tokens, BlockStack::width}), "u");
    sum(u * rms_norm(x)).backward();
    for (const X& wd : down) run.gradient.push_back(norm(wd.grad()));
    return run;
}

} // namespace chalkgrad
