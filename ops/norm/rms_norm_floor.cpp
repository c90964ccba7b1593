// rms_norm_floor:  R = √⟨x²⟩,  m = max(R, floor),  y = x / m          ⟨·⟩ is the mean over a row
#include <chalkgrad/autograd/kernel/kernel.hpp>
#include <chalkgrad/ops/norm/guarded_root.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

template <class T> void rms_norm_floor_forward(std::size_t rows, std::size_t d, T floor, const T* x, T* root, T* y) {
    divide_by_root(rows, d, T(d), floor, T(0), T(0), x, root, y);
}
template <class T>
void rms_norm_floor_gx(std::size_t rows, std::size_t d, T floor, const T* root, const T* y, const T* gy, T* gx) {
    divide_by_root_gx(rows, d, T(d), floor, root, y, gy, gx);
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(rms_norm_floor_forward)
CHALKGRAD_KERNEL(rms_norm_floor_gx)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/ops/catalog/sample_points.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/clamp.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>
#include <chalkgrad/ops/norm/gain.hpp>
#include <chalkgrad/ops/norm/rms_norm_floor.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

namespace chalkgrad {
namespace {

struct RmsNormFloor {
    static constexpr const char* name = "rms_norm_floor";
    static constexpr const char* inputs[] = {"x"};
    static constexpr Role role = Role::norm;
    double floor;

    Shape shape(Shapes in) const {
        require_rows(name, in[0]);
        require_positive(name, "floor", floor);
        return in[0];
    }
    std::size_t saved(Shapes in) const { return in[0].rows(); } // R
    void attributes(Attributes& out) const { out.set("floor", floor); }
    double length_scale(Ins<double> in) const { return smallest_root(in[0], static_cast<double>(in[0].last()), floor); }
    template <class T> void kinks(Ins<T> in, KinkSides& out) const {
        each_root<T>(in[0], T(in[0].last()), [&](T root) { out.compare(root, T(floor)); });
    }

    template <class T> void forward(Ins<T> in, Out<T> y, T* root) const {
        kernel::rms_norm_floor_forward<T>(in[0].rows(), in[0].last(), T(floor), in[0].data, root, y.data);
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T* root, Outs<T> gx) const {
        kernel::rms_norm_floor_gx<T>(in[0].rows(), in[0].last(), T(floor), root, y.data, gy.data, gx[0].data);
    }
};

} // namespace

template <class T> Var<T> rms_norm_floor(const Var<T>& x, double floor) { return apply(RmsNormFloor{floor}, x); }

template <class T> Var<T> rms_norm_floor_composed(const Var<T>& x, double floor) {
    return x / clamp(sqrt(mean(square(x), -1, true)), floor, {});
}

#define CHALKGRAD_INSTANTIATE(T)                           \
    template Var<T> rms_norm_floor(const Var<T>&, double); \
    template Var<T> rms_norm_floor_composed(const Var<T>&, double);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

CatalogEntry rms_norm_floor_entry() {
    return entry("rms_norm_floor", "x / max(sqrt(mean(x^2)), floor)", "§6", "x",
        [](Settings& c) { return rule_of(RmsNormFloor{c.number("floor", 1e-12)}); })
        .with_samples({"both_sides: x(4,7) floor=0.05", "below: x(2,4) floor=1", "above: x(2,3,5) floor=1e-12",
                          "row_of_eleven: x(2,11) floor=1e-12"},
            {},
            [](std::vector<Sample>& samples) {
                // A row on each side of the floor: standard normal rows of 7 lie above 0.05, those of 5e-3 below.
                for (std::size_t j = 0; j < 7; ++j) samples[0].inputs[0].values(2, j) *= 5e-3;
                for (double& x : samples[1].inputs[0].values) x *= 1e-2;
            })
        .with_twin([](auto& c) { return rms_norm_floor_composed(c.in("x"), c.number("floor", 1e-12)); })
        .with_identities([](const Sample& s) {
            const double floor = s.number("floor", 1e-12);
            return radial("J x = 0 above the floor, y below it", *s.input("x"),
                [=](double square, double d) { return std::sqrt(square / d) < floor ? 1 / floor : 0; });
        });
}

} // namespace chalkgrad
#endif
