// qk_norm_per_head:  split, then norm.   qk_norm_whole:  norm, then split.   qknorm_scores:  τ q̂ k̂ᵀ.   sdpa_qknorm:  sdpa of these
// Each is a few recorded lines: moving axes has the reverse move as its backward, and norms and attention bring their own.
#include <chalkgrad/ops/attention/qk_norm.hpp>

#include <chalkgrad/ops/attention/heads.hpp>
#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>

namespace chalkgrad {
namespace {

void require_heads(const char* op, const char* name, const Shape& x, std::size_t heads) {
    if (x.rank() < 2)
        throw Error(fmt::format("{}: {} has shape {}; it must be (…, T, heads·d)", op, name, to_string(x)));
    if (heads == 0 || x.last() == 0 || x.last() % heads != 0)
        throw Error(fmt::format(
            "{}: the last axis of {}, shape {}, does not split into {} heads", op, name, to_string(x), heads));
}

template <class T>
void require_head_gain(const char* op, const Shape& q, std::size_t heads, const Var<T>& gamma, std::size_t d) {
    if (gamma && gamma.rank() != 0 && !(gamma.shape() == Shape{d}))
        throw Error(
            fmt::format("{}: gamma has shape {} beside q of shape {} in {} heads; it must be ({}) or a single number",
                op, to_string(gamma.shape()), to_string(q), heads, d));
}

template <class T> void require_number(const char* op, const Var<T>& tau) {
    if (tau.rank() != 0)
        throw Error(fmt::format("{}: tau has shape {}; it must be a single number", op, to_string(tau.shape())));
}

// What all are made of: fused ops, or for the composed twins the same from primitive ones.
template <bool composed>
constexpr auto rms = [](const auto& x, const auto& gamma, double eps) {
    if constexpr (composed) return rms_norm_composed(x, gamma, eps);
    else return rms_norm(x, gamma, eps);
};
template <bool composed>
constexpr auto unit_length = [](const auto& x, double eps, Guard guard) {
    if constexpr (composed) return l2_normalize_composed(x, eps, guard);
    else return l2_normalize(x, eps, guard);
};
template <bool composed>
constexpr auto attention = [](const auto&... arguments) {
    if constexpr (composed) return sdpa_composed(arguments...);
    else return sdpa(arguments...);
};

template <bool composed, class T>
Var<T> norm_of_heads(const Var<T>& q, std::size_t heads, const Var<T>& gamma, double eps) {
    return swap_heads_and_tokens(rms<composed>(as_heads(q, heads), gamma, eps));
}
template <bool composed, class T>
Var<T> norm_of_all(const Var<T>& q, std::size_t heads, const Var<T>& gamma, double eps) {
    return split_heads(rms<composed>(q, gamma, eps), heads);
}
template <bool composed, class T>
Var<T> cosines(const Var<T>& q, const Var<T>& k, const Var<T>& tau, double eps, Guard guard) {
    return tau * matmul(unit_length<composed>(q, eps, guard), swap_axes(unit_length<composed>(k, eps, guard), 2, 1));
}

} // namespace

template <class T> Var<T> qk_norm_per_head(const Var<T>& q, std::size_t heads, const Var<T>& gamma, double eps) {
    require_heads("qk_norm_per_head", "q", q.shape(), heads);
    require_head_gain("qk_norm_per_head", q.shape(), heads, gamma, q.shape().last() / heads);
    return composite(
        q.tape(), "qk_norm_per_head", Role::none, [&] { return norm_of_heads<false>(q, heads, gamma, eps); });
}
template <class T> Var<T> qk_norm_whole(const Var<T>& q, std::size_t heads, const Var<T>& gamma, double eps) {
    require_heads("qk_norm_whole", "q", q.shape(), heads);
    require_head_gain("qk_norm_whole", q.shape(), heads, gamma, q.shape().last());
    return composite(q.tape(), "qk_norm_whole", Role::none, [&] { return norm_of_all<false>(q, heads, gamma, eps); });
}
template <class T> Var<T> qknorm_scores(const Var<T>& q, const Var<T>& k, const Var<T>& tau, double eps, Guard guard) {
    if (q.rank() < 2 || k.rank() < 2 || q.shape().last() != k.shape().last())
        throw Error(
            fmt::format("qknorm_scores: q has shape {} and k has shape {}; they must be (…, T, d) and (…, S, d)",
                to_string(q.shape()), to_string(k.shape())));
    require_number("qknorm_scores", tau);
    return composite(q.tape(), "qknorm_scores", Role::none, [&] { return cosines<false>(q, k, tau, eps, guard); });
}

template <class T>
Var<T> qk_norm_per_head_composed(const Var<T>& q, std::size_t heads, const Var<T>& gamma, double eps) {
    return norm_of_heads<true>(q, heads, gamma, eps);
}
template <class T> Var<T> qk_norm_whole_composed(const Var<T>& q, std::size_t heads, const Var<T>& gamma, double eps) {
    return norm_of_all<true>(q, heads, gamma, eps);
}
template <class T>
Var<T> qknorm_scores_composed(const Var<T>& q, const Var<T>& k, const Var<T>& tau, double eps, Guard guard) {
    return cosines<true>(q, k, tau, eps, guard);
}

template <class T, bool composed>
Var<T> sdpa_qknorm_per_head(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& q_gamma,
    const Var<T>& k_gamma, double eps, const AttentionOptions& options) {
    return composite(q.tape(), "sdpa_qknorm", Role::attention, [&] {
        const Var<T> q_hat = rms<composed>(q, q_gamma, eps), k_hat = rms<composed>(k, k_gamma, eps);
        return attention<composed>(q_hat, k_hat, v, options);
    });
}

template <class T, bool composed>
Var<T> sdpa_qknorm_whole(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& q_gamma,
    const Var<T>& k_gamma, std::size_t heads_q, std::size_t heads_kv, double eps, const AttentionOptions& options) {
    require_heads("sdpa_qknorm", "q", q.shape(), heads_q);
    require_heads("sdpa_qknorm", "k", k.shape(), heads_kv);
    require_heads("sdpa_qknorm", "v", v.shape(), heads_kv);
    return composite(q.tape(), "sdpa_qknorm", Role::attention, [&] {
        const Var<T> q_hat = norm_of_all<composed>(q, heads_q, q_gamma, eps);
        const Var<T> k_hat = norm_of_all<composed>(k, heads_kv, k_gamma, eps);
        return attention<composed>(q_hat, k_hat, split_heads(v, heads_kv), options);
    });
}

template <class T, bool composed>
Var<T> sdpa_qknorm_l2(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& tau, double eps, Guard guard,
    const AttentionOptions& given) {
    require_number("sdpa_qknorm", tau);
    AttentionOptions options = given;
    if (!options.scale) options.scale = 1;
    return composite(q.tape(), "sdpa_qknorm", Role::attention, [&] {
        const Var<T> q_hat = tau * unit_length<composed>(q, eps, guard), k_hat = unit_length<composed>(k, eps, guard);
        return attention<composed>(q_hat, k_hat, v, options);
    });
}

CHALKGRAD_INSTANCES(qk_norm_per_head, qk_norm_whole, qknorm_scores)
CHALKGRAD_INSTANCES(qk_norm_per_head_composed, qk_norm_whole_composed, qknorm_scores_composed)
CHALKGRAD_INSTANCES(sdpa_qknorm_per_head, sdpa_qknorm_whole, sdpa_qknorm_l2)

namespace {

/// How many heads a call names.
std::size_t heads_of(Settings& c, const char* op, const char* attribute) {
    const std::ptrdiff_t heads = c.integer(attribute);
    if (heads < 1) throw Error(fmt::format("{}: {} is {}; it must be at least 1", op, attribute, heads));
    return static_cast<std::size_t>(heads);
}

// A row of small numbers, where eps shows; heads of different size, which the whole-projection norm mixes.
Array<double> queries(Generator& rng, std::string_view input, const Shape& shape) {
    Array<double> q = rng.standard_normal(shape);
    if (input != "q") return q;
    for (std::size_t i = 0; i < q.size(); ++i)
        q.data()[i] *= i % shape.last() < shape.last() / 2 ? 1e-2 : i < shape.last() ? 1e-1 : 1;
    return q;
}

// q is (…, T, H d), the output (…, H, T, d): 0 between tokens, and between heads where each is normalised by itself.
Known qk_norm_identities(bool per_head) {
    return [=](const Sample& s) {
        const Array<double>& q = *s.input("q");
        const std::size_t heads = static_cast<std::size_t>(s.number("heads", 1)), width = last_extent(q),
                          d = width / heads;
        const std::size_t tokens = q.shape()[q.dimension() - 2];
        std::vector<Identity> known{block_diagonal(
            per_head ? "0 between tokens and between heads" : "0 between tokens", "q",
            [=](std::size_t i) {
                const std::size_t token = i / d % tokens, head = i / (d * tokens) % heads,
                                  batch = i / (d * tokens * heads);
                return (batch * tokens + token) * heads + (per_head ? head : 0);
            },
            [=](std::size_t j) { return j / width * heads + (per_head ? j % width / d : 0); })};
        if (s.input("gamma") != nullptr) known.push_back(homogeneous("gamma", 1));
        return known;
    };
}

CatalogEntry qk_norm_like(
    const char* op, const char* formula, const char* gain, bool is_per_head, auto norm, auto twin) {
    const auto call = [=](auto f) {
        return [=](auto& c) {
            c.ignore({"layout"});
            return f(c.in("q"), heads_of(c, op, "heads"), c.maybe("gamma"), c.number("eps", 1e-6));
        };
    };
    return entry(op, formula, "§7", call(norm))
        .with_samples({gain, "batch: q(2,2,4) heads=2 eps=1e-2"}, queries)
        .with_twin(call(twin))
        .with_identities(qk_norm_identities(is_per_head));
}

template <bool composed, class T> Var<T> call_attention(Arguments<T>& c) {
    const Var<T> q = c.in("q"), k = c.in("k"), v = c.in("v"), tau = c.maybe("tau");
    c.ignore({"formula", "layout"});
    AttentionOptions o;
    o.scale = c.limit("scale");
    o.causal = c.flag("causal", false);
    const std::size_t heads_q = heads_of(c, "sdpa_qknorm", "heads_q"),
                      heads_kv = heads_of(c, "sdpa_qknorm", "heads_kv");
    const auto agree = [&](const char* name, const Var<T>& x, std::size_t count) {
        if (x.rank() < 3 || x.shape()[x.rank() - 3] != count)
            throw Error(fmt::format("sdpa_qknorm: {} has shape {}; with {} heads it must be (…, {}, T, d)", name,
                to_string(x.shape()), count, count));
    };
    // Flat projections have no axis of heads.
    const std::string norm = c.word("norm", tau ? "l2" : q.rank() == 2 ? "whole_projection" : "per_head");
    if (norm == "whole_projection")
        return sdpa_qknorm_whole<T, composed>(
            q, k, v, c.in("q_gamma"), c.in("k_gamma"), heads_q, heads_kv, c.number("eps", 1e-6), o);
    agree("q", q, heads_q);
    agree("k", k, heads_kv);
    if (norm == "per_head")
        return sdpa_qknorm_per_head<T, composed>(q, k, v, c.in("q_gamma"), c.in("k_gamma"), c.number("eps", 1e-6), o);
    if (norm == "l2")
        return sdpa_qknorm_l2<T, composed>(
            q, k, v, c.in("tau"), c.number("eps", 1e-12), guard_of("sdpa_qknorm", c.word("guard", "additive")), o);
    throw Error(fmt::format("sdpa_qknorm: norm is '{}'; it must be per_head, whole_projection or l2", norm));
}

} // namespace

CatalogEntry qk_norm_per_head_entry() {
    return qk_norm_like(
        "qk_norm_per_head", "rms_norm(split(q), gamma): (T, H d) -> (H, T, d)",
        "two_heads: q(3,6) gamma(3) heads=2 eps=1e-3", true, [](const auto&... a) { return qk_norm_per_head(a...); },
        [](const auto&... a) { return norm_of_heads<true>(a...); });
}
CatalogEntry qk_norm_whole_entry() {
    return qk_norm_like(
        "qk_norm_whole", "split(rms_norm(q, gamma)): (T, H d) -> (H, T, d)",
        "two_heads: q(3,6) gamma(6) heads=2 eps=1e-3", false, [](const auto&... a) { return qk_norm_whole(a...); },
        [](const auto&... a) { return norm_of_all<true>(a...); });
}
CatalogEntry qknorm_scores_entry() {
    const auto call = [](auto f) {
        return [f](auto& c) {
            c.ignore({"formula"});
            return f(c.in("q"), c.in("k"), c.in("tau"), c.number("eps", 1e-12),
                guard_of("qknorm_scores", c.word("guard", "floor")));
        };
    };
    return entry("qknorm_scores", "tau l2(q) l2(k)^T", "§7", call([](const auto&... a) { return qknorm_scores(a...); }))
        .with_samples(
            {"floor: q(3,4) k(2,4) tau() eps=1e-12", "additive: q(2,2,3) k(2,3,3) tau() eps=0.1 guard=additive"})
        .with_twin(call([](const auto&... a) { return cosines<true>(a...); }))
        .with_identities([](const Sample& s) {
            const Array<double>&q = *s.input("q"), &k = *s.input("k");
            const std::size_t d = last_extent(q), rows = q.shape()[q.dimension() - 2],
                              columns = k.shape()[k.dimension() - 2];
            return std::vector<Identity>{homogeneous("tau", 1), block_diagonal_rows("q", columns, d),
                block_diagonal(
                    "0 between keys", "k", [=](std::size_t i) { return i / (rows * columns) * columns + i % columns; },
                    [=](std::size_t j) { return j / d; })};
        });
}
CatalogEntry sdpa_qknorm_entry() {
    return entry("sdpa_qknorm",
        "sdpa of q and k normalised per head, over the whole projection, or to length 1 times tau", "§7",
        [](auto& c) { return call_attention<false>(c); })
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
        .with_twin([](auto& c) { return call_attention<true>(c); })
        .with_identities([](const Sample& s) {
            return s.input("q")->dimension() < 3 ? std::vector<Identity>() : attention_identities(s, false);
        });
}

} // namespace chalkgrad
