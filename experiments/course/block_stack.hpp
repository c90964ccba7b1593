// One frozen stack of attention and FFN blocks, drawn once and run under every placement of the norms (course §6).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <chalkgrad/autograd/base/array.hpp>
#include <chalkgrad/autograd/numpy/pcg64.hpp>
#include <chalkgrad/nn/layers/residual.hpp>

namespace chalkgrad {

/// Blocks of causal attention with 4 heads and SwiGLU, for 16 tokens of width 64. No weight is ever trained.
struct BlockStack {
    static constexpr std::size_t tokens = 16, width = 64, heads = 4, hidden = 176;
    struct Block {
        Array<double> wq, wk, wv, wo, wg, wu, wd; ///< (in, out): q, k, v, output; gate, up, down
    };
    Array<double> x0; ///< (tokens, width)
    std::vector<Block> blocks;
};

/// Drawn from default_rng(seed): x0 ~ N(0, 1), then block after block the matrices in the order above, N(0, scale²/in).
BlockStack draw_stack(uint128 seed, std::size_t depth, double scale = 1);

struct StackRun {
    std::vector<double> rms;      ///< of the state: before the first block, then after each
    double largest = 0;           ///< max|x| of the last state
    std::vector<double> gradient; ///< ‖∂ℓ/∂W_d‖ of each block
};

/// Runs the stack with RMSNorm (eps 1e-6, no gain) where the placement says; no placement: x + F(x), no norm anywhere.
/// ℓ = Σ u·N(x_L) with u ~ N(0, 1) from default_rng(12); its gradients are computed where `backward` asks.
StackRun run_stack(const BlockStack& stack, std::optional<nn::Placement> placement, bool backward = false);

/// "pre", "peri", …, and "none" for no placement.
inline const char* placement_name(std::optional<nn::Placement> placement) {
    return placement ? nn::name(*placement) : "none";
}

/// One residual step, and without a placement h + F(h).
template <class F, class Norm>
Var<double> residual_step(std::optional<nn::Placement> placement, const Var<double>& h, F&& f, Norm&& norm) {
    return placement ? nn::residual(*placement, h, f, norm) : h + f(h);
}

} // namespace chalkgrad
