// Rows divided by their root, guarded below:  m = max(√(Σx²/N + ε), floor),  y = x / m
// l2_normalize: N = 1, a length, and either guard.  rms_norm_floor: N = d, a root mean square, and a floor alone.
#include <chalkgrad/ops/norm/norm_kernels.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// A length may lie beyond the range where no number of the row does. Then it is taken of x/d, and kept with a minus.
template <class T>
void divide_by_root(std::size_t rows, std::size_t d, T n, T floor, T eps, T root_eps, const T* x, T* root, T* y) {
    for (std::size_t t = 0; t < rows; ++t, x += d, y += d) {
        const T R = root_mean_square<T>(d, n, eps, root_eps, [=](std::size_t j) FAST { return x[j]; });
        if (R > T(largest<T>)) {
            const T Q = root_mean_square<T>(d, n, T(0), T(0), [=](std::size_t j) FAST { return x[j] / T(d); });
            root[t] = -Q;
            each<T>(d, [=](std::size_t j) FAST { y[j] = x[j] / T(d) / Q; });
        } else {
            root[t] = R;
            const T m = R < floor ? floor : R;
            each<T>(d, [=](std::size_t j) FAST { y[j] = x[j] / m; });
        }
    }
}

// Where the root counts:  dy = (dx − y Σ(y dx)/N)/m, a symmetric Jacobian, so  x̄ = (ȳ − y Σ(y ȳ)/N)/m.  Below the floor
// x̄ = ȳ/floor: the root is not differentiated there, which at x = 0 would be 0·inf.
template <class T>
void divide_by_root_gx(std::size_t rows, std::size_t d, T n, T floor, const T* root, const T* y, const T* gy, T* gx) {
    for (std::size_t t = 0; t < rows; ++t, y += d, gy += d, gx += d) {
        const T R = root[t];
        if (R >= 0 && R < floor) {
            each<T>(d, [=](std::size_t j) FAST { gx[j] = gy[j] / floor; });
        } else {
            const T s = sum<T>(d, [=](std::size_t j) FAST { return y[j] * gy[j]; }) / n;
            const T Q = R < 0 ? -R : R, k = R < 0 ? 1 / T(d) : T(1);
            each<T>(d, [=](std::size_t j) FAST { gx[j] = (k * gy[j] - y[j] * (k * s)) / Q; });
        }
    }
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(divide_by_root, divide_by_root_gx)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/norm/gain.hpp>
#include <chalkgrad/ops/norm/guarded_root.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

namespace chalkgrad {
namespace {

template <bool of_mean> struct DivideByRoot {
    static constexpr const char* name = of_mean ? "rms_norm_floor" : "l2_normalize";
    static constexpr const char* limit_name = of_mean ? "floor" : "eps";
    static constexpr const char* inputs[] = {"x"};
    static constexpr Role role = Role::norm;
    double limit;
    Guard guard = Guard::floor;

    Shape shape(Shapes in) const {
        require_rows(name, in[0]);
        require_positive(name, limit_name, limit);
        return in[0];
    }
    std::size_t saved(Shapes in) const { return in[0].rows(); } // √(Σx²/N + ε)
    void attributes(Attributes& out) const {
        out.set(limit_name, limit);
        if (!of_mean) out.set("guard", std::string(guard == Guard::floor ? "floor" : "additive"));
    }
    /// A row bends over its own root, down to the guard.
    double length_scale(Ins<double> in) const {
        const double least = guard == Guard::floor ? limit : std::sqrt(limit);
        double smallest = HUGE_VAL;
        each_root(in[0], [&](double root) { smallest = std::min(smallest, std::max(least, root)); });
        return std::isfinite(smallest) ? smallest : 1;
    }
    template <class T> void kinks(Ins<T> in, KinkSides& out) const {
        if (guard == Guard::floor) each_root(in[0], [&](T root) { out.compare(root, T(limit)); });
    }

    template <class T> void forward(Ins<T> in, Out<T> y, T* root) const {
        const double eps = guard == Guard::floor ? 0 : limit;
        kernel::divide_by_root<T>(
            y.rows(), y.last(), n(y), floor<T>(), T(eps), T(std::sqrt(eps)), in[0].data, root, y.data);
    }
    template <class T> void vjp(Ins<T>, In<T> y, In<T> gy, const T* root, Outs<T> gx) const {
        kernel::divide_by_root_gx<T>(y.rows(), y.last(), n(y), floor<T>(), root, y.data, gy.data, gx[0].data);
    }

private:
    template <class T> T floor() const { return guard == Guard::floor ? T(limit) : T(0); }
    template <template <class> class View, class T> static T n(View<T> x) { return of_mean ? T(x.last()) : T(1); }
    template <class T, class F> static void each_root(In<T> x, F f) {
        for (std::size_t t = 0; t < x.rows(); ++t) {
            const T* row = x.data + t * x.last();
            f(base::root_mean_square<T>(x.last(), n(x), T(0), T(0), [=](std::size_t j) FAST { return row[j]; }));
        }
    }
};
using L2Normalize = DivideByRoot<false>;
using RmsNormFloor = DivideByRoot<true>;

} // namespace

template <class T> Var<T> l2_normalize(const Var<T>& x, double eps, Guard guard) {
    return apply(L2Normalize{eps, guard}, x);
}
template <class T> Var<T> rms_norm_floor(const Var<T>& x, double floor) { return apply(RmsNormFloor{floor}, x); }

template <class T> Var<T> l2_normalize_composed(const Var<T>& x, double eps, Guard guard) {
    const Var<T> squares = sum(square(x), -1, true);
    return x / (guard == Guard::floor ? clamp(sqrt(squares), eps, {}) : sqrt(squares + eps));
}
template <class T> Var<T> rms_norm_floor_composed(const Var<T>& x, double floor) {
    return x / clamp(sqrt(mean(square(x), -1, true)), floor, {});
}

CHALKGRAD_INSTANCES(l2_normalize, l2_normalize_composed)
CHALKGRAD_INSTANCES(rms_norm_floor, rms_norm_floor_composed)

Guard guard_of(const char* op, const std::string& word) {
    if (word == "floor") return Guard::floor;
    if (word == "additive") return Guard::additive;
    throw Error(fmt::format("{}: attribute 'guard' is '{}'; it must be 'floor' or 'additive'", op, word));
}

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
