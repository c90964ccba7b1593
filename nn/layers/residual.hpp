// Where a norm sits around a residual sublayer: the placements of course §6, as one function of h, F and the norms.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>

namespace chalkgrad::nn {

/// Post-LN N(h + F(h)) (Vaswani 2017); Pre-LN h + F(N(h)) (Xiong 2020); Peri-LN h + N₂(F(N₁(h))) (Kim 2025); output-only h +
/// N(F(h)) (OLMo2); DeepNorm N(α h + F(h)) (Wang 2022); parallel h + A(N(h)) + F(N(h)) (GPT-J); mHC A H + post ⊗ F(N(pre H)) on
/// several streams H (Xie 2025). A block of the last two is more than two such steps: nn/layers/block.hpp.
enum class Placement { pre, post, peri, output_only, deepnorm, parallel, mhc };

/// "pre", "post", "peri", "output_only", "deepnorm", "parallel", "mhc".
const char* name(Placement placement);
/// Its formula, "h + F(N(h))".
const char* formula(Placement placement);
/// All of them, in the order of the enum.
const std::vector<Placement>& all_placements();
/// Those that are one residual step after another, in the order of the enum.
const std::vector<Placement>& placements();
/// The placement of that name; throws Error naming the close ones.
Placement placement_named(std::string_view word);

/// One residual step. `f` and `norm` take a Var and return one of the same shape; Peri calls norm(…) twice, with 1 for
/// the input norm and 2 for the output norm, the others once with 1. `alpha` is DeepNorm's residual weight. Throws
/// Error for parallel and mhc.
template <class T, class F, class Norm>
Var<T> residual(Placement placement, const Var<T>& h, F&& f, Norm&& norm, double alpha = 1) {
    switch (placement) {
        case Placement::pre:
            return h + f(norm(h, 1));
        case Placement::post:
            return norm(h + f(h), 1);
        case Placement::peri:
            return h + norm(f(norm(h, 1)), 2);
        case Placement::output_only:
            return h + norm(f(h), 1);
        case Placement::deepnorm:
            return norm(alpha * h + f(h), 1);
        case Placement::parallel:
        case Placement::mhc:
            break;
    }
    throw Error(std::string("residual: ") + name(placement) + " is no residual step of one branch; use nn::Block");
}

/// A block of two residual steps, attention and FFN, each with a stand-in sublayer x W: the drawing that shows a
/// placement and nothing else. x has shape (tokens, d); records on x's tape and returns the block's output.
Var<double> stand_in_block(Placement placement, const Var<double>& x);

} // namespace chalkgrad::nn
