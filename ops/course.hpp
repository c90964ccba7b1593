// The course's listings as strict functions of arrays: they refuse what the listings refuse, non-finite numbers too.
#pragma once

#include <cstdint>

#include <chalkgrad/ops/swiglu_act.hpp>

namespace chalkgrad::course {

// T is double, float, half or bfloat16. All throw Error with the reason where the listings raise.

/// γ x / √(⟨x²⟩ + eps) over the last axis (course §5, bridge B07, and §13). x (…, D); gamma (D) or a single number.
template <class T>
Array<T> rms_norm(const Array<T>& x, const Array<T>& gamma, double eps = 1e-6);
template <class T>
Array<T> rms_norm(const Array<T>& x, double eps = 1e-6);
/// Refused: norms expect floating-point numbers.
Array<std::int64_t> rms_norm(const Array<std::int64_t>& x, double eps = 1e-6);

/// g′ σ(α g′) (u′ + shift) with optional limits (course §9, bridge B08). gate and up have the same shape.
template <class T>
Array<T> swiglu_act(const Array<T>& gate, const Array<T>& up, const SwigluOptions& options = {});

/// The same with gpt-oss's constants: both limits equal, shift 1 (course §13).
template <class T>
Array<T> gpt_oss_swiglu(const Array<T>& gate, const Array<T>& up, double alpha = 1.702, double limit = 7);

}  // namespace chalkgrad::course
