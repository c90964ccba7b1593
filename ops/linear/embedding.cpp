// embedding:  y_i = E[id_i].  Vary E: dy_i = dE[id_i], so  Ē_r = Σ ȳ_i over the i with id_i = r.
#include <chalkgrad/ops/linear/embedding.hpp>

#include <numeric>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/tape/totals.hpp>
#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>

namespace chalkgrad {
namespace {

struct Embedding {
    static constexpr const char* name = "embedding";
    static constexpr const char* inputs[] = {"table"};
    static constexpr Role role = Role::structure;
    std::shared_ptr<const Array<std::int64_t>> ids;

    Shape shape(Shapes in) const {
        const Shape& table = in[0];
        if (table.rank() != 2)
            throw Error(fmt::format("embedding: the table has shape {}; it must be (V, D)", to_string(table)));
        for (const std::int64_t id : *ids)
            if (id < 0 || id >= static_cast<std::int64_t>(table[0]))
                throw Error(fmt::format("embedding: id {} is no row of the table of shape {}; give 0 to {}", id,
                    to_string(table), static_cast<std::int64_t>(table[0]) - 1));
        Shape y(ids->shape());
        y.push_back(table[1]);
        return y;
    }

    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        const std::size_t d = in[0].last();
        for (std::size_t i = 0; i < ids->size(); ++i) std::copy_n(row(in[0].data, i, d), d, y.data + i * d);
    }
    template <class T> void vjp(Ins<T>, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        const std::size_t d = gy.last();
        std::fill_n(gx[0].data, gx[0].size(), T(0));
        if (std::is_same_v<T, wide_t<T>> || ids->size() <= 4096) {
            for (std::size_t i = 0; i < ids->size(); ++i) {
                T* g = row(gx[0].data, i, d);
                for (std::size_t j = 0; j < d; ++j) g[j] += gy[i * d + j];
            }
            return;
        }
        std::vector<std::size_t> order(ids->size()); // all places of an id one after the other
        std::iota(order.begin(), order.end(), std::size_t(0));
        std::ranges::stable_sort(order, {}, [&](std::size_t i) { return ids->data()[i]; });
        for (auto same = order.begin(); same != order.end();) {
            Totals<T> totals(row(gx[0].data, *same, d), d);
            const std::int64_t id = ids->data()[*same];
            for (; same != order.end() && ids->data()[*same] == id; ++same) totals.add(gy.data + *same * d);
            totals.store();
        }
    }

private:
    template <class T> T* row(T* table, std::size_t i, std::size_t d) const {
        return table + static_cast<std::size_t>(ids->data()[i]) * d;
    }
};

} // namespace

template <class T> Var<T> embedding(const Var<T>& table, const Array<std::int64_t>& ids) {
    return apply(Embedding{std::make_shared<const Array<std::int64_t>>(ids)}, table);
}

template <class T> Var<T> embedding_composed(const Var<T>& table, const Array<std::int64_t>& ids) {
    const std::size_t rows = table.shape()[0];
    auto shape = std::vector<std::size_t>(ids.shape().begin(), ids.shape().end());
    shape.push_back(rows);
    Array<T> chosen(typename Array<T>::shape_type(shape.begin(), shape.end()), T(0));
    for (std::size_t i = 0; i < ids.size(); ++i)
        chosen.data()[i * rows + static_cast<std::size_t>(ids.data()[i])] = T(1);
    return matmul(table.tape().constant(chosen), table);
}

CHALKGRAD_INSTANCES(embedding, embedding_composed)

CatalogEntry embedding_entry() {
    return entry("embedding", "rows of a table by their numbers", "§4", "table",
        [](Settings& c) {
            return rule_of(Embedding{std::make_shared<const Array<std::int64_t>>(c.whole_numbers("ids"))});
        })
        .with_samples(
            // Rows looked up twice, and rows never looked up.
            {"repeated: table(5,3)", "batched: table(4,2)", "one_id: table(3,5)"}, {},
            [](std::vector<Sample>& samples) {
                const Array<double> ids[] = {{4, 0, 4, 2, 4}, {{1, 1}, {3, 0}}, Array<double>(2.0)};
                for (std::size_t i = 0; i < samples.size(); ++i) samples[i].constants = {{"ids", ids[i]}};
            })
        .with_twin([](auto& c) { return embedding_composed(c.in("table"), c.whole_numbers("ids")); })
        .with_identities(homogeneous_in({{"table", 1}}));
}

} // namespace chalkgrad
