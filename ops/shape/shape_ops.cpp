// reshape, transpose, concat, stack, where, repeat_kv: y is a selection of x, so ȳ goes back to the places it came from.
#include <chalkgrad/ops/shape/shape_ops.hpp>

#include <memory>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>
#include <chalkgrad/ops/catalog/identities.hpp>
#include <chalkgrad/ops/shape/strided.hpp>

namespace chalkgrad {
namespace {

/// A short list of whole numbers as a rule's field.
class Numbers {
public:
    Numbers(const char* op, const std::vector<std::ptrdiff_t>& list) : count_(list.size()) {
        if (count_ > Shape::max_rank)
            throw Error(fmt::format("{}: {} axes; an array has at most {}", op, count_, Shape::max_rank));
        std::copy(list.begin(), list.end(), numbers_.begin());
    }
    std::size_t size() const { return count_; }
    std::ptrdiff_t operator[](std::size_t i) const { return numbers_[i]; }
    const std::ptrdiff_t* begin() const { return numbers_.data(); }
    const std::ptrdiff_t* end() const { return numbers_.data() + count_; }
    Attribute attribute() const { return std::vector<double>(begin(), end()); }

private:
    std::array<std::ptrdiff_t, Shape::max_rank> numbers_{};
    std::size_t count_;
};

struct Reshape {
    static constexpr const char* name = "reshape";
    static constexpr const char* inputs[] = {"x"};
    static constexpr Role role = Role::structure;
    Numbers to;

    Shape shape(Shapes in) const {
        const auto refuse = [&](const char* why) {
            throw Error(fmt::format("reshape: x of shape {} to ({}): {}", to_string(in[0]), fmt::join(to, ", "), why));
        };
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
    void attributes(Attributes& out) const { out.set("shape", to.attribute()); }

    template <class T> void forward(Ins<T> in, Out<T> y, T*) const { std::copy_n(in[0].data, y.size(), y.data); }
    template <class T> void vjp(Ins<T>, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        std::copy_n(gy.data, gy.size(), gx[0].data);
    }
};

struct Transpose {
    static constexpr const char* name = "transpose";
    static constexpr const char* inputs[] = {"x"};
    static constexpr Role role = Role::structure;
    Numbers axes; // none: reversed

    Shape shape(Shapes in) const { return view(in[0]).extents; }
    void attributes(Attributes& out) const { out.set("axes", axes.size() == 0 ? Attribute() : axes.attribute()); }

    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        gather<T>(view(*in[0].shape), in[0].data, y.data);
    }
    template <class T> void vjp(Ins<T>, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        scatter<T>(view(*gx[0].shape), gy.data, gx[0].data);
    }

private:
    View view(const Shape& x) const {
        if (axes.size() != 0 && axes.size() != x.rank())
            throw Error(fmt::format(
                "transpose: x of shape {} has {} axes, and axes names {}; name each once, or none to reverse them",
                to_string(x), x.rank(), axes.size()));
        const View whole = View::of(x);
        View result;
        bool used[Shape::max_rank] = {};
        for (std::size_t i = 0; i < x.rank(); ++i) {
            const std::size_t from = axes.size() == 0 ? x.rank() - 1 - i : normalize_axis(name, axes[i], x);
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

/// Parts of y along one axis, one for each input, in order. `joined`: concat's parts have the axis, stack's get it.
template <bool joined> struct Join {
    static constexpr const char* name = joined ? "concat" : "stack";
    static constexpr const char* inputs[] = {"x"};
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
            const std::size_t k = place(first.rank() + 1, first);
            Shape y;
            for (std::size_t i = 0; i <= first.rank(); ++i)
                y.push_back(i < k ? first[i] : i == k ? in.size() : first[i - 1]);
            return y;
        }
    }
    void attributes(Attributes& out) const { out.set("axis", static_cast<double>(axis)); }

    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        std::size_t begin = 0;
        for (std::size_t i = 0; i < in.size(); ++i) {
            const View part = cut(*y.shape, joined ? (*in[i].shape)[place(y.shape->rank(), *y.shape)] : 1, begin);
            scatter<T>(part, in[i].data, y.data);
        }
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        std::size_t begin = 0;
        for (std::size_t i = 0; i < in.size(); ++i) {
            const View part = cut(*gy.shape, joined ? (*in[i].shape)[place(gy.shape->rank(), *gy.shape)] : 1, begin);
            if (gx[i]) gather<T>(part, gy.data, gx[i].data);
        }
    }

private:
    std::size_t place(std::size_t rank, const Shape& shown) const {
        const auto signed_rank = static_cast<std::ptrdiff_t>(rank);
        if (axis < -signed_rank || axis >= signed_rank)
            throw Error(fmt::format("{}: axis {} beside arrays of shape {}; give one from {} to {}", name, axis,
                to_string(shown), -signed_rank, signed_rank - 1));
        return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
    }
    /// The next `extent` along the axis of y, from `begin`, which moves on.
    View cut(const Shape& y, std::size_t extent, std::size_t& begin) const {
        const std::size_t k = place(y.rank(), y);
        View part = View::of(y);
        part.extents = y.with(k, extent);
        part.offset = static_cast<std::ptrdiff_t>(begin) * part.strides[k];
        begin += extent;
        return part;
    }
};

struct Where {
    static constexpr const char* name = "where";
    static constexpr const char* inputs[] = {"a", "b"};
    static constexpr Role role = Role::structure;
    std::shared_ptr<const Array<bool>> condition;
    Shape condition_shape;

