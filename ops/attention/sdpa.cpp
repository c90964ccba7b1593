// sdpa:  S = α Q Kᵀ,  Z = cap(S) + mask,  P = softmax(Z),  O = P V          tile by tile; only O and L = logsumexp(Z) are kept
#include <chalkgrad/ops/attention/attention_kernels.hpp>

CHALKGRAD_KERNEL(attention_transpose, attention_forward, attention_backward)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <limits>

#include <chalkgrad/autograd/tape/pool.hpp>
#include <chalkgrad/autograd/tape/totals.hpp>
#include <chalkgrad/autograd/tape/wider.hpp>
#include <chalkgrad/ops/attention/sdpa.hpp>
#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/reduce/additive_mask.hpp>
#include <chalkgrad/ops/shape/strided.hpp>

namespace chalkgrad {
namespace {

/// The extents of one call. Leading axes are one batch.
struct Extents {
    std::size_t batch = 1, heads = 1, kv_heads = 1, queries, keys, d, dv;

    Extents(const Shape& q, const Shape& k, const Shape& v)
        : queries(q[q.rank() - 2]), keys(k[k.rank() - 2]), d(q.last()), dv(v.last()) {
        if (q.rank() > 2) {
            heads = q[q.rank() - 3];
            kv_heads = k[k.rank() - 3];
        }
        for (std::size_t axis = 0; axis + 3 < q.rank(); ++axis) batch *= q[axis];
    }
    /// The key head of query head `h` of batch item `b`, counted through the batch.
    std::size_t kv(std::size_t b, std::size_t h) const { return b * kv_heads + h / (heads / kv_heads); }
};

Shape score_shape(const Shape& q, const Shape& k) { return q.with(q.rank() - 1, k[k.rank() - 2]); }

Shape attention_shape(const char* op, const AttentionOptions& o, const Shape& q, const Shape& k, const Shape& v,
    const Shape* mask, const Shape* sinks) {
    const auto refuse = [&](const std::string& what) {
        throw Error(
            fmt::format("{}: q has shape {}, k {} and v {}; {}", op, to_string(q), to_string(k), to_string(v), what));
    };
    if (q.rank() < 2 || k.rank() != q.rank() || v.rank() != q.rank())
        refuse("they must be (…, heads, tokens, features), with as many axes each");
    const std::size_t token_axis = q.rank() - 2;
    const Extents e(q, k, v);
    for (std::size_t axis = 0; axis + 3 < q.rank(); ++axis)
        if (k[axis] != q[axis] || v[axis] != q[axis]) refuse("the axes in front of the heads must be the same");
    if (k.last() != q.last()) refuse("queries and keys must have the same number of features");
    if (q.last() == 0) refuse("queries and keys must have at least one feature");
    if (v[token_axis] != k[token_axis]) refuse("there must be one value for each key");
    if (q.rank() > 2 && v[token_axis - 1] != e.kv_heads) refuse("keys and values must have the same number of heads");
    if (e.kv_heads == 0 || e.heads % e.kv_heads != 0)
        refuse(fmt::format("{} query heads cannot share {} key heads evenly; make the first a multiple of the second",
            e.heads, e.kv_heads));
    if (o.scale) require_finite(op, "scale", *o.scale);
    if (o.softcap) require_positive(op, "softcap", *o.softcap);
    if (o.window && *o.window == 0)
        throw Error(fmt::format("{}: window is 0; it counts the query itself, so it must be at least 1", op));
    if (sinks != nullptr && !(*sinks == Shape{e.heads}))
        throw Error(fmt::format(
            "{}: sinks has shape {}; it must be ({}), one number for each query head", op, to_string(*sinks), e.heads));
    if (mask != nullptr) require_mask(op, score_shape(q, k), *mask);
    return q.with(q.rank() - 1, v.last());
}

/// Keys and values of one key head feature by feature, for the query heads that share it.
template <class T> class Columns {
public:
    Columns(std::size_t keys, std::size_t d, std::size_t dv)
        : keys_(keys), d_(d), dv_(dv), column_(padded(keys) + attention_padding), k_(d * column_), v_(dv * column_) {}
    /// Of key head `kv`; dv is 0 where the values are not asked for.
    void fill(std::size_t kv, const T* k, const T* v) {
        if (kv == filled_) return;
        filled_ = kv;
        kernel::attention_transpose<T>(keys_, d_, k + kv * keys_ * d_, column_, k_.data());
        kernel::attention_transpose<T>(keys_, dv_, v + kv * keys_ * dv_, column_, v_.data());
    }
    void of(AttentionTile<T>& tile, std::size_t first_key) {
        tile.k_columns = k_.data() + first_key;
        tile.v_columns = v_.data() + first_key;
        tile.column = column_;
    }
    /// Numbers in a row of scores of so many keys.
    static std::size_t padded(std::size_t keys) {
        return (keys + attention_padding - 1) / attention_padding * attention_padding;
    }

private:
    std::size_t keys_, d_, dv_, column_, filled_ = std::numeric_limits<std::size_t>::max();
    Scratch<T> k_, v_;
};

/// Where a tile lies: the first of its queries, counted through the batch, the first of its keys, and the query head.
struct Place {
    std::size_t query, key, head;
};

/// Calls f(tile, place) for the tiles of all heads, head after head.
template <class T, class F>
void each_tile(const AttentionOptions& o, In<T> q, In<T> k, In<T> v, In<T> mask, In<T> sinks, bool backward, F&& f) {
    const Extents e(*q.shape, *k.shape, *v.shape);
    const Shape scores = score_shape(*q.shape, *k.shape);
    const View steps = mask ? View::broadcast(*mask.shape, scores) : View{}; // of the mask; 0 where it repeats
    const auto step = [&](std::size_t axis) { return static_cast<std::size_t>(steps.strides[axis]); };
    const auto mask_of = [&](std::size_t head) {
        std::size_t at = 0;
        for (std::size_t axis = scores.rank() - 2; axis-- > 0; head /= scores[axis])
            at += head % scores[axis] * step(axis);
        return at;
    };
    const auto sees_from = [&](std::size_t i) {
        return o.window && i + 1 > *o.window ? std::min(i + 1 - *o.window, e.keys) : 0;
    };
    const auto sees_to = [&](std::size_t i) { return o.causal ? std::min(i + 1, e.keys) : e.keys; };
    Columns<T> columns(e.keys, e.d, backward ? e.dv : 0);
    std::size_t from[attention_rows], to[attention_rows];
    AttentionTile<T> tile{};
    tile.d = e.d;
    tile.dv = e.dv;
    tile.from = from;
    tile.to = to;
    tile.scale = T(o.scale ? *o.scale : 1 / std::sqrt(static_cast<double>(e.d)));
    tile.cap = T(o.softcap.value_or(0));
    tile.mask_row = step(scores.rank() - 2);
    tile.mask_key = step(scores.rank() - 1);
    for (std::size_t head = 0; head < e.batch * e.heads; ++head) {
        const std::size_t h = head % e.heads, kv = e.kv(head / e.heads, h);
        columns.fill(kv, k.data, v.data);
        tile.sink = sinks ? sinks.data + h : nullptr;
        for (std::size_t i0 = 0; i0 < e.queries; i0 += attention_rows) {
            tile.rows = std::min(attention_rows, e.queries - i0);
            const std::size_t first_key = sees_from(i0);
            const Place place{head * e.queries + i0, kv * e.keys + first_key, h};
            tile.keys = sees_to(i0 + tile.rows - 1) - first_key;
            tile.width = Columns<T>::padded(tile.keys);
            for (std::size_t r = 0; r < tile.rows; ++r) {
                from[r] = sees_from(i0 + r) - first_key;
                to[r] = sees_to(i0 + r) - first_key;
            }
            tile.q = q.data + place.query * e.d;
            tile.k = k.data + place.key * e.d;
            tile.v = v.data + place.key * e.dv;
            columns.of(tile, first_key);
            tile.mask = mask ? mask.data + mask_of(head) + i0 * tile.mask_row + first_key * tile.mask_key : nullptr;
            f(static_cast<const AttentionTile<T>&>(tile), place);
        }
    }
}

/// How many scores the largest tile has.
std::size_t tile_scores(const Shape& k) {
    return attention_rows * Columns<double>::padded(std::max(k[k.rank() - 2], std::size_t(1)));
}

template <bool with_sinks> struct Sdpa {
    static constexpr const char* name = with_sinks ? "sdpa_sinks" : "sdpa";
    static constexpr const char* inputs[] = {"q", "k", "v", with_sinks ? "sinks" : "mask", "mask"};
    static constexpr bool skips_unwanted = true;
    static constexpr std::size_t required = with_sinks ? 4 : 3, the_mask = required;
    static constexpr Role role = Role::attention;
    AttentionOptions options;

    Shape shape(Shapes in) const {
        return attention_shape(name, options, in[0], in[1], in[2], in.has(the_mask) ? &in[the_mask] : nullptr,
            with_sinks ? &in[3] : nullptr);
    }
    std::size_t saved(Shapes in) const { return in[0].rows(); } // L
    void attributes(Attributes& out) const {
        if (options.scale) out.set("scale", *options.scale);
        if (options.causal) out.set("causal", true);
        if (options.window) out.set("window", static_cast<double>(*options.window));
        if (options.softcap) out.set("softcap", *options.softcap);
    }

    template <class T> void forward(Ins<T> in, Out<T> y, T* lse) const {
        Scratch<T> scores(tile_scores(*in[1].shape));
        tiles(in, false, [&](const AttentionTile<T>& tile, const Place& at) {
            kernel::attention_forward<T>(tile, scores.data(), y.data + at.query * tile.dv, lse + at.query);
        });
        if (scores_overflowed(in, lse)) forward_in_wider(*this, in, y);
    }
    // K̄ and V̄ add up over the tiles, and over the query heads that read the same key head.
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T* lse, Outs<T> gx) const {
        const Out<T> gq = gx[0], gk = gx[1], gv = gx[2], gsinks = with_sinks ? gx[3] : Out<T>(), gmask = gx[the_mask];
        Totals<T> k_totals(gk), v_totals(gv), mask_totals(gmask), sink_totals(gsinks);
        const bool needs_scores = gq || gk || gmask;
        const std::size_t size = tile_scores(*in[1].shape), keys = (*in[1].shape)[in[1].shape->rank() - 2];
        Scratch<T> probabilities(size), gradients(needs_scores ? size : 0), slopes(options.softcap ? size : 0),
            part(std::is_same_v<T, wide_t<T>> ? 0 : keys * std::max(in[1].last(), in[2].last()));
        tiles(in, needs_scores, [&](const AttentionTile<T>& tile, const Place& at) {
            const auto of = [](Totals<T>& totals, Out<T> g, std::size_t from) {
                return g ? totals.data() + from : nullptr;
            };
            const std::size_t mask_from = gmask ? static_cast<std::size_t>(tile.mask - in[the_mask].data) : 0;
            kernel::attention_backward<T>(
                tile, {y.data + at.query * tile.dv, gy.data + at.query * tile.dv, lse + at.query, probabilities.data(),
                          gradients.data(), slopes.data(), part.data(), gq ? gq.data + at.query * tile.d : nullptr,
                          of(k_totals, gk, at.key * tile.d), of(v_totals, gv, at.key * tile.dv),
                          of(mask_totals, gmask, mask_from), of(sink_totals, gsinks, at.head)});
        });
        for (Totals<T>* totals : {&k_totals, &v_totals, &mask_totals, &sink_totals}) totals->store();
        // What overflowed between Ō and S̄ is in all that is made of S̄: one of those gradients tells.
        const Out<T> telling = gq ? gq : gk ? gk : gmask;
        const bool overflowed = scores_overflowed(in, lse) || (telling && !all_finite(telling.data, telling.size()));
        if (overflowed) vjp_in_wider(*this, in, *y.shape, gy, gx);
    }

private:
    /// Where a query sees keys, L is finite; a mask may hide them all.
    template <class T> bool scores_overflowed(Ins<T> in, const T* lse) const {
        return std::any_of(
            lse, lse + in[0].rows(), [&](const T& l) { return !(l < HUGE_VAL) || (l == -HUGE_VAL && !in[the_mask]); });
    }
    template <class T, class F> void tiles(Ins<T> in, bool backward, F f) const {
        each_tile<T>(options, in[0], in[1], in[2], in[the_mask], with_sinks ? in[3] : In<T>(), backward, f);
    }
};

} // namespace

template <class T>
Var<T> sdpa(const Var<T>& q, const Var<T>& k, const Var<T>& v, const AttentionOptions& options, const Var<T>& mask) {
    return apply(Sdpa<false>{options}, q, k, v, mask);
}

template <class T>
Var<T> sdpa_sinks(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& sinks,
    const AttentionOptions& options, const Var<T>& mask) {
    return apply(Sdpa<true>{options}, q, k, v, sinks, mask);
}

CHALKGRAD_INSTANCES(sdpa, sdpa_sinks)

} // namespace chalkgrad
#endif
