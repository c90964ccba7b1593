// Several residual streams around a sublayer.
#include <chalkgrad/nn/layers/streams.hpp>

#include <chalkgrad/nn/core/ops.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/streams/mhc_mix.hpp>

namespace chalkgrad::nn {
namespace {

using Extents = std::vector<std::ptrdiff_t>;

Extents extents(const Shape& shape) { return Extents(shape.begin(), shape.end()); }

/// A vector of n numbers as (n, 1, …, 1), of the rank of h.
template <class T> Var<T> by_stream(const Var<T>& vector, const Var<T>& h) {
    Extents shape(h.rank(), 1);
    shape[0] = extent(vector.size());
    return reshape(vector, shape);
}

} // namespace

Streams::Streams(std::size_t d, const StreamsOptions& its_options) : options(its_options) {
    const std::size_t n = options.n;
    if (n == 0 || d == 0) throw Error(fmt::format("mhc: {} streams of {} features; both must be at least 1", n, d));
    const auto parameter = [](const char* name, const Shape& shape, const Init& init, bool learned = true) {
        return Parameter(name, shape, "mhc", init, learned);
    };
    pre = parameter("pre", {n}, constant(0));
    post = parameter("post", {n}, constant(0));
    if (options.mixing == Mixing::fixed) mix = parameter("mix", {n, n}, constant(1 / static_cast<double>(n)), false);
    else res = parameter("res", {n, n}, constant(0));
    if (options.mixing != Mixing::x_dependent) return;
    pre_map = parameter("pre_map", {n * d, n}, fan_in(n * d));
    post_map = parameter("post_map", {n * d, n}, fan_in(n * d));
    res_map = parameter("res_map", {n * d, n * n}, fan_in(n * d));
    for (auto [scale, name] :
        {std::pair(&pre_scale, "pre_scale"), {&post_scale, "post_scale"}, {&res_scale, "res_scale"}})
        *scale = parameter(name, Shape(), constant(0.01));
}

template <class T> Streams::Maps<T> Streams::maps(Binding<T>& on, const Var<T>& h) const {
    const std::size_t n = options.n;
    if (h.rank() < 2 || h.shape()[0] != n)
        throw Error(fmt::format("mhc: the streams have shape {}; it must be ({}, …, d)", to_string(h.shape()), n));
    const std::size_t d = h.shape().last(), rows = h.size() / (n * d);
    if (options.mixing != Mixing::x_dependent) {
        const Var<T> flat = reshape(h, {extent(n), extent(rows * d)});
        const Var<T> mixed = mix ? matmul(on(mix), flat) : mhc_mix_param(flat, on(res), options.sinkhorn);
        return {
            by_stream(sigmoid(on(pre)), h), by_stream(2 * sigmoid(on(post)), h), reshape(mixed, extents(h.shape()))};
    }
    // Token by token: X (rows, n, d), and one row x̂ of n·d features.
    const Var<T> x = transpose(reshape(h, {extent(n), extent(rows), extent(d)}), {1, 0, 2});
    const Var<T> row = reshape(x, {extent(rows), extent(n * d)});
    const Var<T> x_hat = options.normalize ? rms_norm(row, {}, options.eps) : row;
    const auto logits = [&](const Parameter& bias, const Parameter& scale, const Parameter& map) {
        const Var<T> b = on(bias);
        return on(scale) * matmul(x_hat, on(map)) + (b.rank() == 1 ? b : reshape(b, {-1}));
    };
    Extents weights = extents(h.shape());
    weights.back() = 1;
    const Var<T> read = sigmoid(logits(pre, pre_scale, pre_map)),
                 write = 2 * sigmoid(logits(post, post_scale, post_map));
    const Var<T> a =
        sinkhorn_log(reshape(logits(res, res_scale, res_map), {extent(rows), extent(n), extent(n)}), options.sinkhorn);
    const Var<T> mixed = transpose(matmul(a, x), {1, 0, 2});
    return {reshape(transpose(read), weights), reshape(transpose(write), weights), reshape(mixed, extents(h.shape()))};
}

template <class T> Var<T> Streams::gather(const Var<T>& weights, const Var<T>& h) { return sum(weights * h, 0); }

void Streams::visit(const Visitor& v) const {
    for (const Parameter* p :
        {&pre_map, &post_map, &res_map, &pre, &post, &res, &mix, &pre_scale, &post_scale, &res_scale})
        v(*p);
}

template <class T> Var<T> expand_streams(const Var<T>& x, std::size_t n) { return stack(std::vector<Var<T>>(n, x)); }

template <class T> Var<T> merge_streams(const Var<T>& h) { return sum(h, 0); }

CHALKGRAD_INSTANCES(Streams::maps, Streams::gather, expand_streams, merge_streams)

} // namespace chalkgrad::nn