    Shape shape(Shapes in) const { return broadcast(name, condition_shape, broadcast(name, in[0], in[1])); }

    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        Scratch<bool> take_a(y.size());
        Scratch<T> b(y.size());
        gather<bool>(View::broadcast(condition_shape, *y.shape), condition->data(), take_a.data());
        gather<T>(View::broadcast(*in[0].shape, *y.shape), in[0].data, y.data);
        gather<T>(View::broadcast(*in[1].shape, *y.shape), in[1].data, b.data());
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = take_a[i] ? y[i] : b[i];
    }
    template <class T> void vjp(Ins<T>, In<T> y, In<T> gy, const T*, Outs<T> gx) const {
        Scratch<bool> take_a(y.size());
        gather<bool>(View::broadcast(condition_shape, *y.shape), condition->data(), take_a.data());
        Scratch<T> taken(y.size());
        for (std::size_t branch = 0; branch < 2; ++branch) {
            const Out<T> g = gx[branch];
            if (!g) continue;
            const bool whole = *g.shape == *y.shape;
            T* to = whole ? g.data : taken.data();
            for (std::size_t i = 0; i < y.size(); ++i) to[i] = take_a[i] == (branch == 0) ? gy[i] : T(0);
            if (whole) continue;
            std::fill_n(g.data, g.size(), T(0));
            scatter_add<T>(View::broadcast(*g.shape, *y.shape), to, g.data);
        }
    }
};

struct RepeatKv {
    static constexpr const char* name = "repeat_kv";
    static constexpr const char* inputs[] = {"k"};
    static constexpr Role role = Role::structure;
    std::size_t heads_out;

    Shape shape(Shapes in) const {
        const Shape& k = in[0];
        if (k.rank() < 3)
            throw Error(fmt::format("repeat_kv: k has shape {}; it must be (..., heads, tokens, d)", to_string(k)));
        const std::size_t heads = k[k.rank() - 3];
        if (heads == 0 || heads_out == 0 || heads_out % heads != 0)
            throw Error(fmt::format("repeat_kv: heads_out {} is not a multiple of the {} heads of k, shape {}",
                heads_out, heads, to_string(k)));
        return k.with(k.rank() - 3, heads_out);
    }
    void attributes(Attributes& out) const { out.set("heads_out", static_cast<double>(heads_out)); }

    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        gather<T>(repeats(*in[0].shape), in[0].data, y.data);
    }
    /// A head that serves several query heads receives the sum of what they send.
    template <class T> void vjp(Ins<T>, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        std::fill_n(gx[0].data, gx[0].size(), T(0));
        scatter_add<T>(repeats(*gx[0].shape), gy.data, gx[0].data);
    }

private:
    /// All heads of all batches, each heads_out/H_kv times, then the numbers of a head.
    View repeats(const Shape& k) const {
        const std::size_t heads = k[k.rank() - 3], head = k[k.rank() - 2] * k[k.rank() - 1];
        View view{{head == 0 ? 0 : k.size() / head, heads_out / heads, head}};
        view.strides = {static_cast<std::ptrdiff_t>(head), 0, 1};
        return view;
    }
};

