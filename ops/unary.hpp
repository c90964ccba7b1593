// What the functions of one element share: their kernels, their rule, their samples. Included by .cpp files of ops only.
//
// A function f is a struct:  static T y(T x),  static T gx(T x, T y, T gy) = gy f′(x).
#pragma once

#include <chalkgrad/autograd/kernel.hpp>
#include <chalkgrad/ops/cotangent.hpp>

/// In namespace chalkgrad::CHALKGRAD_ISA: op_forward and op_gx, the loops over a function's elements.
#define CHALKGRAD_UNARY(op, F)                                                                                                          \
    template <class T>                                                                                                                  \
    void op##_forward(std::size_t n, const T* x, T* y) {                                                                                \
        each<T>(n, [=](std::size_t i) FAST { y[i] = F::y(x[i]); });                                                                     \
    }                                                                                                                                   \
    template <class T>                                                                                                                  \
    void op##_gx(std::size_t n, const T* x, const T* y, const T* gy, T* gx) {                                                           \
        each<T>(n, [=](std::size_t i) FAST { gx[i] = is_zero(gy[i]) ? T(0) : F::gx(x[i], y[i], gy[i]); });                              \
    }

#define CHALKGRAD_UNARY_KERNELS(op) CHALKGRAD_KERNEL(op##_forward) CHALKGRAD_KERNEL(op##_gx)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <cmath>

#include <chalkgrad/autograd/apply.hpp>
#include <chalkgrad/autograd/half.hpp>
#include <chalkgrad/ops/catalog.hpp>

/// In an unnamed namespace of chalkgrad: the rule of op(x), closed by further members of it. One element takes the formula
/// itself: programs of single numbers record one line per operation.
#define CHALKGRAD_UNARY_RULE(Rule, op, F, its_role, ...)                                                                                \
    struct Rule {                                                                                                                       \
        static constexpr const char* name = #op;                                                                                        \
        static constexpr const char* inputs[] = {"x"};                                                                                  \
        static constexpr Role role = its_role;                                                                                          \
        Shape shape(Shapes in) const { return in[0]; }                                                                                  \
        template <class T>                                                                                                              \
        void forward(Ins<T> in, Out<T> y, T*) const {                                                                                   \
            if (y.size() == 1)                                                                                                          \
                y[0] = base::F::y(in[0][0]);                                                                                            \
            else                                                                                                                        \
                kernel::op##_forward<T>(y.size(), in[0].data, y.data);                                                                  \
        }                                                                                                                               \
        template <class T>                                                                                                              \
        void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const {                                                            \
            using base::is_zero;                                                                                                        \
            if (y.size() == 1)                                                                                                          \
                gx[0][0] = is_zero(gy[0]) ? T(0) : base::F::gx(in[0][0], y[0], gy[0]);                                                  \
            else                                                                                                                        \
                kernel::op##_gx<T>(y.size(), in[0].data, y.data, gy.data, gx[0].data);                                                  \
        }                                                                                                                               \
        __VA_ARGS__                                                                                                                     \
    };

namespace chalkgrad {

/// The least distance of an element from a point at which a function bends without bound; 1 where every element is on it.
inline double distance_from(double point, In<double> x) {
    double least = HUGE_VAL;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double distance = std::abs(x[i] - point);
        if (distance > 0 && distance < least) least = distance;
    }
    return std::isinf(least) ? 1 : least;
}

/// Elements between low and high in rows of 1, 3, 5 and 11, and several rows.
inline std::vector<Sample> unary_samples(Generator& rng, double low, double high, const char* input = "x",
                                         const Attributes& attributes = {}) {
    return {{"one", {{input, rng.uniform(low, high, {1})}}, {}, attributes},
            {"row_of_3", {{input, rng.uniform(low, high, {3})}}, {}, attributes},
            {"rows", {{input, rng.uniform(low, high, {2, 2, 5})}}, {}, attributes},
            {"row_of_11", {{input, rng.uniform(low, high, {11})}}, {}, attributes}};
}

/// The same without numbers so close to `kink` that no difference can be taken there: those within `gap` are moved out.
inline std::vector<Sample> away_from(double kink, double gap, std::vector<Sample> samples) {
    for (Sample& sample : samples)
        for (NamedArray& input : sample.inputs)
            for (double& x : input.values)
                if (std::abs(x - kink) < gap) x += x < kink ? -gap : gap;
    return samples;
}

} // namespace chalkgrad
#endif
