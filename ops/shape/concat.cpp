// concat, stack: y holds its inputs side by side; each receives its own part of ȳ.
#include <chalkgrad/ops/shape/shape_ops.hpp>

#include <span>

#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/shape/strided.hpp>

namespace chalkgrad {
namespace {

/// Parts of y along one axis, one for each input, in order. `joined`: concat's parts have the axis, stack's get it.
template <bool joined> struct Join {
    static constexpr const char* name = joined ? "concat" : "stack";
    static constexpr const char* inputs[] = {"x"};
    static constexpr bool skips_unwanted = true;
    static constexpr Role role = Role::structure;
    std::ptrdiff_t axis;

    Shape shape(Shapes in) const {
        const Shape& first = in[0];
        if (joined && first.rank() == 0) throw Error("concat: a single number has no axis; use stack()");
        for (std::size_t i = 1; i < in.size(); ++i) {
            bool fits = in[i].rank() == first.rank();
            for (std::size_t k = 0; fits && k < first.rank(); ++k)
                fits = in[i][k] == first[k] || (joined && k == normalize_axis(name, axis, first));
            if (!fits)
                throw Error(fmt::format("{}: array {} has shape {}, the first one {}; they must be equal{}", name, i,
                    to_string(in[i]), to_string(first), joined ? fmt::format(" but for axis {}", axis) : ""));
        }
        if constexpr (joined) {
            const std::size_t k = normalize_axis(name, axis, first);
            std::size_t extent = 0;
            for (std::size_t i = 0; i < in.size(); ++i) extent += in[i][k];
            return first.with(k, extent);
        } else {
            Shape y = first;
            y.push_back(in.size()); // as many axes as there will be
            const std::size_t k = normalize_axis(name, axis, y);
            y = Shape(first.begin(), first.begin() + k);
            y.push_back(in.size());
            for (std::size_t i = k; i < first.rank(); ++i) y.push_back(first[i]);
            return y;
        }
    }
    void attributes(Attributes& out) const { out.set("axis", static_cast<double>(axis)); }

    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        each_part(in, *y.shape, [&](std::size_t i, const View& part) { scatter<T>(part, in[i].data, y.data); });
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        each_part(in, *gy.shape, [&](std::size_t i, const View& part) {
            if (gx[i]) gather<T>(part, gy.data, gx[i].data);
        });
    }

private:
    /// Calls f(i, the view of y that is input i).
    template <class T, class F> void each_part(Ins<T> in, const Shape& y, F f) const {
        const std::size_t k = normalize_axis(name, axis, y);
        View part = View::of(y);
        for (std::size_t i = 0; i < in.size(); ++i) {
            const std::size_t extent = joined ? (*in[i].shape)[k] : 1;
            part.extents = y.with(k, extent);
            f(i, part);
            part.offset += static_cast<std::ptrdiff_t>(extent) * part.strides[k];
        }
    }
};

template <class Rule, class T> Var<T> join(const std::vector<Var<T>>& parts, std::ptrdiff_t axis) {
    if (parts.empty()) throw Error(std::string(Rule::name) + ": no arrays were given; give at least one");
    return chalkgrad::apply(Rule{axis}, std::span<const Var<T>>(parts)); // unqualified it is std::apply
}

} // namespace

template <class T> Var<T> concat(const std::vector<Var<T>>& parts, std::ptrdiff_t axis) {
    return join<Join<true>>(parts, axis);
}
template <class T> Var<T> stack(const std::vector<Var<T>>& parts, std::ptrdiff_t axis) {
    return join<Join<false>>(parts, axis);
}

template <class T> using OfParts = Var<T>(const std::vector<Var<T>>&, std::ptrdiff_t);
CHALKGRAD_INSTANCES_OF(concat, OfParts)
CHALKGRAD_INSTANCES_OF(stack, OfParts)

CatalogEntry concat_entry() {
    return entry("concat", "arrays behind each other along an axis", "NumPy", "...",
        [](Settings& c) { return rule_of(Join<true>{c.integer("axis", 0)}); })
        .with_samples({"columns: a(2,3) b(2,1) c(2,4) axis=-1", "rows: a(2,3) b(3,3) axis=0",
            "middle: a(2,2,3) b(2,1,3) axis=1"});
}
CatalogEntry stack_entry() {
    return entry("stack", "arrays of one shape along a new axis", "NumPy", "...",
        [](Settings& c) { return rule_of(Join<false>{c.integer("axis", 0)}); })
        .with_samples({"last: a(2,3) b(2,3) c(2,3) axis=-1", "first: a(2,3) b(2,3) c(2,3) axis=0",
            "middle: a(2,3) b(2,3) c(2,3) axis=1", "numbers: a() b() c() axis=0"});
}

} // namespace chalkgrad