template <class Rule, class T> Var<T> join(const std::vector<Var<T>>& parts, std::ptrdiff_t axis) {
    if (parts.empty()) throw Error(std::string(Rule::name) + ": no arrays were given; give at least one");
    return chalkgrad::apply(Rule{axis}, std::span<const Var<T>>(parts)); // unqualified it is std::apply
}

} // namespace

template <class T> Var<T> reshape(const Var<T>& x, const std::vector<std::ptrdiff_t>& shape) {
    return apply(Reshape{{"reshape", shape}}, x);
}
template <class T> Var<T> transpose(const Var<T>& x, const std::vector<std::ptrdiff_t>& axes) {
    return apply(Transpose{{"transpose", axes}}, x);
}
template <class T> Var<T> concat(const std::vector<Var<T>>& parts, std::ptrdiff_t axis) {
    return join<Join<true>>(parts, axis);
}
template <class T> Var<T> stack(const std::vector<Var<T>>& parts, std::ptrdiff_t axis) {
    return join<Join<false>>(parts, axis);
}
template <class T> Var<T> detail::where(Array<bool> condition, const Var<T>& a, const Var<T>& b) {
    const Shape shape(condition.shape().begin(), condition.shape().end());
    return apply(Where{std::make_shared<const Array<bool>>(std::move(condition)), shape}, a, b);
}
template <class T> Var<T> repeat_kv(const Var<T>& k, std::size_t heads_out) { return apply(RepeatKv{heads_out}, k); }

#define CHALKGRAD_INSTANTIATE(T)                                                  \
    template Var<T> reshape(const Var<T>&, const std::vector<std::ptrdiff_t>&);   \
    template Var<T> transpose(const Var<T>&, const std::vector<std::ptrdiff_t>&); \
    template Var<T> concat(const std::vector<Var<T>>&, std::ptrdiff_t);           \
    template Var<T> stack(const std::vector<Var<T>>&, std::ptrdiff_t);            \
    template Var<T> detail::where(Array<bool>, const Var<T>&, const Var<T>&);     \
    template Var<T> repeat_kv(const Var<T>&, std::size_t);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

