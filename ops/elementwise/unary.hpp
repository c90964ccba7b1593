// What the functions of one element share: their kernels and their rule. Included by .cpp files of ops only.
//
// A function f is a struct:  static T y(T x),  static T gx(T x, T y, T gy) = gy f′(x).
#pragma once // internal

#include <chalkgrad/autograd/kernel/kernel.hpp>
#include <chalkgrad/ops/catalog/cotangent.hpp>

/// At global scope: the kernels op_forward and op_gx, the loops over a function's elements.
#define CHALKGRAD_UNARY(op, F)                                                                         \
    namespace chalkgrad::CHALKGRAD_ISA {                                                               \
    template <class T> void op##_forward(std::size_t n, const T* x, T* y) {                            \
        each<T>(n, [=](std::size_t i) FAST { y[i] = F::y(x[i]); });                                    \
    }                                                                                                  \
    template <class T> void op##_gx(std::size_t n, const T* x, const T* y, const T* gy, T* gx) {       \
        each<T>(n, [=](std::size_t i) FAST { gx[i] = unless_zero(gy[i], F::gx(x[i], y[i], gy[i])); }); \
    }                                                                                                  \
    }                                                                                                  \
    CHALKGRAD_KERNEL(op##_forward)                                                                     \
    CHALKGRAD_KERNEL(op##_gx)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>
#include <chalkgrad/ops/catalog/sample_points.hpp>

/// In an unnamed namespace of chalkgrad: the rule of op(x), closed by further members of it.
#define CHALKGRAD_UNARY_RULE(Rule, op, F, its_role, ...)                                        \
    struct Rule {                                                                               \
        static constexpr const char* name = #op;                                                \
        static constexpr const char* inputs[] = {"x"};                                          \
        static constexpr Role role = its_role;                                                  \
        Shape shape(Shapes in) const { return in[0]; }                                          \
        template <class T> void forward(Ins<T> in, Out<T> y, T*) const {                        \
            kernel::op##_forward<T>(y.size(), in[0].data, y.data);                              \
        }                                                                                       \
        template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const { \
            kernel::op##_gx<T>(y.size(), in[0].data, y.data, gy.data, gx[0].data);              \
        }                                                                                       \
        __VA_ARGS__                                                                             \
    };
#endif
