// The kernels of attention, for one tile: some rows of queries of one head, and all keys that any of them sees.
#pragma once // internal

#include <chalkgrad/ops/elementwise/activation_functions.hpp>
#include <chalkgrad/ops/linear/product.hpp>
#include <chalkgrad/ops/reduce/sum_exp.hpp>

namespace chalkgrad {

/// Rows of a tile at most: a multiple of product's 6, and enough for V̄ and K̄ to be loaded and stored rarely.
inline constexpr std::size_t attention_rows = 48;
/// Rows of scores and of transposed keys are padded to a multiple of this, so that product meets full blocks only.
inline constexpr std::size_t attention_padding = 16;

template <class T> struct AttentionTile {
    std::size_t rows, keys, width;  ///< the scores of the tile are (rows, keys), their rows `width` apart
    std::size_t d, dv;              ///< features of queries and keys, of values
    const std::size_t *from, *to;   ///< the keys that each row sees; neither falls from row to row
    T scale, cap;                   ///< a cap of 0 means none
    const T *q, *k, *v;             ///< of the first row and key
    const T *k_columns, *v_columns; ///< k and v transposed: feature by feature, `column` apart
    std::size_t column;
    const T* mask;                  ///< of the first row and key; nullptr for none
    std::size_t mask_row, mask_key; ///< steps from row to row and from key to key, 0 where the mask repeats
    const T* sink;                  ///< nullptr for none
};

/// What the backward of a tile reads and writes besides; a gradient that nobody wants is nullptr. gk, gv, gmask and
/// gsink are added to.
template <class T> struct AttentionGradients {
    const T *y, *gy, *lse;
    T *p, *gs, *slope; ///< working memory, (rows, width) each; gs nullptr where only gv is wanted, slope where there
                       ///< is no cap
    T* part;           ///< the same for floats, (keys, the larger of d and dv)
    T* gq;
    wide_t<T>* gk;
    wide_t<T>* gv;
    wide_t<T>* gmask;
    wide_t<T>* gsink;
};

} // namespace chalkgrad

