// The workloads: norms, activations, softmax, Sinkhorn, products and attention, each small, middling and large.
#include <numeric>
#include <random>

#include "problem.hpp"

namespace bench {
namespace {

std::mt19937_64 engine(7);

Numbers normal(std::vector<std::size_t> shape, double mean = 0) {
    std::normal_distribution<double> draw(mean, 1);
    Numbers result{std::move(shape), {}};
    result.values.resize(
        std::accumulate(result.shape.begin(), result.shape.end(), std::size_t(1), std::multiplies<>()));
    for (double& x : result.values) x = draw(engine);
    return result;
}

std::string by(std::size_t a, std::size_t b) { return std::to_string(a) + "x" + std::to_string(b); }

// Forward: x is read and y written. Backward: x and gy are read, gx is written. Rows of gains are next to nothing.
Problem norm(const char* op, std::size_t rows, std::size_t d) {
    Problem p{op, by(rows, d), {normal({rows, d}), normal({d}, 1)}, normal({rows, d}), 5 * rows * d, {}};
    if (p.op == "layer_norm") p.inputs.push_back(normal({d}));
    return p;
}

Problem one_input(const char* op, std::vector<std::size_t> shape, std::string text) {
    Problem p{op, std::move(text), {normal(shape)}, normal(shape), 0, {}};
    p.moved = 5 * p.cotangent.values.size();
    return p;
}

// Reads g, u; writes y; reads g, u, gy; writes two gradients. A few gates lie beyond gpt-oss's limit of 7.
Problem gated(const char* op, std::size_t n) {
    Problem p{op, std::to_string(n), {normal({n}), normal({n})}, normal({n}), 8 * n, {}};
    for (Numbers& x : p.inputs)
        for (double& v : x.values) v *= 3;
    return p;
}

// Each of 2·20 half-steps multiplies the matrix by a vector, forward, and again backward.
Problem sinkhorn(std::size_t n) { return {"sinkhorn", by(n, n), {normal({n, n})}, normal({n, n}), 0, {{n, n, 80, 1}}}; }

Problem matmul(std::size_t n) {
    return {"matmul", by(n, n), {normal({n, n}), normal({n, n})}, normal({n, n}), 0, {{n, n, n, 3}}};
}

// Two products forward and four backward for each of 8 heads; causality leaves half of each.
Problem causal_gqa(std::size_t length) {
    constexpr std::size_t heads = 8, kv_heads = 2, width = 256 / heads;
    return {"causal_gqa", "d256 T" + std::to_string(length),
        {normal({heads, length, width}), normal({kv_heads, length, width}), normal({kv_heads, length, width})},
        normal({heads, length, width}), 0,
        {{length / 2, width, length, 3 * heads}, {length / 2, length, width, 3 * heads}}};
}

} // namespace

std::vector<Problem> problems() {
    std::vector<Problem> all;
    for (const char* op : {"rms_norm", "layer_norm"})
        for (const auto& [rows, d] : {std::pair(16, 64), std::pair(128, 256), std::pair(512, 512)})
            all.push_back(norm(op, rows, d));
    constexpr std::size_t sizes[] = {1 << 10, 1 << 15, 1 << 20};
    for (const char* op : {"silu_mul", "gpt_oss"})
        for (const std::size_t n : sizes) all.push_back(gated(op, n));
    for (const std::size_t n : sizes) all.push_back(one_input("gelu", {n}, std::to_string(n)));
    for (const std::size_t n : {16, 128, 512}) all.push_back(one_input("softmax", {n, n}, by(n, n)));
    for (const std::size_t n : {4, 64}) all.push_back(sinkhorn(n));
    for (const std::size_t n : {16, 64, 256, 512}) all.push_back(matmul(n));
    for (const std::size_t length : {64, 128, 512}) all.push_back(causal_gqa(length));
    return all;
}

} // namespace bench
