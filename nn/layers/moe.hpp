// Mixture of experts as a module: a router picks a few of many FFNs for each token.
#pragma once

#include <optional>

#include <chalkgrad/nn/layers/ffn.hpp>

namespace chalkgrad::nn {

/// What becomes of the router's scores: softmax, or of each by itself a sigmoid (DeepSeek-V3, Llama 4) or √softplus (V4).
enum class Scoring { softmax, sigmoid, sqrt_softplus };

struct MoeOptions {
    FfnOptions expert;         ///< of one expert
    std::size_t experts = 0;   ///< how many there are
    std::size_t per_token = 1; ///< how many a token is sent to
    Scoring scoring = Scoring::softmax;
    bool normalize =
        true; ///< the weights of the picked ones add up to 1: with softmax, it runs over them alone (gpt-oss, Mixtral)
    double scale = 1; ///< of the weights (DeepSeek's routed_scaling_factor)
    bool router_bias = false;
    bool correction = false;      ///< a buffer (experts) that is added to the scores for picking only (DeepSeek 3)
    bool weight_input = false;    ///< an expert sees weight · x, and its output is not weighted (Llama 4)
    std::size_t shared_width = 0; ///< of an FFN that sees every token; 0: there is none
};

/// All experts: their matrices side by side, (experts, d, width) and (experts, width, d).
struct Experts {
    FfnOptions options;
    Linear first, up, second; ///< biases (experts, features)

    Experts() = default;
    Experts(const FfnOptions& options, std::size_t count);
    /// x (1 or experts, rows, d); y (experts, rows, d).
    template <class T> Var<T> operator()(Binding<T>& on, const Var<T>& x) const;
    void visit(const Visitor& v) const;
};

/// y = Σ_{e picked} p_e FFN_e(x) (+ FFN_shared(x)). Every expert is computed for every token and the others weigh exactly 0: a
/// small forward that shows the mathematics, not a fast one. Which experts are picked is a constant of the recorded program:
/// gradients run through the picked ones and their weights, and exactly 0 reaches the others (ties: the first ones). On a tape of
/// shapes nothing is picked. Parameters w_router (d, experts), b_router, correction, experts.w_gate …, shared.w_gate ….
struct Moe {
    MoeOptions options;
    Linear router;
    Parameter correction;
    Experts experts;
    std::optional<Ffn> shared;

    Moe() = default;
    /// Throws Error for no experts, and for more per token than there are.
    explicit Moe(const MoeOptions& options);

    /// x (…, d); y the same.
    template <class T> Var<T> operator()(Binding<T>& on, const Var<T>& x) const;
    /// The weights p (rows, experts), 0 where an expert is not picked.
    template <class T> Var<T> route(Binding<T>& on, const Var<T>& x) const;
    void visit(const Visitor& v) const;
};

} // namespace chalkgrad::nn
