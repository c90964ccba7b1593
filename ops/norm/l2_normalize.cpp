// l2_normalize:  m = max(‖x‖, ε) or √(‖x‖² + ε),  y = x / m          sums over a row, not means
#include <chalkgrad/autograd/kernel/kernel.hpp>
#include <chalkgrad/ops/norm/guarded_root.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

template <class T>
void l2_normalize_forward(std::size_t rows, std::size_t d, T floor, T eps, T root_eps, const T* x, T* length, T* y) {
    divide_by_root(rows, d, T(1), floor, eps, root_eps, x, length, y);
}
template <class T>
void l2_normalize_gx(std::size_t rows, std::size_t d, T floor, const T* length, const T* y, const T* gy, T* gx) {
    divide_by_root_gx(rows, d, T(1), floor, length, y, gy, gx);
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(l2_normalize_forward)
CHALKGRAD_KERNEL(l2_normalize_gx)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <fmt/format.h>

#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/ops/catalog/sample_points.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/clamp.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>
#include <chalkgrad/ops/norm/gain.hpp>
#include <chalkgrad/ops/norm/l2_normalize.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

namespace chalkgrad {
namespace {

struct L2Normalize {
    static constexpr const char* name = "l2_normalize";
    static constexpr const char* inputs[] = {"x"};
    static constexpr Role role = Role::norm;
    double eps;
    Guard guard;

    Shape shape(Shapes in) const {
        require_rows(name, in[0]);
        require_positive(name, "eps", eps);
        return in[0];
    }
    std::size_t saved(Shapes in) const { return in[0].rows(); } // ‖x‖, or √(‖x‖² + ε)
    void attributes(Attributes& out) const {
        out.set("eps", eps);
        out.set("guard", std::string(guard == Guard::floor ? "floor" : "additive"));
    }
    double length_scale(Ins<double> in) const {
        return smallest_root(in[0], 1, guard == Guard::floor ? eps : std::sqrt(eps));
    }
    template <class T> void kinks(Ins<T> in, KinkSides& out) const {
        if (guard == Guard::floor) each_root<T>(in[0], T(1), [&](T length) { out.compare(length, T(eps)); });
    }

    template <class T> T floor() const { return guard == Guard::floor ? T(eps) : T(0); }
    template <class T> void forward(Ins<T> in, Out<T> y, T* length) const {
        const double added = guard == Guard::floor ? 0 : eps;
        kernel::l2_normalize_forward<T>(
            in[0].rows(), in[0].last(), floor<T>(), T(added), T(std::sqrt(added)), in[0].data, length, y.data);
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T* length, Outs<T> gx) const {
        kernel::l2_normalize_gx<T>(in[0].rows(), in[0].last(), floor<T>(), length, y.data, gy.data, gx[0].data);
    }
};

} // namespace

template <class T> Var<T> l2_normalize(const Var<T>& x, double eps, Guard guard) {
    return apply(L2Normalize{eps, guard}, x);
}

template <class T> Var<T> l2_normalize_composed(const Var<T>& x, double eps, Guard guard) {
    const Var<T> squares = sum(square(x), -1, true);
    return x / (guard == Guard::floor ? clamp(sqrt(squares), eps, {}) : sqrt(squares + eps));
}

Guard guard_of(const char* op, const std::string& word) {
    if (word == "floor") return Guard::floor;
    if (word == "additive") return Guard::additive;
    throw Error(fmt::format("{}: attribute 'guard' is '{}'; it must be 'floor' or 'additive'", op, word));
}

#define CHALKGRAD_INSTANTIATE(T)                                \
    template Var<T> l2_normalize(const Var<T>&, double, Guard); \
    template Var<T> l2_normalize_composed(const Var<T>&, double, Guard);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

static double eps_of(Settings& c) { return c.number("eps", 1e-12); }
static Guard guard_of(Settings& c) { return guard_of("l2_normalize", c.word("guard", "floor")); }

CatalogEntry l2_normalize_entry() {
    return entry("l2_normalize", "x / max(|x|, eps), or x / sqrt(|x|^2 + eps)", "§7", "x",
        [](Settings& c) {
            return rule_of(L2Normalize{eps_of(c), guard_of(c)});
        })
        .with_samples({"both_sides: x(4,5) eps=0.05", "floor: x(2,2,3) eps=1e-12",
                          "additive: x(2,11) eps=0.1 guard=additive", "row_of_one: x(3,1) eps=0.1 guard=additive"},
            {},
            [](std::vector<Sample>& samples) {
                // Rows on both sides of the floor: standard normal rows of 5 are longer than 0.05, those of 4e-3 shorter.
                for (std::size_t j = 0; j < 5; ++j) samples[0].inputs[0].values(2, j) *= 4e-3;
            })
        .with_twin([](auto& c) { return l2_normalize_composed(c.in("x"), eps_of(c), guard_of(c)); })
        .with_identities([](const Sample& s) {
            const Attribute* guard = s.attributes.find("guard");
            const bool additive = guard != nullptr && to_string(*guard) == "additive";
            const double eps = s.number("eps", 1e-12);
            return radial("J x is what the guard leaves of x", *s.input("x"), [=](double square, double) {
                return additive                  ? eps / ((square + eps) * std::sqrt(square + eps))
                       : std::sqrt(square) < eps ? 1 / eps
                                                 : 0;
            });
        });
}

} // namespace chalkgrad
#endif
