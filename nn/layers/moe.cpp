// Mixture of experts as a module.
#include <chalkgrad/nn/layers/moe.hpp>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/nn/core/ops.hpp>

namespace chalkgrad::nn {
namespace {

/// A constant with `in` at the k largest scores of each row and `out` elsewhere; without numbers on a tape of shapes.
template <class T> Var<T> top_k(const Var<T>& scores, const Var<T>& correction, std::size_t k, double in, double out) {
    const Tape tape = scores.tape();
    const Shape& shape = scores.shape();
    if (tape.shapes_only()) return tape.leaf<T>(shape, nullptr, false, "picked");
    const std::size_t n = shape.last();
    std::vector<T> marks(shape.size(), static_cast<T>(out));
    std::vector<std::size_t> order(n);
    std::vector<T> rank(n);
    for (std::size_t row = 0; row < shape.rows(); ++row) {
        for (std::size_t e = 0; e < n; ++e) {
            rank[e] = scores.data()[row * n + e] + (correction ? correction.data()[e] : T(0));
            if (!(rank[e] == rank[e])) rank[e] = T(-HUGE_VAL); // NaN comes last, so that there is an order
        }
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::partial_sort(order.begin(), order.begin() + extent(k), order.end(),
            [&](std::size_t a, std::size_t b) { return rank[a] > rank[b] || (!(rank[b] > rank[a]) && a < b); });
        for (std::size_t i = 0; i < k; ++i) marks[row * n + order[i]] = static_cast<T>(in);
    }
    return tape.leaf<T>(shape, marks.data(), false, "picked");
}

/// (experts, n) beside (experts, rows, n).
template <class T> Var<T> beside_rows(const Var<T>& bias) {
    return reshape(bias, {extent(bias.shape()[0]), 1, extent(bias.shape()[1])});
}

} // namespace

Experts::Experts(const FfnOptions& its_options, std::size_t count) : options(its_options) {
    const Ffn one(options); // checks the options, and says the names
    options.own = one.options.own;
    const auto many = [&](const Parameter& of_one, const char* component) {
        if (!of_one) return Parameter();
        Shape shape{count};
        for (const std::size_t n : of_one.shape()) shape.push_back(n);
        return Parameter(of_one.name(), shape, component, of_one.init());
    };
    for (const auto& [mine, of_one] : {std::pair(&first, &one.first), {&up, &one.up}, {&second, &one.second}}) {
        mine->weight = many(of_one->weight, "experts");
        mine->bias = many(of_one->bias, "experts_bias");
    }
}

template <class T> Var<T> Experts::operator()(Binding<T>& on, const Var<T>& x) const {
    const auto apply = [&](const Linear& map, const Var<T>& input) {
        const Var<T> y = matmul(input, on(map.weight));
        return map.bias ? y + beside_rows(on(map.bias)) : y;
    };
    const Var<T> h = apply(first, x);
    return apply(second, up ? gate(on, options, h, apply(up, x)) : middle(on, options, h));
}

void Experts::visit(const Visitor& v) const {
    for (const Linear* map : {&first, &up, &second}) v(*map);
    v(options.own);
}

Moe::Moe(const MoeOptions& its_options) : options(its_options) {
    const auto& o = options;
    if (o.experts == 0 || o.per_token == 0 || o.per_token > o.experts)
        throw Error(fmt::format(
            "moe: {} of {} experts for each token; per_token must lie between 1 and experts", o.per_token, o.experts));
    if (o.weight_input && o.expert.bias)
        throw Error(
            "moe: weight_input is set on experts with biases; those not picked see 0 and would answer with their "
            "biases");
    router = Linear("w_router", o.expert.d, o.experts, o.router_bias, "router");
    if (o.correction) correction = Parameter("correction", {o.experts}, "router", constant(0), false);
    experts = Experts(o.expert, o.experts);
    if (o.shared_width != 0) {
        FfnOptions every = o.expert;
        every.width = o.shared_width;
        shared.emplace(every, "shared_expert");
    }
}

template <class T> Var<T> Moe::route(Binding<T>& on, const Var<T>& x) const {
    const auto& o = options;
    const Scope scope = on.scope("router");
    const Var<T> logits = router(on, x), push = on(correction);
    if (o.scoring == Scoring::softmax && o.normalize && !push) {
        const Var<T> p = softmax(logits, -1, top_k(logits, {}, o.per_token, 0, -HUGE_VAL));
        return o.scale == 1 ? p : o.scale * p;
    }
    const Var<T> scores = o.scoring == Scoring::softmax   ? softmax(logits)
                          : o.scoring == Scoring::sigmoid ? sigmoid(logits)
                                                          : sqrt(softplus(logits));
    Var<T> p = scores * top_k(scores, push, o.per_token, 1, 0);
    if (o.normalize) p = p / sum(p, -1, true);
    return o.scale == 1 ? p : o.scale * p;
}

template <class T> Var<T> Moe::operator()(Binding<T>& on, const Var<T>& x) const {
    const auto& o = options;
    const std::ptrdiff_t d = extent(o.expert.d), rows = extent(x.shape().rows());
    const Var<T> flat = x.rank() == 2 ? x : reshape(x, {rows, d});
    const Var<T> weights = reshape(transpose(route(on, flat)), {extent(o.experts), rows, 1});
    Var<T> y;
    {
        const Scope scope = on.scope("experts");
        const Var<T> input = reshape(flat, {1, rows, d});
        const Var<T> each = o.weight_input ? experts(on, input * weights) : experts(on, input) * weights;
        y = sum(each, 0);
    }
    if (x.rank() != 2) y = reshape(y, std::vector<std::ptrdiff_t>(x.shape().begin(), x.shape().end()));
    if (!shared) return y;
    const Scope scope = on.scope("shared");
    return y + (*shared)(on, x);
}

void Moe::visit(const Visitor& v) const {
    v(router);
    v(correction);
    v("experts", experts);
    if (shared) v("shared", *shared);
}

CHALKGRAD_INSTANCES(Experts::operator(), Moe::route, Moe::operator())

} // namespace chalkgrad::nn
