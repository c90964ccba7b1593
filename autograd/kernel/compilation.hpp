// Which of a kernel's two compilations this is, as a namespace: see kernel.hpp.
#pragma once // internal

#ifdef CHALKGRAD_KERNELS_ONLY
#if defined(__x86_64__) && !(defined(__AVX2__) && defined(__FMA__))
#error "CHALKGRAD_KERNELS_ONLY is the AVX2 compilation: it needs -mavx2 -mfma"
#endif
#define CHALKGRAD_ISA avx2
#else
#include <chalkgrad/autograd/base/dual.hpp>
#include <chalkgrad/autograd/kernel/isa.hpp>
#define CHALKGRAD_ISA base
#endif

/// Goes after the parameter list of a lambda given to each, sum, max: without it the loop is not vectorised.
#define FAST __attribute__((always_inline))
