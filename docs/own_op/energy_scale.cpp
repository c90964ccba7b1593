// energy_scale:  m = ⟨x²⟩,  y = m x          ⟨·⟩ is the mean over a row
#include <chalkgrad/autograd/kernel/kernel.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

template <class T> void energy_scale_forward(std::size_t rows, std::size_t d, const T* x, T* m, T* y) {
    for (std::size_t t = 0; t < rows; ++t, x += d, y += d) {
        const T mt = m[t] = mean<T>(d, [=](std::size_t j) FAST { return x[j] * x[j]; });
        each<T>(d, [=](std::size_t j) FAST { y[j] = mt * x[j]; });
    }
}

// Vary x: dy = m dx + 2 x ⟨x dx⟩, a symmetric Jacobian. So  x̄ = m ȳ + 2 x ⟨x ȳ⟩.
template <class T>
void energy_scale_gradient(std::size_t rows, std::size_t d, const T* x, const T* m, const T* gy, T* gx) {
    for (std::size_t t = 0; t < rows; ++t, x += d, gy += d, gx += d) {
        const T mt = m[t], k = 2 * mean<T>(d, [=](std::size_t j) FAST { return x[j] * gy[j]; });
        each<T>(d, [=](std::size_t j) FAST { gx[j] = mt * gy[j] + k * x[j]; });
    }
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(energy_scale_forward, energy_scale_gradient)

#ifndef CHALKGRAD_KERNELS_ONLY
#include "energy_scale.hpp"

namespace {

struct EnergyScale {
    static constexpr const char* name = "energy_scale";
    static constexpr const char* inputs[] = {"x"};

    chalkgrad::Shape shape(chalkgrad::Shapes in) const {
        if (in[0].rank() == 0) throw chalkgrad::Error("energy_scale: x is a single number; give it rows");
        return in[0];
    }
    std::size_t saved(chalkgrad::Shapes in) const { return in[0].rows(); } // m
    template <class T> void forward(chalkgrad::Ins<T> in, chalkgrad::Out<T> y, T* m) const {
        chalkgrad::kernel::energy_scale_forward<T>(y.rows(), y.last(), in[0].data, m, y.data);
    }
    template <class T>
    void vjp(chalkgrad::Ins<T> in, chalkgrad::In<T> y, chalkgrad::In<T> gy, const T* m, chalkgrad::Outs<T> gx) const {
        chalkgrad::kernel::energy_scale_gradient<T>(y.rows(), y.last(), in[0].data, m, gy.data, gx[0].data);
    }
};

} // namespace

template <class T> chalkgrad::Var<T> energy_scale(const chalkgrad::Var<T>& x) {
    return chalkgrad::apply(EnergyScale{}, x);
}

CHALKGRAD_INSTANCES(energy_scale)
#endif
