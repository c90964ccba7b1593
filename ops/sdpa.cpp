// sdpa:  S = α Q Kᵀ,  Z = cap(S) + mask,  P = softmax(Z),  O = P V          tile by tile; only O and L = logsumexp(Z) are kept
#include <chalkgrad/autograd/kernel.hpp>
#include <chalkgrad/ops/attention_tile.hpp>
#include <chalkgrad/ops/sum_exp.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// Adds the mask to the scores z of row r from key `first` on.
template <class T>
FAST inline void add_mask_row(const AttentionTile<T>& tile, std::size_t r, std::size_t first, std::size_t n, T* z) {
    if (tile.mask == nullptr) return;
    const T* const mask = tile.mask + r * tile.mask_row + first * tile.mask_key;
    if (tile.mask_key == 0) {
        const T shift = *mask;
        each<T>(n, [=](std::size_t j) FAST { z[j] += shift; });
    } else {
        each<T>(n, [=](std::size_t j) FAST { z[j] += mask[j]; });
    }
}

template <class T>
FAST inline void clear(std::size_t from, std::size_t to, T* row) {
    each<T>(to - from, [=](std::size_t j) FAST { row[from + j] = 0; });
}

// s: in Q Kᵀ, out P, with zeros where a row does not see a key. lse: L of each row, −inf where there is nothing to see.
template <class T>
void attention_softmax(AttentionTile<T> tile, const T* sink, T* s, T* lse) {
    const T least(-__builtin_inf()), scale = tile.scale, cap = tile.cap;
    for (std::size_t r = 0; r < tile.rows; ++r, s += tile.keys) {
        const std::size_t first = tile.from[r], n = tile.to[r] - first;
        T* const z = s + first;
        if (cap == 0)
            each<T>(n, [=](std::size_t j) FAST { z[j] = scale * z[j]; });
        else
            each<T>(n, [=](std::size_t j) FAST { z[j] = cap * tanh(scale * z[j] / cap); });
        add_mask_row(tile, r, first, n, z);
        T m = max<T>(n, [=](std::size_t j) FAST { return z[j]; });
        if (sink != nullptr && *sink > m) m = *sink;
        if (m == least) m = 0;
        T total = exp_and_sum<T>(n, [=](std::size_t j) FAST { return z[j] - m; }, z);
        if (sink != nullptr) total += exp(*sink - m);
        const T share = total == 0 ? T(0) : 1 / total;
        each<T>(n, [=](std::size_t j) FAST { z[j] *= share; });
        clear(0, first, s);
        clear(first + n, tile.keys, s);
        lse[r] = total == 0 ? least : m + log(total);
    }
}

// s: in Q Kᵀ, out P = exp(Z − L). slope: dZ/dS = sech²(S/c), from S itself: 1 − (Z/c)² cancels where the cap holds. Only where
// there is a cap.
template <class T>
void attention_probabilities(AttentionTile<T> tile, const T* lse, T* s, T* slope) {
    const T least(-__builtin_inf()), scale = tile.scale, cap = tile.cap;
    for (std::size_t r = 0; r < tile.rows; ++r, s += tile.keys, slope += cap == 0 ? 0 : tile.keys) {
        const std::size_t first = tile.from[r], n = tile.to[r] - first;
        T* const z = s + first;
        if (cap == 0) {
            each<T>(n, [=](std::size_t j) FAST { z[j] = scale * z[j]; });
        } else {
            T* const dz = slope + first;
            each<T>(n, [=](std::size_t j) FAST {
                const T x = scale * z[j] / cap, e = exp(-2 * abs(x));
                dz[j] = 4 * e / ((1 + e) * (1 + e));
                z[j] = cap * tanh(x);
            });
        }
        add_mask_row(tile, r, first, n, z);
        const T l = lse[r];
        if (l == least)
            clear(first, first + n, s);
        else
            each<T>(n, [=](std::size_t j) FAST { z[j] = exp(z[j] - l); });
        clear(0, first, s);
        clear(first + n, tile.keys, s);
    }
}

// D = Σ Ō O of each row, and the sink's share of the gradient, its weight being exp(sink − L) and its value 0.
template <class T>
void attention_delta(std::size_t rows, std::size_t d, const T* y, const T* gy, const T* lse, const T* sink, T* delta, T* gsink) {
    const T least(-__builtin_inf());
    for (std::size_t r = 0; r < rows; ++r, y += d, gy += d) {
        delta[r] = sum<T>(d, [=](std::size_t j) FAST { return gy[j] * y[j]; });
        if (gsink != nullptr && !(lse[r] == least)) *gsink -= exp(*sink - lse[r]) * delta[r];
    }
}

