// Linear maps and tables of rows.
#include <chalkgrad/nn/core/linear.hpp>

#include <chalkgrad/nn/core/ops.hpp>
#include <chalkgrad/ops/linear/embedding.hpp>

namespace chalkgrad::nn {

Linear::Linear(const std::string& name, std::size_t in, std::size_t out, bool with_bias, const std::string& component) {
    if (in == 0 || out == 0)
        throw Error(fmt::format("linear: '{}' maps {} features to {}; both must be at least 1", name, in, out));
    weight = Parameter(name, {in, out}, component, fan_in(in));
    if (with_bias) bias = Parameter("b" + name.substr(name.starts_with('w')), {out}, component + "_bias", constant(0));
}

template <class T> Var<T> Linear::operator()(Binding<T>& on, const Var<T>& x) const {
    const Var<T> y = matmul(x, on(weight));
    return bias ? y + on(bias) : y;
}

void Linear::visit(const Visitor& v) const {
    v(weight);
    v(bias);
}

Embedding::Embedding(const std::string& name, std::size_t rows, std::size_t d, const std::string& component) {
    if (rows == 0 || d == 0)
        throw Error(fmt::format("embedding: '{}' has {} rows of {} features; both must be at least 1", name, rows, d));
    table = Parameter(name, {rows, d}, component, fan_in(d));
}

template <class T> Var<T> Embedding::operator()(Binding<T>& on, const Array<std::int64_t>& ids) const {
    return embedding(on(table), ids);
}

template <class T> Var<T> Embedding::tied(Binding<T>& on, const Var<T>& x) const {
    return matmul(x, transpose(on(table)));
}

CHALKGRAD_INSTANCES(Linear::operator(), Embedding::operator(), Embedding::tied)

} // namespace chalkgrad::nn
