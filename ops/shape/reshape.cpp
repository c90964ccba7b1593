// reshape, transpose: y holds the numbers of x under other indices, so ȳ goes back to the places it came from.
#include <chalkgrad/ops/shape/shape_ops.hpp>

#include <fmt/ranges.h>

#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/shape/strided.hpp>

namespace chalkgrad {
namespace {

struct Reshape {
    static constexpr const char* name = "reshape";
    static constexpr const char* inputs[] = {"x"};
    static constexpr Role role = Role::structure;
    std::vector<std::ptrdiff_t> to;

    Shape shape(Shapes in) const {
        const auto refuse = [&](const char* why) {
            throw Error(fmt::format("reshape: x of shape {} to ({}): {}", to_string(in[0]), fmt::join(to, ", "), why));
        };
        if (to.size() > Shape::max_rank) refuse("an array has at most 8 axes");
        std::size_t known = 1, open = to.size();
        for (std::size_t i = 0; i < to.size(); ++i) {
            if (to[i] == -1) {
                if (open != to.size()) refuse("only one extent may be -1");
                open = i;
            } else {
                if (to[i] < 0) refuse("an extent must be 0 or more, or -1 for what is left");
                if (__builtin_mul_overflow(known, static_cast<std::size_t>(to[i]), &known))
                    refuse("the numbers of elements differ");
            }
        }
        if (open != to.size() && (known == 0 || in[0].size() % known != 0))
            refuse("no extent in place of -1 gives that many elements");
        if (open == to.size() && known != in[0].size()) refuse("the numbers of elements differ");
        Shape y;
        for (std::size_t i = 0; i < to.size(); ++i)
            y.push_back(i == open ? in[0].size() / known : static_cast<std::size_t>(to[i]));
        return y;
    }
    void attributes(Attributes& out) const { out.set("shape", std::vector<double>(to.begin(), to.end())); }

    template <class T> void forward(Ins<T> in, Out<T> y, T*) const { std::copy_n(in[0].data, y.size(), y.data); }
    template <class T> void vjp(Ins<T>, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        std::copy_n(gy.data, gy.size(), gx[0].data);
    }
};

struct Transpose {
    static constexpr const char* name = "transpose";
    static constexpr const char* inputs[] = {"x"};
    static constexpr Role role = Role::structure;
    std::vector<std::ptrdiff_t> axes; // none: reversed

    Shape shape(Shapes in) const { return view(in[0]).extents; }
    void attributes(Attributes& out) const {
        out.set("axes", axes.empty() ? Attribute() : Attribute(std::vector<double>(axes.begin(), axes.end())));
    }

    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        gather<T>(view(*in[0].shape), in[0].data, y.data);
    }
    template <class T> void vjp(Ins<T>, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        scatter<T>(view(*gx[0].shape), gy.data, gx[0].data);
    }

private:
    View view(const Shape& x) const {
        if (!axes.empty() && axes.size() != x.rank())
            throw Error(fmt::format(
                "transpose: x of shape {} has {} axes, and axes names {}; name each once, or none to reverse them",
                to_string(x), x.rank(), axes.size()));
        const View whole = View::of(x);
        View result;
        bool used[Shape::max_rank] = {};
        for (std::size_t i = 0; i < x.rank(); ++i) {
            const std::size_t from = axes.empty() ? x.rank() - 1 - i : normalize_axis(name, axes[i], x);
            if (used[from])
                throw Error(fmt::format(
                    "transpose: axes ({}) name axis {} twice; name each axis once", fmt::join(axes, ", "), from));
            used[from] = true;
            result.extents.push_back(x[from]);
            result.strides[i] = whole.strides[from];
        }
        return result;
    }
};

} // namespace

template <class T> Var<T> reshape(const Var<T>& x, const std::vector<std::ptrdiff_t>& shape) {
    return apply(Reshape{shape}, x);
}
template <class T> Var<T> transpose(const Var<T>& x, const std::vector<std::ptrdiff_t>& axes) {
    return apply(Transpose{axes}, x);
}

CHALKGRAD_INSTANCES(reshape, transpose)

CatalogEntry reshape_entry() {
    return entry("reshape", "x in row-major order under another shape", "NumPy", "x",
        [](Settings& c) {
            const auto shape = c.integers("shape");
            if (!shape) throw Error("reshape: the attribute 'shape' is missing; give a list of extents");
            return rule_of(Reshape{*shape});
        })
        .with_samples({"rows: x(3,4) shape=[4,3]", "split: x(3,6) shape=[3,2,-1]", "flat: x(2,3,2) shape=[-1]",
            "number: x(1,1) shape=[]"})
        .with_identities(homogeneous_in({{"x", 1}}));
}
CatalogEntry transpose_entry() {
    return entry("transpose", "axis i of y is axis axes[i] of x", "NumPy", "x",
        [](Settings& c) { return rule_of(Transpose{c.integers("axes").value_or(std::vector<std::ptrdiff_t>())}); })
        .with_samples({"reversed: x(3,5) axes=null", "cycle: x(2,3,4) axes=[2,0,1]", "heads: x(3,2,4) axes=[1,0,2]",
            "reversed_three: x(2,3,4) axes=[-1,1,0]", "beyond_a_tile: x(3,19) axes=[1,0]"})
        .with_identities(homogeneous_in({{"x", 1}}));
}

} // namespace chalkgrad
