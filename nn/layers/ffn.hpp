// The feed-forward network of a block as a module: plain, gated, packed, gpt-oss.
#pragma once

#include <string_view>

#include <chalkgrad/nn/core/any_module.hpp>
#include <chalkgrad/nn/core/linear.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>

namespace chalkgrad::nn {

/// φ of an FFN (course §8). identity leaves it out: then the two matrices are one linear map, and a gated FFN is quadratic.
enum class Activation { identity, relu, silu, gelu, gelu_tanh, quick_gelu };
const char* name(Activation activation);
/// The activation of that name; throws Error naming the close ones.
Activation activation_named(std::string_view word);
template <class T> Var<T> activate(Activation activation, const Var<T>& x);

/// Gate and up as two matrices, or as one (d, 2 width): the gate first and then the up half (Phi-3), the up half first
/// (OLMo 1), or columns gate, up, gate, up, … (gpt-oss).
enum class Packing { separate, gate_first, up_first, interleaved };

struct FfnOptions {
    std::size_t d = 0;     ///< features of x and y
    std::size_t width = 0; ///< features in between
    Activation activation = Activation::silu;
    bool gated = true; ///< (φ(x W_gate) ⊙ (x W_up)) W_down (course §9), else φ(x W1) W2
    bool bias = false;
    Packing packing = Packing::separate;
    SwigluOptions swiglu = {}; ///< α, limits and shift of a gate with silu
    AnyModule own = {};        ///< a φ of the user's, in the place of `activation`
};
/// gpt-oss's: α 1.702, limits 7, shift 1, biases, interleaved columns (course §9, §15).
FfnOptions gpt_oss_ffn_options(std::size_t d, std::size_t width);

/// The width of a gated FFN with as many weights as an ungated one of width 4 d: 8 d/3, rounded down, then up to a
/// multiple (course §9). Throws Error for a multiple of 0 and a d so large that 8 d is not a number of 64 bits.
std::uint64_t matched_ffn_width(std::uint64_t d, std::uint64_t multiple = 1);

/// The middle of an FFN: what becomes of the gate g and the up branch u.
template <class T> Var<T> gate(Binding<T>& on, const FfnOptions& options, const Var<T>& g, const Var<T>& u);
/// The same for what comes out of the first matrix, packed (…, 2 width) or not gated (…, width).
template <class T> Var<T> middle(Binding<T>& on, const FfnOptions& options, const Var<T>& h);

/// x (…, d); y the same. Parameters w_gate, w_up, w_down, or w_gate_up, w_down, or w1, w2; biases b_gate, …, b1, b2.
struct Ffn {
    FfnOptions options;
    Linear first, up, second; ///< up is absent where it is packed, or not gated

    Ffn() = default;
    /// Throws Error for an extent of 0, and packing without a gate.
    explicit Ffn(const FfnOptions& options, const std::string& component = "ffn");

    template <class T> Var<T> operator()(Binding<T>& on, const Var<T>& x) const;
    void visit(const Visitor& v) const;
};

} // namespace chalkgrad::nn
