// The norms of a block, as modules: which statistic, which gain, and in what scope of the graph.
#pragma once

#include <chalkgrad/nn/core/any_module.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>

namespace chalkgrad::nn {

/// none is the identity; dyt is the norm-free γ tanh(α x) + β (course §11).
enum class NormKind { none, rms, layer, dyt };
/// γ x̂, Gemma's (1 + γ) x̂, or x̂ alone: no parameters at all (OLMo 1, Llama 4's Q/K norm).
enum class NormGain { none, weight, one_plus_weight };

struct NormOptions {
    NormKind kind = NormKind::rms;
    NormGain gain = NormGain::weight;
    bool bias = false;
    double eps = 1e-6;
    Cast cast = Cast::after_weight; ///< where half and bfloat16 round, in rms
    double alpha = 0.5;             ///< where dyt's α starts
    AnyModule own = {};             ///< the user's, in the place of all this
};
/// LayerNorm with gain and bias.
NormOptions layer_norm_options(double eps = 1e-5, bool bias = true);

/// Normalises the last axis, d features. Parameters "gamma" (d), which starts at 1 (at 0 for one_plus_weight), "beta"
/// (d) at 0, and dyt's "alpha".
struct Norm {
    std::string name; ///< of its scope: "norm1"
    NormOptions options{.kind = NormKind::none};
    Parameter alpha, gamma, beta;

    /// Absent: the identity, without a scope.
    Norm() = default;
    Norm(std::string name, std::size_t d, const NormOptions& options, const std::string& component = "block_norm");
    /// A gain for every head by itself, (heads, d), for x of shape (…, heads, T, d) (Cohere, StableLM 2 12B).
    Norm(std::string name, std::size_t heads, std::size_t d, const NormOptions& options, const std::string& component);

    explicit operator bool() const { return options.kind != NormKind::none; }
    /// y has the shape of x.
    template <class T> Var<T> operator()(Binding<T>& on, const Var<T>& x) const;
    void visit(const Visitor& v) const;

private:
    template <class T> Var<T> apply(const Var<T>& x, const Var<T>& gain, const Var<T>& bias, const Var<T>& slope) const;
};

} // namespace chalkgrad::nn
