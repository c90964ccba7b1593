// The frozen stack on the tape.
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/experiments/course/block_stack.hpp>
#include <chalkgrad/experiments/course/measure.hpp>
#include <chalkgrad/ops/attention/heads.hpp>
#include <chalkgrad/ops/attention/sdpa.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

#include <cmath>

namespace chalkgrad {
namespace {

using X = Var<double>;
using Stack = BlockStack;

X attention(const X& x, const Stack::Block& block) {
    const auto project = [&](const Array<double>& w) {
        return split_heads(matmul(x, x.tape().constant(w)), Stack::heads);
    };
    const X y = sdpa(project(block.wq), project(block.wk), project(block.wv), {.causal = true});
    return matmul(merge_heads(y), x.tape().constant(block.wo));
}

X ffn(const X& x, const Stack::Block& block, const X& wd) {
    const Tape tape = x.tape();
    return matmul(swiglu_act(matmul(x, tape.constant(block.wg)), matmul(x, tape.constant(block.wu))), wd);
}

} // namespace

BlockStack draw_stack(uint128 seed, std::size_t depth, double scale) {
    constexpr std::size_t d = Stack::width, f = Stack::hidden;
    Generator rng{Seed(seed)};
    const auto matrix = [&](std::size_t in, std::size_t out) {
        return rng.normal(0, scale / std::sqrt(double(in)), {in, out});
    };
    BlockStack stack{rng.standard_normal({Stack::tokens, d}), {}};
    for (std::size_t l = 0; l < depth; ++l) // a braced list is filled from left to right
        stack.blocks.push_back(
            {matrix(d, d), matrix(d, d), matrix(d, d), matrix(d, d), matrix(d, f), matrix(d, f), matrix(f, d)});
    return stack;
}

StackRun run_stack(const BlockStack& stack, std::optional<nn::Placement> placement, bool backward) {
    const auto norm = [](const X& x, int) { return rms_norm(x); };
    const auto step = [&](const X& x, auto&& f) { return placement ? nn::residual(*placement, x, f, norm) : x + f(x); };

    Tape tape;
    X x = tape.constant(stack.x0, "x0");
    StackRun run{{root_mean_square(x.value())}, 0, {}};
    std::vector<X> down;
    for (const BlockStack::Block& block : stack.blocks) {
        const X wd = down.emplace_back(tape.variable(block.wd, "Wd"));
        x = step(x, [&](const X& z) { return attention(z, block); });
        x = step(x, [&](const X& z) { return ffn(z, block, wd); });
        run.rms.push_back(root_mean_square(x.value()));
    }
    run.largest = largest(x.value());
    if (!backward) return run;

    const X u = tape.constant(Generator(Seed(12)).standard_normal({Stack::tokens, Stack::width}), "u");
    sum(u * rms_norm(x)).backward();
    for (const X& wd : down) run.gradient.push_back(chalkgrad::norm(wd.grad()));
    return run;
}

const char* placement_name(std::optional<nn::Placement> placement) { return placement ? nn::name(*placement) : "none"; }

} // namespace chalkgrad
