// Reference cases of attention and of mixing, through the modules: projections that only pick columns stand around the
// case's q, k, v.
#include <boost/test/unit_test.hpp>

#include <filesystem>

#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/autograd/numpy/npy.hpp>
#include <chalkgrad/nn/layers/attention.hpp>
#include <chalkgrad/nn/layers/streams.hpp>
#include <chalkgrad/ops/attention/heads.hpp>
#include <chalkgrad/ops/shape/slice.hpp>

#include "../../ops/arrays.hpp"

namespace test_golden_modules {
BOOST_AUTO_TEST_SUITE(golden_modules)

using namespace chalkgrad;
using namespace chalkgrad::nn;
using namespace chalkgrad::testing;
using nlohmann::json;

namespace {

const std::filesystem::path golden = std::filesystem::path(CHALKGRAD_TEST_DATA) / "golden";

/// One case on a tape.
struct Case {
    const json& source;
    Tape tape;
    Binding<double> on{tape};
    std::vector<std::pair<std::string, Var<double>>> inputs;

    explicit Case(const json& its_source) : source(its_source) {
        for (const json& x : source["inputs"])
            inputs.emplace_back(x["name"], tape.variable(load_npy(golden / x["file"].get<std::string>())));
    }
    Var<double> in(const std::string& name) const {
        for (const auto& [its_name, x] : inputs)
            if (its_name == name) return x;
        return {};
    }
    Array<double> constant(const std::string& name) const {
        for (const json& x : source["constants"])
            if (x["name"] == name) return load_npy(golden / x["file"].get<std::string>());
        return {};
    }
    template <class N> std::optional<N> attribute(const char* name) const {
        const json& attributes = source["attrs"];
        return attributes.contains(name) ? std::optional<N>(attributes[name].get<N>()) : std::nullopt;
    }
    /// Value and gradients against the files.
    void check(const Var<double>& y) const {
        const auto file = [](const json& x, const char* key) { return load_npy(golden / x[key].get<std::string>()); };
        const json& output = source["outputs"][0];
        check_array(y.value(), file(output, "file"), output["tol"]["rtol"], output["tol"]["atol"]);
        y.backward(file(output, "cotangent_file"));
        for (const json& x : source["inputs"])
            if (x.contains("grad_file"))
                check_array(in(x["name"]).grad(), file(x, "grad_file"), x["grad_tol"]["rtol"], x["grad_tol"]["atol"]);
    }
};

/// (…, H, T, d) → (…, T, H·d); a flat projection stays as it is.
Var<double> merged(const Var<double>& x) { return x.rank() == 2 ? x : merge_heads(x); }

/// The matrix (from, to) that picks the `to` columns from `first` on.
void pick(const Linear& linear, std::size_t first) {
    const Shape& shape = linear.weight.shape();
    Array<double> w(std::vector<std::size_t>{shape[0], shape[1]}, 0.0);
    for (std::size_t j = 0; j < shape[1] && first + j < shape[0]; ++j) w(first + j, j) = 1;
    linear.weight.assign(w);
}

Var<double> attend(Case& c) {
    const std::size_t heads = *c.attribute<std::size_t>("heads_q"), kv_heads = *c.attribute<std::size_t>("heads_kv");
    const Var<double> q = merged(c.in("q")), k = merged(c.in("k")), v = merged(c.in("v"));
    const std::size_t head_dim = q.shape().last() / heads, value_dim = v.shape().last() / kv_heads,
                      wide = std::max(head_dim, value_dim);
    GroupedAttentionOptions o{.d = heads * wide,
        .heads = heads,
        .kv_heads = kv_heads,
        .head_dim = head_dim,
        .value_dim = value_dim,
        .memory_d = k.shape().last() + v.shape().last(),
        .causal = c.attribute<bool>("causal").value_or(false),
        .window = c.attribute<std::size_t>("window"),
        .softcap = c.attribute<double>("softcap"),
        .scale = c.attribute<double>("scale"),
        .sinks = static_cast<bool>(c.in("sinks"))};
    const Var<double> gain = c.in("q_gamma");
    if (c.in("tau")) o.qk_norm = {.axis = QkAxis::l2};
    else if (gain)
        o.qk_norm = {
            .axis = gain.size() == head_dim ? QkAxis::per_head : QkAxis::whole_projection, .norm = {.eps = 1e-6}};
    const GroupedAttention attention(o);
    for (const Linear* linear : {&attention.wq, &attention.wk, &attention.wo}) pick(*linear, 0);
    pick(attention.wv, k.shape().last());
    if (gain) {
        c.on.bind(attention.q_norm.gamma, gain);
        c.on.bind(attention.k_norm.gamma, c.in("k_gamma"));
    }
    if (c.in("tau")) c.on.bind(attention.tau, c.in("tau"));
    if (c.in("sinks")) c.on.bind(attention.sinks, c.in("sinks"));

    Var<double> x = q;
    if (o.d > q.shape().last()) {
        Shape pad = q.shape().with(q.rank() - 1, o.d - q.shape().last());
        x = concat({q, c.tape.constant(Array<double>(std::vector<std::size_t>(pad.begin(), pad.end()), 0.0))}, -1);
    }
    Var<double> mask = c.in("mask");
    if (const Array<double> given = c.constant("mask"); given.dimension() != 0) mask = c.tape.constant(given);
    Var<double> y = attention(c.on, x, mask, concat({k, v}, -1));
    if (o.d > heads * value_dim)
        y = slice(y, {Ellipsis{}, Range{.stop = static_cast<std::ptrdiff_t>(heads * value_dim)}});
    return split_heads(y, heads);
}

Var<double> mix(Case& c) {
    const Var<double> x = c.in("X");
    const std::size_t n = x.shape()[x.rank() - 2], d = x.shape().last();
    StreamsOptions o{.n = n, .normalize = false};
    o.sinkhorn.iterations = c.attribute<std::ptrdiff_t>("iterations").value_or(20);
    o.mixing = c.in("W") ? Mixing::x_dependent : c.in("m") ? Mixing::learned : Mixing::fixed;
    const Streams streams(d, o);
    for (const Parameter& p : {streams.pre, streams.post}) p.assign(Array<double>(std::vector<std::size_t>{n}, 0.0));
    if (o.mixing == Mixing::fixed) streams.mix.assign(c.constant("A"));
    if (o.mixing == Mixing::learned) c.on.bind(streams.res, c.in("m"));
    if (o.mixing == Mixing::x_dependent) {
        Generator rng(0);
        for (const Parameter& p : {streams.pre_map, streams.post_map, streams.pre_scale, streams.post_scale})
            p.assign(p.init().draw(p.shape(), rng));
        c.on.bind(streams.res, c.in("bias"));
        c.on.bind(streams.res_map, c.in("W"));
        c.on.bind(streams.res_scale, c.in("alpha"));
    }
    const bool batch = x.rank() == 3;
    const Var<double> y = streams.maps(c.on, batch ? transpose(x, {1, 0, 2}) : x).mixed;
    return batch ? transpose(y, {1, 0, 2}) : y;
}

} // namespace

BOOST_AUTO_TEST_CASE(attention_and_mixing) {
    const json manifest = json::parse(read_file(golden / "manifest.json"));
    std::size_t attention = 0, mixing = 0;
    for (const json& source : manifest["cases"]) {
        const std::string op = source["op"];
        if (!op.starts_with("sdpa") && !op.starts_with("mhc_mix")) continue;
        BOOST_TEST_CONTEXT(source["id"].get<std::string>()) {
            Case c(source);
            c.check(op.starts_with("sdpa") ? attend(c) : mix(c));
        }
        ++(op.starts_with("sdpa") ? attention : mixing);
    }
    BOOST_TEST(attention == 23u);
    BOOST_TEST(mixing == 5u);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_golden_modules
