// where: a where the condition holds, else b; the branch not taken receives 0.
#include <chalkgrad/ops/shape/shape_ops.hpp>

#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/shape/strided.hpp>

namespace chalkgrad {
namespace {

struct Where {
    static constexpr const char* name = "where";
    static constexpr const char* inputs[] = {"a", "b"};
    static constexpr bool skips_unwanted = true;
    static constexpr Role role = Role::structure;
    std::shared_ptr<const Array<bool>> condition;
    Shape condition_shape;

    explicit Where(Array<bool> holds)
        : condition(std::make_shared<const Array<bool>>(std::move(holds))), condition_shape(condition->shape()) {}

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
            scatter_sum<T>(View::broadcast(*g.shape, *y.shape), to, g.data, g.size());
        }
    }
};

} // namespace

template <class T> Var<T> detail::where(Array<bool> condition, const Var<T>& a, const Var<T>& b) {
    return apply(Where(std::move(condition)), a, b);
}

CHALKGRAD_INSTANCES(detail::where)

CatalogEntry where_entry() {
    return entry("where", "a where cond holds, else b", "NumPy", "a b",
        [](Settings& c) {
            const Array<double>& numbers = c.constant("cond");
            Array<bool> condition(numbers.shape());
            for (std::size_t i = 0; i < numbers.size(); ++i) condition.data()[i] = numbers.data()[i] != 0;
            return rule_of(Where(std::move(condition)));
        })
        .with_samples({"same_shape: | cond(3,5) | a(3,5) b(3,5)", "number: | cond(2,4) | a() b(2,4)",
                          "broadcast: | cond(3,1) | a(4) b(2,1,1)"},
            [](Generator& rng, std::string_view input, const Shape& shape) {
                if (input != "cond") return rng.standard_normal(shape);
                Array<double> condition = rng.random(shape);
                for (double& x : condition) x = x < 0.5;
                condition.data()[0] = 1; // both occur
                condition.data()[condition.size() - 1] = 0;
                return condition;
            });
}

} // namespace chalkgrad
