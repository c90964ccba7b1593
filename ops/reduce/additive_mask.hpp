// An optional additive mask: 0 lets an entry through, −inf takes it out, any other number shifts it.
#pragma once // internal

#include <algorithm>

#include <chalkgrad/autograd/tape/pool.hpp>
#include <chalkgrad/autograd/tape/totals.hpp>
#include <chalkgrad/ops/elementwise/broadcast.hpp>

namespace chalkgrad {

/// Refuses a mask that does not broadcast to the shape it is added to.
inline void require_mask(const char* op, const Shape& x, const Shape& mask) {
    bool fits = mask.rank() <= x.rank();
    for (std::size_t back = 1; fits && back <= mask.rank(); ++back) {
        const std::size_t extent = mask[mask.rank() - back];
        fits = extent == 1 || extent == x[x.rank() - back];
    }
    if (!fits)
        throw Error(std::string(op) + ": the mask of shape " + to_string(mask) + " does not broadcast to " +
                    to_string(x) + ", what it is added to; give it those extents, or 1 where it repeats");
}

/// z = x + mask.
template <class T> void add_mask(In<T> x, In<T> mask, T* z) {
    const BroadcastRows rows(*x.shape, *mask.shape, *x.shape);
    rows.each_row([&](const BroadcastRows::Row& r) {
        const T* m = mask.data + r.b;
        if (rows.b_is_number())
            for (std::size_t i = 0; i < r.n; ++i) z[r.y + i] = x[r.a + i] + *m;
        else
            for (std::size_t i = 0; i < r.n; ++i) z[r.y + i] = x[r.a + i] + m[i];
    });
}

/// The gradient of such a mask: gz, of shape x, summed over what the mask was broadcast along.
template <class T> void mask_gradient(const Shape& x, const T* gz, Out<T> gmask) {
    Totals<T> totals(gmask);
    const BroadcastRows rows(x, *gmask.shape, x);
    rows.each_row([&](const BroadcastRows::Row& r) {
        wide_t<T>* g = totals.data() + r.b;
        if (rows.b_is_number())
            for (std::size_t i = 0; i < r.n; ++i) *g += gz[r.a + i];
        else
            for (std::size_t i = 0; i < r.n; ++i) g[i] += gz[r.a + i];
    });
    totals.store();
}

/// x + mask, or x itself where there is no mask.
template <class T> class Masked {
public:
    Masked(In<T> x, In<T> mask) : buffer_(mask ? x.size() : 0), data_(mask ? buffer_.data() : x.data) {
        if (mask) add_mask(x, mask, buffer_.data());
    }
    const T* data() const { return data_; }

private:
    Scratch<T> buffer_;
    const T* data_;
};

} // namespace chalkgrad