// The softmax backward of a tile: gp: in P̄ = Ō Vᵀ, out α S̄, where Z̄ = P (P̄ − D) and S̄ = Z̄ sech². gmask: Z̄ is added to it.
template <class T>
void attention_score_gradient(AttentionTile<T> tile, const T* p, const T* slope, const T* delta, T* gp, T* gmask) {
    const T scale = tile.scale, cap = tile.cap;
    for (std::size_t r = 0; r < tile.rows; ++r, p += tile.keys, gp += tile.keys, slope += cap == 0 ? 0 : tile.keys) {
        const T d = delta[r];
        const std::size_t first = tile.from[r], n = tile.to[r] - first;
        // α at once, where nobody asks for Z̄ itself.
        const T factor = cap == 0 && gmask == nullptr ? scale : T(1);
        each<T>(tile.keys, [=](std::size_t j) FAST { gp[j] = p[j] == 0 ? T(0) : p[j] * (gp[j] - d) * factor; });
        if (gmask != nullptr) {
            T* const g = gmask + r * tile.mask_row + first * tile.mask_key;
            if (tile.mask_key == 0)
                *g += sum<T>(n, [=](std::size_t j) FAST { return gp[first + j]; });
            else
                each<T>(n, [=](std::size_t j) FAST { g[j] += gp[first + j]; });
        }
        if (cap != 0)
            each<T>(n, [=](std::size_t j) FAST { gp[first + j] *= scale * slope[first + j]; });
        else if (gmask != nullptr)
            each<T>(tile.keys, [=](std::size_t j) FAST { gp[j] *= scale; });
    }
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(attention_softmax)
CHALKGRAD_KERNEL(attention_probabilities)
CHALKGRAD_KERNEL(attention_delta)
CHALKGRAD_KERNEL(attention_score_gradient)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <algorithm>
#include <cmath>

#include <chalkgrad/autograd/apply.hpp>
#include <chalkgrad/autograd/pool.hpp>
#include <chalkgrad/ops/check.hpp>
#include <chalkgrad/ops/gemm.hpp>
#include <chalkgrad/ops/sdpa.hpp>

namespace chalkgrad {
namespace {

/// The extents of one call. Leading axes are one batch.
struct Extents {
    std::size_t batch = 1, heads = 1, kv_heads = 1, queries, keys, d, dv;

    Extents(const Shape& q, const Shape& k, const Shape& v) : queries(q[q.rank() - 2]), keys(k[k.rank() - 2]), d(q.last()), dv(v.last()) {
        if (q.rank() > 2) {
            heads = q[q.rank() - 3];
            kv_heads = k[k.rank() - 3];
        }
        for (std::size_t axis = 0; axis + 3 < q.rank(); ++axis) batch *= q[axis];
    }
    /// The key head of query head `h` of batch item `b`, counted through the batch.
    std::size_t kv(std::size_t b, std::size_t h) const { return b * kv_heads + h / (heads / kv_heads); }
};

/// How a mask that broadcasts to (…, Hq, Tq, Tk) is stepped through.
class MaskSteps {
public:
    MaskSteps(const Shape& mask, const Shape& scores) : scores_(scores) {
        std::size_t step = 1;
        for (std::size_t back = 1; back <= mask.rank(); ++back) {
            const std::size_t extent = mask[mask.rank() - back];
            steps_[scores.rank() - back] = extent == 1 ? 0 : step;
            step *= extent;
        }
    }
    std::size_t row() const { return steps_[scores_.rank() - 2]; }
    std::size_t key() const { return steps_[scores_.rank() - 1]; }
    /// Where the mask of a head begins; heads are counted through the batch.
    std::size_t head(std::size_t index) const {
        std::size_t at = 0;
        for (std::size_t axis = scores_.rank() - 2; axis-- > 0;) {
            at += index % scores_[axis] * steps_[axis];
            index /= scores_[axis];
        }
        return at;
    }

private:
    Shape scores_;
    std::size_t steps_[Shape::max_rank] = {};
};

Shape score_shape(const Shape& q, const Shape& k) { return q.with(q.rank() - 1, k[k.rank() - 2]); }

Shape attention_shape(const char* op, const AttentionOptions& o, const Shape& q, const Shape& k, const Shape& v, const Shape* mask,
                      const Shape* sinks) {
    const auto refuse = [&](const std::string& what) {
        throw Error(fmt::format("{}: q has shape {}, k {} and v {}; {}", op, to_string(q), to_string(k), to_string(v), what));
    };
    if (q.rank() < 2 || k.rank() != q.rank() || v.rank() != q.rank())
        refuse("they must be (…, heads, tokens, features), with as many axes each");
    const std::size_t token_axis = q.rank() - 2;
    for (std::size_t axis = 0; axis + 3 < q.rank(); ++axis)
        if (k[axis] != q[axis] || v[axis] != q[axis]) refuse("the axes in front of the heads must be the same");
    if (k.last() != q.last()) refuse("queries and keys must have the same number of features");
    if (q.last() == 0) refuse("queries and keys must have at least one feature");
    if (v[token_axis] != k[token_axis]) refuse("there must be one value for each key");
    if (q.rank() > 2) {
        const std::size_t heads = q[token_axis - 1], kv_heads = k[token_axis - 1];
        if (v[token_axis - 1] != kv_heads) refuse("keys and values must have the same number of heads");
        if (kv_heads == 0 || heads % kv_heads != 0)
            refuse(fmt::format("{} query heads cannot share {} key heads evenly; make the first a multiple of the second", heads, kv_heads));
    }
    if (o.scale) require_finite(op, "scale", *o.scale);
    if (o.softcap) require_positive(op, "softcap", *o.softcap);
    if (o.window && *o.window == 0) throw Error(fmt::format("{}: window is 0; it counts the query itself, so it must be at least 1", op));
    const std::size_t heads = q.rank() > 2 ? q[token_axis - 1] : 1;
    if (sinks != nullptr && !(*sinks == Shape{heads}))
        throw Error(fmt::format("{}: sinks has shape {}; it must be ({}), one number for each query head", op, to_string(*sinks), heads));
    if (mask != nullptr) {
        const Shape scores = score_shape(q, k);
        bool fits = mask->rank() <= scores.rank();
        for (std::size_t back = 1; fits && back <= mask->rank(); ++back) {
            const std::size_t extent = (*mask)[mask->rank() - back];
            fits = extent == 1 || extent == scores[scores.rank() - back];
        }
        if (!fits)
            throw Error(fmt::format("{}: the mask of shape {} does not broadcast to the scores, shape {}; give it those extents, or 1 where "
                                    "it repeats",
                                    op, to_string(*mask), to_string(scores)));
    }
    return q.with(q.rank() - 1, v.last());
}

constexpr std::size_t tile_rows = 32;

/// A tile and the stretch of keys that its rows see.
template <class T>
struct Tile : AttentionTile<T> {
    std::size_t first_key;
    std::size_t row_from[tile_rows], row_to[tile_rows];
};

/// Calls f(tile) for the tiles of one head: rows i0 … of the queries, in order, and the keys that any of them sees.
template <class T, class F>
void each_tile(const Extents& e, const AttentionOptions& o, const T* mask, const MaskSteps* steps, F&& f) {
    Tile<T> tile;
    tile.scale = T(o.scale ? *o.scale : 1 / std::sqrt(static_cast<double>(e.d)));
    tile.cap = T(o.softcap.value_or(0));
    tile.from = tile.row_from;
    tile.to = tile.row_to;
    tile.mask_row = steps ? steps->row() : 0;
    tile.mask_key = steps ? steps->key() : 0;
    for (std::size_t i0 = 0; i0 < e.queries; i0 += tile_rows) {
        tile.rows = std::min(tile_rows, e.queries - i0);
        const auto sees_from = [&](std::size_t i) { return o.window && i + 1 > *o.window ? std::min(i + 1 - *o.window, e.keys) : 0; };
        const auto sees_to = [&](std::size_t i) { return o.causal ? std::min(i + 1, e.keys) : e.keys; };
        tile.first_key = sees_from(i0);
        tile.keys = sees_to(i0 + tile.rows - 1) - tile.first_key;
        for (std::size_t r = 0; r < tile.rows; ++r) {
            tile.row_from[r] = sees_from(i0 + r) - tile.first_key;
            tile.row_to[r] = sees_to(i0 + r) - tile.first_key;
        }
        tile.mask = mask == nullptr ? nullptr : mask + i0 * tile.mask_row + tile.first_key * tile.mask_key;
        f(static_cast<const Tile<T>&>(tile), i0);
    }
}

template <class T>
void attention(const AttentionOptions& o, In<T> q, In<T> k, In<T> v, In<T> mask, In<T> sinks, Out<T> y, T* lse) {
    const Extents e(*q.shape, *k.shape, *v.shape);
    const std::optional<MaskSteps> steps = mask ? std::optional(MaskSteps(*mask.shape, score_shape(*q.shape, *k.shape))) : std::nullopt;
    Scratch<T> scores(tile_rows * e.keys);
    for (std::size_t b = 0; b < e.batch; ++b)
        for (std::size_t h = 0; h < e.heads; ++h) {
            const std::size_t head = b * e.heads + h, kv = e.kv(b, h);
            const T *const qh = q.data + head * e.queries * e.d, *const kh = k.data + kv * e.keys * e.d, *const vh = v.data + kv * e.keys * e.dv;
            T *const yh = y.data + head * e.queries * e.dv, *const lh = lse + head * e.queries;
            each_tile<T>(e, o, mask ? mask.data + steps->head(head) : nullptr, mask ? &*steps : nullptr, [&](const Tile<T>& tile, std::size_t i0) {
                T* const s = scores.data();
                gemm<T>(Factor::plain, Factor::transposed, tile.rows, tile.keys, e.d, qh + i0 * e.d, e.d, kh + tile.first_key * e.d, e.d, 0, s,
                        tile.keys);
                kernel::attention_softmax<T>(tile, sinks ? sinks.data + h : nullptr, s, lh + i0);
                gemm<T>(Factor::plain, Factor::plain, tile.rows, e.dv, tile.keys, s, tile.keys, vh + tile.first_key * e.dv, e.dv, 0,
                        yh + i0 * e.dv, e.dv);
            });
        }
}

// O = P V and a softmax whose row sum of P P̄ is D = Σ Ō O:
//     V̄ = Pᵀ Ō,   P̄ = Ō Vᵀ,   Z̄ = P (P̄ − D),   S̄ = Z̄ cap′,   Q̄ = α S̄ K,   K̄ = α S̄ᵀ Q
// K̄ and V̄ add up over the tiles, and over the query heads that read the same key head.
template <class T>
void attention_vjp(const AttentionOptions& o, In<T> q, In<T> k, In<T> v, In<T> mask, In<T> sinks, In<T> y, In<T> gy, const T* lse, Out<T> gq,
                   Out<T> gk, Out<T> gv, Out<T> gmask, Out<T> gsinks) {
    const Extents e(*q.shape, *k.shape, *v.shape);
    const std::optional<MaskSteps> steps = mask ? std::optional(MaskSteps(*mask.shape, score_shape(*q.shape, *k.shape))) : std::nullopt;
    for (const Out<T>& sum : {gk, gv, gmask, gsinks})
        if (sum) std::fill_n(sum.data, sum.size(), T(0));
    const bool needs_scores = gq || gk || gmask;
    Scratch<T> probabilities(tile_rows * e.keys), gradients(needs_scores ? tile_rows * e.keys : 0),
        slopes(o.softcap ? tile_rows * e.keys : 0);
    for (std::size_t b = 0; b < e.batch; ++b)
        for (std::size_t h = 0; h < e.heads; ++h) {
            const std::size_t head = b * e.heads + h, kv = e.kv(b, h), at_mask = mask ? steps->head(head) : 0;
            const T *const qh = q.data + head * e.queries * e.d, *const kh = k.data + kv * e.keys * e.d, *const vh = v.data + kv * e.keys * e.dv;
            each_tile<T>(e, o, mask ? mask.data + at_mask : nullptr, mask ? &*steps : nullptr, [&](const Tile<T>& tile, std::size_t i0) {
                T *const p = probabilities.data(), *const gp = gradients.data(), delta[tile_rows];
                const T *const qi = qh + i0 * e.d, *const kj = kh + tile.first_key * e.d;
                const std::size_t at = (head * e.queries + i0) * e.dv, at_keys = kv * e.keys + tile.first_key;
                const T *const gyi = gy.data + at, *const li = lse + head * e.queries + i0;
                kernel::attention_delta<T>(tile.rows, e.dv, y.data + at, gyi, li, sinks ? sinks.data + h : nullptr, delta,
                                           gsinks ? gsinks.data + h : nullptr);
                gemm<T>(Factor::plain, Factor::transposed, tile.rows, tile.keys, e.d, qi, e.d, kj, e.d, 0, p, tile.keys);
                kernel::attention_probabilities<T>(tile, li, p, slopes.data());
                if (gv)
                    gemm<T>(Factor::transposed, Factor::plain, tile.keys, e.dv, tile.rows, p, tile.keys, gyi, e.dv, 1, gv.data + at_keys * e.dv,
                            e.dv);
                if (!needs_scores) return;
                gemm<T>(Factor::plain, Factor::transposed, tile.rows, tile.keys, e.dv, gyi, e.dv, vh + tile.first_key * e.dv, e.dv, 0, gp,
                        tile.keys);
                kernel::attention_score_gradient<T>(tile, p, slopes.data(), delta, gp,
                                                    gmask ? gmask.data + (tile.mask - mask.data) : nullptr);
                if (gq)
                    gemm<T>(Factor::plain, Factor::plain, tile.rows, e.d, tile.keys, gp, tile.keys, kj, e.d, 0,
                            gq.data + (head * e.queries + i0) * e.d, e.d);
                if (gk) gemm<T>(Factor::transposed, Factor::plain, tile.keys, e.d, tile.rows, gp, tile.keys, qi, e.d, 1, gk.data + at_keys * e.d, e.d);
            });
        }
}

void attention_attributes(const AttentionOptions& o, Attributes& out) {
    if (o.scale) out.set("scale", *o.scale);
    if (o.causal) out.set("causal", true);
    if (o.window) out.set("window", static_cast<double>(*o.window));
    if (o.softcap) out.set("softcap", *o.softcap);
}

struct Sdpa {
    static constexpr const char* name = "sdpa";
    static constexpr const char* inputs[] = {"q", "k", "v", "mask"};
    static constexpr std::size_t required = 3;
    static constexpr Role role = Role::attention;
    AttentionOptions options;

    Shape shape(Shapes in) const { return attention_shape(name, options, in[0], in[1], in[2], in.has(3) ? &in[3] : nullptr, nullptr); }
    std::size_t saved(Shapes in) const { return in[0].rows(); } // L
    void attributes(Attributes& out) const { attention_attributes(options, out); }

    template <class T>
    void forward(Ins<T> in, Out<T> y, T* lse) const {
        attention<T>(options, in[0], in[1], in[2], in[3], {}, y, lse);
    }
    template <class T>
    void vjp(Ins<T> in, In<T> y, In<T> gy, const T* lse, Outs<T> gx) const {
        attention_vjp<T>(options, in[0], in[1], in[2], in[3], {}, y, gy, lse, gx[0], gx[1], gx[2], gx[3], {});
    }
};

struct SdpaSinks {
    static constexpr const char* name = "sdpa_sinks";
    static constexpr const char* inputs[] = {"q", "k", "v", "sinks", "mask"};
    static constexpr std::size_t required = 4;
    static constexpr Role role = Role::attention;
    AttentionOptions options;

    Shape shape(Shapes in) const { return attention_shape(name, options, in[0], in[1], in[2], in.has(4) ? &in[4] : nullptr, &in[3]); }
    std::size_t saved(Shapes in) const { return in[0].rows(); } // L
    void attributes(Attributes& out) const { attention_attributes(options, out); }

    template <class T>
    void forward(Ins<T> in, Out<T> y, T* lse) const {
        attention<T>(options, in[0], in[1], in[2], in[4], in[3], y, lse);
    }
    template <class T>
    void vjp(Ins<T> in, In<T> y, In<T> gy, const T* lse, Outs<T> gx) const {
        attention_vjp<T>(options, in[0], in[1], in[2], in[4], in[3], y, gy, lse, gx[0], gx[1], gx[2], gx[4], gx[3]);
    }
};

} // namespace

template <class T>
Var<T> sdpa(const Var<T>& q, const Var<T>& k, const Var<T>& v, const AttentionOptions& options, const Var<T>& mask) {
    return apply(Sdpa{options}, q, k, v, mask);
}

template <class T>
Var<T> sdpa_sinks(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& sinks, const AttentionOptions& options, const Var<T>& mask) {
    return apply(SdpaSinks{options}, q, k, v, sinks, mask);
}

#define CHALKGRAD_INSTANTIATE(T)                                                                                                        \
    template Var<T> sdpa(const Var<T>&, const Var<T>&, const Var<T>&, const AttentionOptions&, const Var<T>&);                          \
    template Var<T> sdpa_sinks(const Var<T>&, const Var<T>&, const Var<T>&, const Var<T>&, const AttentionOptions&, const Var<T>&);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)

} // namespace chalkgrad
#endif
