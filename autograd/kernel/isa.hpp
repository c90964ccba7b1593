// Which instruction set the kernels run on: decided once at start, changed only by tests.
#pragma once

#include <atomic>

namespace chalkgrad {

/// The instruction sets every kernel is compiled for: what the compiler targets by default (SSE2 on x86-64), and AVX2
/// with FMA.
enum class Isa { base, avx2 };

namespace detail {
// Zero-initialised to Isa::base, so a kernel called by a static constructor of another file is slow, not wrong.
extern std::atomic<Isa> current_isa;
} // namespace detail

/// The instruction set in use. At start it is the best one this CPU has, unless the environment variable CHALKGRAD_ISA
/// says "base" or "avx2" (avx2 on a CPU without it falls back to base).
inline Isa isa() noexcept { return detail::current_isa.load(std::memory_order_relaxed); }

/// Switches every later kernel call, in all threads. False, and nothing changed, where the CPU or this build lacks
/// `wanted`.
bool set_isa(Isa wanted) noexcept;

/// "base" or "avx2".
const char* name(Isa isa) noexcept;

} // namespace chalkgrad
