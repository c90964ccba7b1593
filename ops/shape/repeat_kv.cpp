// repeat_kv: each head of k stands heads_out/H_kv times in y; its gradient is the sum over its copies.
#include <chalkgrad/ops/shape/shape_ops.hpp>

#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/shape/strided.hpp>

namespace chalkgrad {
namespace {

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
        scatter_sum<T>(repeats(*gx[0].shape), gy.data, gx[0].data, gx[0].size());
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

} // namespace

template <class T> Var<T> repeat_kv(const Var<T>& k, std::size_t heads_out) { return apply(RepeatKv{heads_out}, k); }

CHALKGRAD_INSTANCES(repeat_kv)

CatalogEntry repeat_kv_entry() {
    return entry("repeat_kv", "each key-value head heads_out/H_kv times", "grouped-query attention", "k",
        [](Settings& c) {
            c.ignore({"layout"});
            return rule_of(RepeatKv{static_cast<std::size_t>(std::max<std::ptrdiff_t>(c.integer("heads_out"), 0))});
        })
        .with_samples(
            {"two_to_four: k(2,3,2) heads_out=4", "batched: k(2,2,1,3) heads_out=6", "same: k(2,2,2) heads_out=2"})
        .with_identities(homogeneous_in({{"k", 1}}));
}

} // namespace chalkgrad
