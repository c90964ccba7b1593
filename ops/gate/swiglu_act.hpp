// Gated activations: a gate branch through a nonlinearity, times an up branch. They sit between the projections of an FFN.
#pragma once

#include <optional>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// What SwiGLU variants differ in. Absent limits clamp nothing; the gate is clamped from above only, the up branch on both sides.
struct SwigluOptions {
    double alpha = 1;
    std::optional<double> gate_limit = {};
    std::optional<double> up_limit = {};
    double shift_up = 0;
};
/// gpt-oss's (course §9).
inline constexpr SwigluOptions gpt_oss_gate{.alpha = 1.702, .gate_limit = 7, .up_limit = 7, .shift_up = 1};

/// y = g′ σ(α g′) (u′ + shift), g′ = min(g, gate_limit), u′ = clip(u, ±up_limit) (course §9; Shazeer 2020). g and u have the
/// same shape, and so has y; nothing is broadcast. Exactly at a limit the slope is that of the inner side. Throws Error for
/// different shapes, alpha or shift not finite, and limits that are not finite and positive.
template <class T> Var<T> swiglu_act(const Var<T>& g, const Var<T>& u, const SwigluOptions& options = {});

/// gpt-oss's variant of a packed projection p (…, 2 D), gate and up interleaved: g = p[…, 0::2], u = p[…, 1::2],
/// y = swiglu_act(g, u, {alpha, limit, limit, 1}) of shape (…, D) (course §15). Throws Error for an odd or missing last axis.
template <class T> Var<T> gpt_oss_packed(const Var<T>& p, double alpha = 1.702, double limit = 7);

/// y = relu(g) u (Shazeer 2020). Shapes as in swiglu_act.
template <class T> Var<T> reglu(const Var<T>& g, const Var<T>& u);

/// y = gelu(g) u with the exact (erf) GELU (Shazeer 2020). Shapes as in swiglu_act.
template <class T> Var<T> geglu(const Var<T>& g, const Var<T>& u);

/// The same from primitive ops.
template <class T> Var<T> swiglu_act_composed(const Var<T>& g, const Var<T>& u, const SwigluOptions& options = {});
template <class T> Var<T> gpt_oss_packed_composed(const Var<T>& p, double alpha = 1.702, double limit = 7);
template <class T> Var<T> reglu_composed(const Var<T>& g, const Var<T>& u);
template <class T> Var<T> geglu_composed(const Var<T>& g, const Var<T>& u);

} // namespace chalkgrad
