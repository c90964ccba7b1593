// What reductions share: the walk over rows, their fields, and their samples.
//
// x is read in contiguous rows; along the last axes a row belongs to one element of y, else to a row of y, one element each.
// In the kernels k is that element: 0, or i.
#pragma once // internal

#include <chalkgrad/autograd/kernel/kernel.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

/// y[k] += term(i, k).
template <class T, class Term> FAST inline void accumulate(std::size_t n, bool along, wide_t<T>* y, Term term) {
    if (along) *y += sum<T>(n, [=](std::size_t i) FAST { return term(i, std::size_t(0)); });
    else each<T>(n, [=](std::size_t i) FAST { y[i] += term(i, i); });
}
/// gx[i] = term(i, k).
template <class T, class Term> FAST inline void spread(std::size_t n, bool along, T* gx, Term term) {
    if (along) each<T>(n, [=](std::size_t i) FAST { gx[i] = term(i, std::size_t(0)); });
    else each<T>(n, [=](std::size_t i) FAST { gx[i] = term(i, i); });
}

} // namespace chalkgrad::CHALKGRAD_ISA

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/autograd/tape/totals.hpp>
#include <chalkgrad/autograd/tape/wider.hpp>
#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/elementwise/broadcast.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

namespace chalkgrad {

/// Fields, shape, and the walk over rows.
struct Reduction {
    Axes axes;
    bool keepdims;

    void attributes(Attributes& out) const {
        out.set("axes", axes.attribute());
        out.set("keepdims", keepdims);
    }

protected:
    enum class Nothing { allowed, refused };
    Shape result(const char* op, Shapes in, Nothing nothing) const {
        const Shape kept = axes.kept(op, in[0]);
        if (nothing == Nothing::refused)
            for (std::size_t i = 0; i < kept.rank(); ++i)
                if (kept[i] == 1 && in[0][i] == 0)
                    throw Error(std::string(op) + ": x has shape " + to_string(in[0]) + " and axis " +
                                std::to_string(i) + ", which is reduced, is empty; there is no answer over nothing");
        return axes.result(op, in[0], keepdims);
    }
    /// The extents of x with 1 where it is reduced; shape() has accepted x.
    Shape kept(const Shape& x) const { return axes.kept("", x); }
    /// Calls kernel(n, along, arguments...) for each row, with pointers moved to its place in x or in y.
    template <class Kernel, class... A> void run_kernel(const Shape& x, Kernel kernel, A... arguments) const {
        const BroadcastRows rows(x, kept(x), x);
        const bool along = rows.b_is_number();
        rows.each_row([&](const BroadcastRows::Row& r) { kernel(r.n, along, moved(arguments, r.a, r.b)...); });
    }
    /// Calls f(place in x, place in y) for each element of x.
    template <class F> void each_element(const Shape& x, F f) const {
        const BroadcastRows rows(x, kept(x), x);
        const std::size_t step = rows.b_is_number() ? 0 : 1;
        rows.each_row([&](const BroadcastRows::Row& r) {
            for (std::size_t j = 0; j < r.n; ++j) f(r.a + j, r.b + j * step);
        });
    }
    /// result = what kernel(n, along, arguments..., totals) adds up for each row, divided by a number.
    template <class T, class Kernel, class... A>
    void collect(const Shape& x, T divisor, T* result, Kernel kernel, A... arguments) const {
        Totals<T> totals(result, kept(x).size());
        run_kernel(x, kernel, arguments..., of_y(totals.data()));
        totals.store(divisor);
    }
    template <class T> struct OfX { T* data; };
    template <class T> struct OfY { T* data; };
    template <class T> static OfX<T> of_x(T* data) { return {data}; }
    template <class T> static OfY<T> of_y(T* data) { return {data}; }
    /// How many elements of x one element of y is made of.
    static std::size_t count(const Shape& x, const Shape& y) { return y.size() == 0 ? 1 : x.size() / y.size(); }

private:
    template <class T> static T* moved(OfX<T> p, std::size_t i, std::size_t) { return p.data + i; }
    template <class T> static T* moved(OfY<T> p, std::size_t, std::size_t k) { return p.data + k; }
    template <class T> static T moved(T number, std::size_t, std::size_t) { return number; }
};

/// The attributes of a call by name; null axes mean all.
inline Reduction reduction_of(Settings& c) {
    const auto axes = c.integers("axes");
    return {axes ? Axes(*axes) : Axes(), c.flag("keepdims", false)};
}

/// Rows, columns, axes that are not neighbours, everything; rows longer than four vectors.
inline std::vector<Sample> reduction_samples(Generator& rng) {
    return drawn(
        rng, {"last_axis: x(3,11) axes=[-1] keepdims=true", "first_axis: x(4,5) axes=[0]", "apart: x(2,3,4) axes=[0,2]",
                 "middle: x(2,3,3) axes=[1] keepdims=true", "all: x(3,7) axes=null", "one: x(3,1) axes=[1]"});
}

/// The entry of a reduction that is homogeneous of a degree, and whose value moves when a constant is added to all of x.
template <class Rule>
CatalogEntry reduction_entry(
    const char* name, const char* formula, const char* section, double degree, std::optional<double> moves) {
    return entry(name, formula, section, "x", [](Settings& c) { return rule_of(Rule{reduction_of(c)}); })
        .with_samples(reduction_samples)
        .with_identities([=](const Sample& s) {
            std::vector<Identity> known{homogeneous("x", degree)};
            if (moves) known.push_back(moves_along("x", s, *moves));
            return known;
        });
}

} // namespace chalkgrad
#endif
