// gpt_oss_packed: swiglu_act with g = p[0::2], u = p[1::2], both limits equal, shift 1
#include <chalkgrad/ops/gate/swiglu_kernels.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

template <class T> void gpt_oss_packed_forward(std::size_t n, T alpha, T limit, const T* x, T* p, T* y) {
    swiglu<2>(n, alpha, limit, limit, T(1), x, x + 1, p, y);
}
template <class T>
void gpt_oss_packed_gradient(std::size_t n, T alpha, T limit, const T* x, const T* p, const T* gy, T* gx) {
    swiglu_gradients<2>(n, alpha, limit, limit, T(1), x, x + 1, p, gy, gx, gx + 1);
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(gpt_oss_packed_forward)
CHALKGRAD_KERNEL(gpt_oss_packed_gradient)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <fmt/format.h>

#include <chalkgrad/ops/shape/slice.hpp>

namespace chalkgrad {
namespace {

struct GptOssPacked {
    static constexpr const char* name = "gpt_oss_packed";
    static constexpr const char* inputs[] = {"p"};
    static constexpr Role role = Role::gate;
    double alpha, limit;

    Shape shape(Shapes in) const {
        const Shape& p = in[0];
        if (p.rank() == 0 || p.last() % 2 != 0)
            throw Error(fmt::format(
                "{}: p has shape {}; its last axis holds gate and up in turn and must be even", name, to_string(p)));
        require_finite(name, "alpha", alpha);
        require_limit(name, "limit", limit);
        return p.with(p.rank() - 1, p.last() / 2);
    }
    std::size_t saved(Shapes in) const { return in[0].size() / 2; } // the smaller sigmas
    void attributes(Attributes& out) const {
        out.set("alpha", alpha);
        out.set("limit", limit);
    }
    double length_scale(Ins<double>) const { return 1 / std::max(1.0, std::abs(alpha)); }
    template <class T> void kinks(Ins<T> in, KinkSides& out) const {
        for (std::size_t i = 0; i + 1 < in[0].size(); i += 2) swiglu_sides(in[0][i], in[0][i + 1], limit, limit, out);
    }

    template <class T> void forward(Ins<T> in, Out<T> y, T* sigma) const {
        kernel::gpt_oss_packed_forward<T>(y.size(), T(alpha), T(limit), in[0].data, sigma, y.data);
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T* sigma, Outs<T> gx) const {
        if (gx[0])
            kernel::gpt_oss_packed_gradient<T>(y.size(), T(alpha), T(limit), in[0].data, sigma, gy.data, gx[0].data);
    }
};

} // namespace

template <class T> Var<T> gpt_oss_packed(const Var<T>& p, double alpha, double limit) {
    return apply(GptOssPacked{alpha, limit}, p);
}

template <class T> Var<T> gpt_oss_packed_composed(const Var<T>& p, double alpha, double limit) {
    return swiglu_act_composed(slice(p, "..., ::2"), slice(p, "..., 1::2"), {alpha, limit, limit, 1});
}

#define CHALKGRAD_INSTANTIATE(T)                                   \
    template Var<T> gpt_oss_packed(const Var<T>&, double, double); \
    template Var<T> gpt_oss_packed_composed(const Var<T>&, double, double);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

static GptOssPacked packed_rule(Settings& c) {
    c.ignore({"layout"});
    return {c.number("alpha", 1.702), c.number("limit", 7)};
}

CatalogEntry gpt_oss_packed_entry() {
    return entry("gpt_oss_packed", "swiglu_act(p[..., 0::2], p[..., 1::2]; alpha, limit, limit, 1)", "§15", "p",
        [](Settings& c) { return rule_of(packed_rule(c)); })
        .with_samples({"rows: p(3,18) alpha=1.702 limit=2", "width_one: p(2,3,2) alpha=1 limit=2",
                          "inside: p(22) alpha=1.702 limit=7"},
            [](Generator& rng, std::string_view, const Shape& shape) { return around_limits(rng, shape); })
        .with_twin([](auto& c) {
            const auto [alpha, limit] = packed_rule(c);
            return gpt_oss_packed_composed(c.in("p"), alpha, limit);
        })
        .with_identities([](const Sample&) {
            return std::vector<Identity>{block_diagonal(
                "0 between pairs", "p", [](std::size_t i) { return i; }, [](std::size_t j) { return j / 2; })};
        });
}

} // namespace chalkgrad
#endif
