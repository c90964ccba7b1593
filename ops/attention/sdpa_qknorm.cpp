// sdpa_qknorm:  sdpa of normalised queries and keys: RMSNorm within each head, RMSNorm over all heads, or unit length times τ
#include <fmt/format.h>

#include <chalkgrad/ops/attention/heads.hpp>
#include <chalkgrad/ops/attention/sdpa_qknorm.hpp>
#include <chalkgrad/ops/catalog/composite.hpp>
#include <chalkgrad/ops/catalog/sample_points.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>

namespace chalkgrad {
namespace {

void require_heads(const char* name, const Shape& x, std::size_t heads) {
    if (x.rank() < 2)
        throw Error(fmt::format("sdpa_qknorm: {} has shape {}; it must be (…, T, heads·d)", name, to_string(x)));
    if (heads == 0 || x.last() % heads != 0)
        throw Error(fmt::format("sdpa_qknorm: {} has shape {}, whose {} features do not split into {} heads", name,
            to_string(x), x.last(), heads));
}

/// The three ways, given the norms and the attention to use.
struct Fused {
    static constexpr auto rms = [](const auto& x, const auto& gamma, double eps) { return rms_norm(x, gamma, eps); };
    static constexpr auto l2 = [](const auto& x, double eps, Guard guard) { return l2_normalize(x, eps, guard); };
    static constexpr auto attention = [](const auto&... arguments) { return sdpa(arguments...); };
};
struct Composed {
    static constexpr auto rms = [](const auto& x, const auto& gamma, double eps) {
        return rms_norm_composed(x, gamma, eps);
    };
    static constexpr auto l2 = [](const auto& x, double eps, Guard guard) {
        return l2_normalize_composed(x, eps, guard);
    };
    static constexpr auto attention = [](const auto&... arguments) { return sdpa_composed(arguments...); };
};

template <class Parts, class T>
Var<T> per_head(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& q_gamma, const Var<T>& k_gamma,
    double eps, const AttentionOptions& options) {
    return composite(q.tape(), "sdpa_qknorm", Role::attention, [&] {
        const Var<T> q_hat = Parts::rms(q, q_gamma, eps), k_hat = Parts::rms(k, k_gamma, eps);
        return Parts::attention(q_hat, k_hat, v, options);
    });
}

template <class Parts, class T>
Var<T> whole(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& q_gamma, const Var<T>& k_gamma,
    std::size_t heads_q, std::size_t heads_kv, double eps, const AttentionOptions& options) {
    require_heads("q", q.shape(), heads_q);
    require_heads("k", k.shape(), heads_kv);
    require_heads("v", v.shape(), heads_kv);
    return composite(q.tape(), "sdpa_qknorm", Role::attention, [&] {
        const Var<T> q_hat = split_heads(Parts::rms(q, q_gamma, eps), heads_q);
        const Var<T> k_hat = split_heads(Parts::rms(k, k_gamma, eps), heads_kv);
        return Parts::attention(q_hat, k_hat, split_heads(v, heads_kv), options);
    });
}

template <class Parts, class T>
Var<T> with_temperature(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& tau, double eps, Guard guard,
    AttentionOptions options) {
    if (tau.rank() != 0)
        throw Error(fmt::format("sdpa_qknorm: tau has shape {}; it must be a single number", to_string(tau.shape())));
    if (!options.scale) options.scale = 1;
    return composite(q.tape(), "sdpa_qknorm", Role::attention, [&] {
        const Var<T> q_hat = tau * Parts::l2(q, eps, guard), k_hat = Parts::l2(k, eps, guard);
        return Parts::attention(q_hat, k_hat, v, options);
    });
}

} // namespace

template <class T>
Var<T> sdpa_qknorm_per_head(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& q_gamma,
    const Var<T>& k_gamma, double eps, const AttentionOptions& options) {
    return per_head<Fused>(q, k, v, q_gamma, k_gamma, eps, options);
}

template <class T>
Var<T> sdpa_qknorm_whole(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& q_gamma,
    const Var<T>& k_gamma, std::size_t heads_q, std::size_t heads_kv, double eps, const AttentionOptions& options) {
    return whole<Fused>(q, k, v, q_gamma, k_gamma, heads_q, heads_kv, eps, options);
}

template <class T>
Var<T> sdpa_qknorm_l2(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& tau, double eps, Guard guard,
    const AttentionOptions& options) {
    return with_temperature<Fused>(q, k, v, tau, eps, guard, options);
}

#define CHALKGRAD_INSTANTIATE(T)                                                                                     \
    template Var<T> sdpa_qknorm_per_head(                                                                            \
        const Var<T>&, const Var<T>&, const Var<T>&, const Var<T>&, const Var<T>&, double, const AttentionOptions&); \
    template Var<T> sdpa_qknorm_whole(const Var<T>&, const Var<T>&, const Var<T>&, const Var<T>&, const Var<T>&,     \
        std::size_t, std::size_t, double, const AttentionOptions&);                                                  \
    template Var<T> sdpa_qknorm_l2(                                                                                  \
        const Var<T>&, const Var<T>&, const Var<T>&, const Var<T>&, double, Guard, const AttentionOptions&);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

namespace {

template <class Parts, class T> Var<T> call(Arguments<T>& c) {
    const Var<T> q = c.in("q"), k = c.in("k"), v = c.in("v"), tau = c.maybe("tau");
    c.ignore({"formula", "layout"});
    AttentionOptions o;
    o.scale = c.limit("scale");
    o.causal = c.flag("causal", false);
    const auto heads = [&](const char* name) {
        const std::ptrdiff_t n = c.integer(name);
        if (n < 1) throw Error(fmt::format("sdpa_qknorm: {} is {}; it must be at least 1", name, n));
        return static_cast<std::size_t>(n);
    };
    const std::size_t heads_q = heads("heads_q"), heads_kv = heads("heads_kv");
    const auto agree = [&](const char* name, const Var<T>& x, std::size_t count) {
        if (x.rank() < 3 || x.shape()[x.rank() - 3] != count)
            throw Error(fmt::format("sdpa_qknorm: {} has shape {}; with {} heads it must be (…, {}, T, d)", name,
                to_string(x.shape()), count, count));
    };
    // Flat projections have no axis of heads.
    const std::string norm = c.word("norm", tau ? "l2" : q.rank() == 2 ? "whole_projection" : "per_head");
    if (norm == "whole_projection")
        return whole<Parts>(q, k, v, c.in("q_gamma"), c.in("k_gamma"), heads_q, heads_kv, c.number("eps", 1e-6), o);
    agree("q", q, heads_q);
    agree("k", k, heads_kv);
    if (norm == "per_head") return per_head<Parts>(q, k, v, c.in("q_gamma"), c.in("k_gamma"), c.number("eps", 1e-6), o);
    if (norm == "l2")
        return with_temperature<Parts>(
            q, k, v, c.in("tau"), c.number("eps", 1e-12), guard_of("sdpa_qknorm", c.word("guard", "additive")), o);
    throw Error(fmt::format("sdpa_qknorm: norm is '{}'; it must be per_head, whole_projection or l2", norm));
}

} // namespace

CatalogEntry sdpa_qknorm_entry() {
    return entry("sdpa_qknorm",
        "sdpa of q and k normalised per head, over the whole projection, or to length 1 times tau", "§7",
        [](auto& c) { return call<Fused>(c); })
        .with_samples(
            {"per_head: q(4,3,3) k(2,3,3) v(2,3,3) q_gamma(3) k_gamma(3) heads_q=4 heads_kv=2 eps=1e-3 causal=true "
             "scale=0.5",
                "whole_projection: q(3,12) k(3,6) v(3,10) q_gamma(12) k_gamma(6) heads_q=4 heads_kv=2 eps=1e-3 "
                "causal=true scale=0.5",
                "l2_tau: q(2,3,5) k(1,3,5) v(1,3,2) tau() heads_q=2 heads_kv=1 eps=1e-12 guard=additive "
                "causal=true"},
            [](Generator& rng, std::string_view input, const Shape& shape) {
                return input == "tau" ? rng.uniform(1, 3, shape) : rng.standard_normal(shape);
            })
        .with_twin([](auto& c) { return call<Composed>(c); })
        .with_identities([](const Sample& s) {
            return s.input("q")->dimension() < 3 ? std::vector<Identity>() : attention_identities(s, false);
        });
}

} // namespace chalkgrad
