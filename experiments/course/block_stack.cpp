// The frozen stack on the tape.
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/ops/attention/heads.hpp>

namespace chalkgrad {

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
