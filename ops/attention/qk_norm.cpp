// qk_norm_per_head:  split, then norm.   qk_norm_whole:  norm, then split.   qknorm_scores:  τ q̂ k̂ᵀ
// Each is a few recorded lines: moving axes has the reverse move as its backward, and the norms bring their own.
#include <chalkgrad/ops/attention/qk_norm.hpp>

#include <fmt/format.h>

#include <chalkgrad/ops/attention/heads.hpp>
#include <chalkgrad/ops/catalog/checks.hpp>
#include <chalkgrad/ops/catalog/composite.hpp>
#include <chalkgrad/ops/catalog/sample_points.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>

namespace chalkgrad {
namespace {

template <class T>
void require_heads(const char* op, const Var<T>& q, std::size_t heads, const Var<T>& gamma, bool per_head) {
    const Shape& shape = q.shape();
    if (shape.rank() < 2)
        throw Error(fmt::format("{}: q has shape {}; it must be (…, T, heads·d)", op, to_string(shape)));
    if (heads == 0 || shape.last() == 0 || shape.last() % heads != 0)
        throw Error(
            fmt::format("{}: the last axis of q, shape {}, does not split into {} heads", op, to_string(shape), heads));
    const std::size_t d = per_head ? shape.last() / heads : shape.last();
    if (gamma && gamma.rank() != 0 && !(gamma.shape() == Shape{d}))
        throw Error(
            fmt::format("{}: gamma has shape {} beside q of shape {} in {} heads; it must be ({}) or a single number",
                op, to_string(gamma.shape()), to_string(shape), heads, d));
}

template <class T> void require_scores(const Var<T>& q, const Var<T>& k, const Var<T>& tau) {
    if (q.rank() < 2 || k.rank() < 2 || q.shape().last() != k.shape().last())
        throw Error(
            fmt::format("qknorm_scores: q has shape {} and k has shape {}; they must be (…, T, d) and (…, S, d)",
                to_string(q.shape()), to_string(k.shape())));
    if (tau.rank() != 0)
        throw Error(fmt::format("qknorm_scores: tau has shape {}; it must be a single number", to_string(tau.shape())));
}

} // namespace

template <class T> Var<T> qk_norm_per_head(const Var<T>& q, std::size_t heads, const Var<T>& gamma, double eps) {
    require_heads("qk_norm_per_head", q, heads, gamma, true);
    return composite(q.tape(), "qk_norm_per_head", Role::none,
        [&] { return swap_heads_and_tokens(rms_norm(as_heads(q, heads), gamma, eps)); });
}
template <class T> Var<T> qk_norm_whole(const Var<T>& q, std::size_t heads, const Var<T>& gamma, double eps) {
    require_heads("qk_norm_whole", q, heads, gamma, false);
    return composite(
        q.tape(), "qk_norm_whole", Role::none, [&] { return split_heads(rms_norm(q, gamma, eps), heads); });
}
template <class T> Var<T> qknorm_scores(const Var<T>& q, const Var<T>& k, const Var<T>& tau, double eps, Guard guard) {
    require_scores(q, k, tau);
    return composite(q.tape(), "qknorm_scores", Role::none,
        [&] { return tau * matmul(l2_normalize(q, eps, guard), swap_axes(l2_normalize(k, eps, guard), 2, 1)); });
}

template <class T>
Var<T> qk_norm_per_head_composed(const Var<T>& q, std::size_t heads, const Var<T>& gamma, double eps) {
    return swap_heads_and_tokens(rms_norm_composed(as_heads(q, heads), gamma, eps));
}
template <class T> Var<T> qk_norm_whole_composed(const Var<T>& q, std::size_t heads, const Var<T>& gamma, double eps) {
    return split_heads(rms_norm_composed(q, gamma, eps), heads);
}
template <class T>
Var<T> qknorm_scores_composed(const Var<T>& q, const Var<T>& k, const Var<T>& tau, double eps, Guard guard) {
    return tau * matmul(l2_normalize_composed(q, eps, guard), swap_axes(l2_normalize_composed(k, eps, guard), 2, 1));
}

#define CHALKGRAD_INSTANTIATE(T)                                                                  \
    template Var<T> qk_norm_per_head(const Var<T>&, std::size_t, const Var<T>&, double);          \
    template Var<T> qk_norm_whole(const Var<T>&, std::size_t, const Var<T>&, double);             \
    template Var<T> qknorm_scores(const Var<T>&, const Var<T>&, const Var<T>&, double, Guard);    \
    template Var<T> qk_norm_per_head_composed(const Var<T>&, std::size_t, const Var<T>&, double); \
    template Var<T> qk_norm_whole_composed(const Var<T>&, std::size_t, const Var<T>&, double);    \
    template Var<T> qknorm_scores_composed(const Var<T>&, const Var<T>&, const Var<T>&, double, Guard);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

namespace {

/// Calls f(q, heads, gamma, eps) with the arguments of one call.
auto with_heads(const char* op, auto f) {
    return [op, f](auto& c) {
        c.ignore({"layout"});
        const std::ptrdiff_t heads = c.integer("heads");
        if (heads < 1) throw Error(fmt::format("{}: heads is {}; it must be at least 1", op, heads));
        return f(c.in("q"), static_cast<std::size_t>(heads), c.maybe("gamma"), c.number("eps", 1e-6));
    };
}
auto with_scores(auto f) {
    return [f](auto& c) {
        c.ignore({"formula"});
        return f(c.in("q"), c.in("k"), c.in("tau"), c.number("eps", 1e-12),
            guard_of("qknorm_scores", c.word("guard", "floor")));
    };
}

// A row of small numbers, where eps shows; heads of different size, which the whole-projection norm mixes.
Array<double> queries(Generator& rng, std::string_view input, const Shape& shape) {
    Array<double> q = rng.standard_normal(shape);
    if (input != "q") return q;
    for (std::size_t i = 0; i < q.size(); ++i)
        q.data()[i] *= i % shape.last() < shape.last() / 2 ? 1e-2 : i < shape.last() ? 1e-1 : 1;
    return q;
}
} // namespace

// q is (…, T, H d), the output (…, H, T, d): 0 between tokens, and between heads where each is normalised by itself.
static Known qk_norm_identities(bool per_head) {
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

CatalogEntry qk_norm_per_head_entry() {
    return entry("qk_norm_per_head", "rms_norm(split(q), gamma): (T, H d) -> (H, T, d)", "§7",
        with_heads("qk_norm_per_head", [](const auto&... a) { return qk_norm_per_head(a...); }))
        .with_samples({"two_heads: q(3,6) gamma(3) heads=2 eps=1e-3", "batch: q(2,2,4) heads=2 eps=1e-2"}, queries)
        .with_twin(with_heads("qk_norm_per_head", [](const auto&... a) { return qk_norm_per_head_composed(a...); }))
        .with_identities(qk_norm_identities(true));
}
CatalogEntry qk_norm_whole_entry() {
    return entry("qk_norm_whole", "split(rms_norm(q, gamma)): (T, H d) -> (H, T, d)", "§7",
        with_heads("qk_norm_whole", [](const auto&... a) { return qk_norm_whole(a...); }))
        .with_samples({"two_heads: q(3,6) gamma(6) heads=2 eps=1e-3", "batch: q(2,2,4) heads=2 eps=1e-2"}, queries)
        .with_twin(with_heads("qk_norm_whole", [](const auto&... a) { return qk_norm_whole_composed(a...); }))
        .with_identities(qk_norm_identities(false));
}
CatalogEntry qknorm_scores_entry() {
    return entry(
        "qknorm_scores", "tau l2(q) l2(k)^T", "§7", with_scores([](const auto&... a) { return qknorm_scores(a...); }))
        .with_samples(
            {"floor: q(3,4) k(2,4) tau() eps=1e-12", "additive: q(2,2,3) k(2,3,3) tau() eps=0.1 guard=additive"})
        .with_twin(with_scores([](const auto&... a) { return qknorm_scores_composed(a...); }))
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

} // namespace chalkgrad