namespace chalkgrad::CHALKGRAD_ISA {

// columns (d, n), rows `column` apart: x (n, d) transposed, zeros from n on.
template <class T> void attention_transpose(std::size_t n, std::size_t d, const T* x, std::size_t column, T* columns) {
    for (std::size_t l = 0; l < d; ++l, columns += column) {
        for (std::size_t j = 0; j < n; ++j) columns[j] = x[j * d + l];
        for (std::size_t j = n; j < column; ++j) columns[j] = T(0);
    }
}

// s = x Yᵀ for the keys that a row sees, with x (rows, n) and Yᵀ feature by feature. What is hidden holds anything.
template <class T>
FAST inline void attention_scores(const AttentionTile<T>& tile, std::size_t n, const T* x, const T* columns, T* s) {
    static_assert(attention_padding % product_width<T> == 0);
    product<T>(tile.rows, tile.width, {x, n, 1}, columns, tile.column, false, s, tile.width,
        [=](std::size_t i, std::size_t rows) FAST {
            return ProductPart{tile.from[i], tile.to[i + rows - 1], 0, n};
        });
}

// z = p x (rows, n), with x (keys, n).
template <class T>
FAST inline void attention_mean(const AttentionTile<T>& tile, std::size_t n, const T* p, const T* x, T* z) {
    product<T>(tile.rows, n, {p, tile.width, 1}, x, n, false, z, n, [=](std::size_t i, std::size_t rows) FAST {
        return ProductPart{0, n, tile.from[i], tile.to[i + rows - 1]};
    });
}

// z += pᵀ x (keys, n), with x (rows, n): for each key the rows that see it.
template <class T>
FAST inline void attention_spread(
    const AttentionTile<T>& tile, std::size_t n, const T* p, const T* x, T* part, wide_t<T>* z) {
    constexpr bool in_place = __is_same(T, wide_t<T>);
    if constexpr (in_place) part = z;
    product<T>(tile.keys, n, {p, 1, tile.width}, x, n, in_place, part, n, [=](std::size_t i, std::size_t keys) FAST {
        std::size_t first = 0, last = tile.rows;
        while (first < last && tile.to[first] <= i) ++first;
        while (last > first && tile.from[last - 1] >= i + keys) --last;
        return ProductPart{0, n, first, last};
    });
    if constexpr (!in_place) each<T>(tile.keys * n, [=](std::size_t i) FAST { z[i] += part[i]; });
}

/// A stretch of a row of scores in whole vectors, [from, from + n), around the `seen` keys from `first` on.
struct AttentionRow {
    std::size_t first, seen, from, n;
};
template <class T> FAST inline AttentionRow attention_row(const AttentionTile<T>& tile, std::size_t r) {
    constexpr std::size_t width = product_width<T>;
    const std::size_t first = tile.from[r], last = tile.to[r], from = first / width * width;
    return {first, last - first, from, (last + width - 1) / width * width - from};
}

// All numbers of a row but those that it sees.
template <class T>
FAST inline void fill_hidden(const AttentionRow& row, std::size_t from, std::size_t to, T value, T* s) {
    each<T>(row.first - from, [=](std::size_t j) FAST { s[from + j] = value; });
    const std::size_t last = row.first + row.seen;
    each<T>(to - last, [=](std::size_t j) FAST { s[last + j] = value; });
}

// z: in the capped scores, out with the mask, and −inf where the vectors of the row reach what it does not see: the
// loops over it then end without a remainder.
template <class T> FAST inline void hide(const AttentionTile<T>& tile, std::size_t r, const AttentionRow& row, T* s) {
    if (tile.mask != nullptr) {
        T* const z = s + row.first;
        const T* const mask = tile.mask + r * tile.mask_row + row.first * tile.mask_key;
        if (tile.mask_key == 0) {
            const T shift = *mask;
            each<T>(row.seen, [=](std::size_t j) FAST { z[j] += shift; });
        } else {
            each<T>(row.seen, [=](std::size_t j) FAST { z[j] += mask[j]; });
        }
    }
    fill_hidden(row, row.from, row.from + row.n, T(-__builtin_inf()), s);
}

// y = P V and lse = L, −inf where there is nothing to see. s: working memory, (rows, width).
template <class T> void attention_forward(AttentionTile<T> tile, T* s, T* y, T* lse) {
    const T least(-__builtin_inf()), scale = tile.scale, cap = tile.cap;
    T totals[attention_rows];
    attention_scores(tile, tile.d, tile.q, tile.k_columns, s);
    for (std::size_t r = 0; r < tile.rows; ++r) {
        const AttentionRow row = attention_row(tile, r);
        T *const p = s + r * tile.width, *const z = p + row.from;
        if (cap == 0) each<T>(row.n, [=](std::size_t j) FAST { z[j] = scale * z[j]; });
        else each<T>(row.n, [=](std::size_t j) FAST { z[j] = cap * tanh(scale * z[j] / cap); });
        hide(tile, r, row, p);
        T m = max<T>(row.n, [=](std::size_t j) FAST { return z[j]; });
        if (tile.sink != nullptr && *tile.sink > m) m = *tile.sink;
        if (m == least) m = 0;
        T total = exp_and_sum<T>(
            row.n, [=](std::size_t j) FAST { return z[j] - m; }, z);
        if (tile.sink != nullptr) total += exp(*tile.sink - m);
        const T share = total == 0 ? T(0) : 1 / total;
        each<T>(row.n, [=](std::size_t j) FAST { z[j] *= share; });
        fill_hidden(row, 0, tile.width, T(0), p);
        lse[r] = m;
        totals[r] = total;
    }
    each<T>(tile.rows, [=, &totals](std::size_t r) FAST { lse[r] = totals[r] == 0 ? least : lse[r] + log(totals[r]); });
    attention_mean(tile, tile.dv, s, tile.v, y);
}

// p: in Q Kᵀ, out P = exp(Z − L), with zeros where a row does not see a key. slope: dZ/dS = sech²(S/c), from S itself.
template <class T>
FAST inline void attention_probabilities(const AttentionTile<T>& tile, const T* lse, T* p, T* slope) {
    const T least(-__builtin_inf()), scale = tile.scale, cap = tile.cap;
    for (std::size_t r = 0; r < tile.rows; ++r, p += tile.width) {
        const AttentionRow row = attention_row(tile, r);
        T* const z = p + row.from;
        if (cap == 0) {
            each<T>(row.n, [=](std::size_t j) FAST { z[j] = scale * z[j]; });
        } else {
            T* const dz = slope + r * tile.width + row.from;
            each<T>(row.n, [=](std::size_t j) FAST {
                const T x = scale * z[j] / cap;
                dz[j] = sech_squared(x);
                z[j] = cap * tanh(x);
            });
        }
        hide(tile, r, row, p);
        // Z is not above L: where all of a row is −inf, any finite L gives zeros.
        const T l = lse[r] == least ? T(0) : lse[r];
        each<T>(row.n, [=](std::size_t j) FAST { z[j] = exp_of_negative(z[j] - l); });
        fill_hidden(row, 0, tile.width, T(0), p);
    }
}

// D = Σ Ō O of each row, and the sink's share of the gradient, its weight being exp(sink − L) and its value 0.
template <class T>
FAST inline void attention_delta(const AttentionTile<T>& tile, const AttentionGradients<T>& g, T* delta) {
    const T least(-__builtin_inf());
    for (std::size_t r = 0; r < tile.rows; ++r) {
        const T *const y = g.y + r * tile.dv, *const gy = g.gy + r * tile.dv;
        delta[r] = sum<T>(tile.dv, [=](std::size_t j) FAST { return gy[j] * y[j]; });
        if (g.gsink != nullptr && !(g.lse[r] == least)) *g.gsink -= exp(*tile.sink - g.lse[r]) * delta[r];
    }
}

// The softmax backward of a tile: gs: in P̄ = Ō Vᵀ, out α S̄, where Z̄ = P (P̄ − D) and S̄ = Z̄ cap′. gmask: Z̄ is added to it.
template <class T>
FAST inline void attention_score_gradient(const AttentionTile<T>& tile, const T* probabilities, const T* slopes,
    const T* delta, T* gradients, wide_t<T>* gmask) {
    const T scale = tile.scale, cap = tile.cap;
    // α at once, where nobody asks for Z̄ itself.
    const T factor = cap == 0 && gmask == nullptr ? scale : T(1);
    for (std::size_t r = 0; r < tile.rows; ++r) {
        const T d = delta[r];
        const AttentionRow row = attention_row(tile, r);
        const T* const p = probabilities + r * tile.width + row.from;
        T *const gs = gradients + r * tile.width, *const gz = gs + row.from;
        each<T>(row.n, [=](std::size_t j) FAST { gz[j] = p[j] == 0 ? T(0) : p[j] * (gz[j] - d) * factor; });
        if (gmask != nullptr) {
            const T* const seen = gs + row.first;
            wide_t<T>* const g = gmask + r * tile.mask_row + row.first * tile.mask_key;
            if (tile.mask_key == 0) *g += sum<T>(row.seen, [=](std::size_t j) FAST { return seen[j]; });
            else each<T>(row.seen, [=](std::size_t j) FAST { g[j] += seen[j]; });
        }
        if (cap != 0) {
            const T* const slope = slopes + r * tile.width + row.from;
            each<T>(row.n, [=](std::size_t j) FAST { gz[j] *= scale * slope[j]; });
        } else if (gmask != nullptr) {
            each<T>(row.n, [=](std::size_t j) FAST { gz[j] *= scale; });
        }
        fill_hidden(row, 0, tile.width, T(0), gs);
    }
}

// O = P V and a softmax whose row sum of P P̄ is D = Σ Ō O:
//     V̄ = Pᵀ Ō,   P̄ = Ō Vᵀ,   Z̄ = P (P̄ − D),   S̄ = Z̄ cap′,   Q̄ = α S̄ K,   K̄ = α S̄ᵀ Q
template <class T> void attention_backward(AttentionTile<T> tile, AttentionGradients<T> g) {
    T delta[attention_rows];
    attention_delta(tile, g, delta);
    attention_scores(tile, tile.d, tile.q, tile.k_columns, g.p);
    attention_probabilities(tile, g.lse, g.p, g.slope);
    if (g.gv != nullptr) attention_spread(tile, tile.dv, g.p, g.gy, g.part, g.gv);
    if (g.gs == nullptr) return;
    attention_scores(tile, tile.dv, g.gy, tile.v_columns, g.gs);
    attention_score_gradient(tile, g.p, g.slope, delta, g.gs, g.gmask);
    if (g.gq != nullptr) attention_mean(tile, tile.d, g.gs, tile.k, g.gq);
    if (g.gk != nullptr) attention_spread(tile, tile.d, g.gs, tile.q, g.part, g.gk);
}

} // namespace chalkgrad::CHALKGRAD_ISA