CatalogEntry reshape_entry() {
    return entry(
        "reshape", "x in row-major order under another shape", "NumPy",
        [](auto& c) {
            const auto shape = c.integers("shape");
            if (!shape) throw Error("reshape: the attribute 'shape' is missing; give a list of extents");
            return reshape(c.in("x"), *shape);
        },
        [](Generator& rng) {
            const auto sample = [&](const char* name, const Shape& from, std::vector<double> to) {
                return Sample{name, {{"x", rng.standard_normal(from)}}, {}, {{"shape", std::move(to)}}};
            };
            return std::vector<Sample>{sample("rows", {3, 4}, {4, 3}), sample("split", {3, 6}, {3, 2, -1}),
                sample("flat", {2, 3, 2}, {-1}), sample("number", {1, 1}, {})};
        })
        .with_identities(homogeneous_in({{"x", 1}}));
}
CatalogEntry transpose_entry() {
    return entry(
        "transpose", "axis i of y is axis axes[i] of x", "NumPy",
        [](auto& c) {
            const auto axes = c.integers("axes");
            return transpose(c.in("x"), axes ? *axes : std::vector<std::ptrdiff_t>());
        },
        [](Generator& rng) {
            const auto sample = [&](const char* name, const Shape& from, Attribute axes) {
                return Sample{name, {{"x", rng.standard_normal(from)}}, {}, {{"axes", std::move(axes)}}};
            };
            using List = std::vector<double>;
            return std::vector<Sample>{sample("reversed", {3, 5}, {}), sample("cycle", {2, 3, 4}, List{2, 0, 1}),
                sample("heads", {3, 2, 4}, List{1, 0, 2}), sample("reversed_three", {2, 3, 4}, List{-1, 1, 0}),
                sample("beyond_a_tile", {3, 19}, List{1, 0})};
        })
        .with_identities(homogeneous_in({{"x", 1}}));
}
CatalogEntry concat_entry() {
    return entry(
        "concat", "arrays behind each other along an axis", "NumPy",
        [](auto& c) { return concat(c.all(), c.integer("axis", 0)); },
        [](Generator& rng) {
            return std::vector<Sample>{{"columns",
                                           {{"a", rng.standard_normal({2, 3})}, {"b", rng.standard_normal({2, 1})},
                                               {"c", rng.standard_normal({2, 4})}},
                                           {}, {{"axis", -1.0}}},
                {"rows", {{"a", rng.standard_normal({2, 3})}, {"b", rng.standard_normal({3, 3})}}, {}, {{"axis", 0.0}}},
                {"middle", {{"a", rng.standard_normal({2, 2, 3})}, {"b", rng.standard_normal({2, 1, 3})}}, {},
                    {{"axis", 1.0}}}};
        });
}
CatalogEntry stack_entry() {
    return entry(
        "stack", "arrays of one shape along a new axis", "NumPy",
        [](auto& c) { return stack(c.all(), c.integer("axis", 0)); },
        [](Generator& rng) {
            const auto sample = [&](const char* name, const Shape& shape, double axis) {
                return Sample{name,
                    {{"a", rng.standard_normal(shape)}, {"b", rng.standard_normal(shape)},
                        {"c", rng.standard_normal(shape)}},
                    {}, {{"axis", axis}}};
            };
            return std::vector<Sample>{sample("last", {2, 3}, -1), sample("first", {2, 3}, 0),
                sample("middle", {2, 3}, 1), sample("numbers", {}, 0)};
        });
}
CatalogEntry where_entry() {
    return entry(
        "where", "a where cond holds, else b", "NumPy",
        [](auto& c) {
            const Array<double>& numbers = c.constant("cond");
            Array<bool> condition(numbers.shape());
            for (std::size_t i = 0; i < numbers.size(); ++i) condition.data()[i] = numbers.data()[i] != 0;
            return where(condition, c.in("a"), c.in("b"));
        },
        [](Generator& rng) {
            const auto sample = [&](const char* name, const Shape& cond, const Shape& a, const Shape& b) {
                Array<double> condition = rng.random(cond);
                for (double& x : condition) x = x < 0.5;
                condition.data()[0] = 1; // both occur
                condition.data()[condition.size() - 1] = 0;
                return Sample{
                    name, {{"a", rng.standard_normal(a)}, {"b", rng.standard_normal(b)}}, {{"cond", condition}}};
            };
            return std::vector<Sample>{sample("same_shape", {3, 5}, {3, 5}, {3, 5}),
                sample("number", {2, 4}, {}, {2, 4}), sample("broadcast", {3, 1}, {4}, {2, 1, 1})};
        });
}
CatalogEntry repeat_kv_entry() {
    return entry(
        "repeat_kv", "each key-value head heads_out/H_kv times", "grouped-query attention",
        [](auto& c) {
            c.ignore({"layout"});
            return repeat_kv(c.in("k"), static_cast<std::size_t>(std::max<std::ptrdiff_t>(c.integer("heads_out"), 0)));
        },
        [](Generator& rng) {
            return std::vector<Sample>{
                {"two_to_four", {{"k", rng.standard_normal({2, 3, 2})}}, {}, {{"heads_out", 4.0}}},
                {"batched", {{"k", rng.standard_normal({2, 2, 1, 3})}}, {}, {{"heads_out", 6.0}}},
                {"same", {{"k", rng.standard_normal({2, 2, 2})}}, {}, {{"heads_out", 2.0}}}};
        })
        .with_identities(homogeneous_in({{"k", 1}}));
}

} // namespace chalkgrad
