// The modules of a whole model, put together as its description says.
#include <chalkgrad/nn/models/build.hpp>

#include <bit>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/nn/core/ops.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>

namespace chalkgrad::nn {
namespace {

/// A bias that counts with its matrix.
Linear with_bias(const std::string& name, std::size_t in, std::size_t out, const std::string& component) {
    Linear map("w_" + name, in, out, false, component);
    map.bias = Parameter("b_" + name, {out}, component, constant(0));
    return map;
}

/// A constant of f(i, j), (rows, columns).
template <class T>
Var<T> table_of(const Tape& tape, std::size_t rows, std::size_t columns, const char* name, const auto& f) {
    if (tape.shapes_only()) return tape.leaf<T>({rows, columns}, nullptr, false, name);
    Array<T> table(std::vector<std::size_t>{rows, columns});
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) table(i, j) = static_cast<T>(f(i, j));
    return tape.constant(table, name);
}

/// sin and cos of position/10000^(2i/d), side by side (Vaswani et al. 2017).
template <class T> Var<T> sinusoid(const Tape& tape, std::size_t tokens, std::size_t d) {
    return table_of<T>(tape, tokens, d, "sinusoid", [&](std::size_t t, std::size_t i) {
        const double angle =
            static_cast<double>(t) * std::pow(10000.0, -static_cast<double>(i / 2 * 2) / static_cast<double>(d));
        return i % 2 == 0 ? std::sin(angle) : std::cos(angle);
    });
}

/// T5's bucket of a distance: exact up to half of the buckets, then on a logarithmic scale up to 128.
std::int64_t bucket(std::int64_t key, std::int64_t query, std::int64_t buckets, bool causal) {
    std::int64_t distance = query - key, first = 0;
    if (!causal) {
        buckets /= 2;
        if (distance < 0) first = buckets;
        distance = std::abs(distance);
    }
    distance = std::max<std::int64_t>(distance, 0);
    const std::int64_t exact = buckets / 2;
    if (distance < exact || exact == 0) return first + std::min(distance, std::max<std::int64_t>(buckets - 1, 0));
    const double far = std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                       std::log(128.0 / static_cast<double>(exact));
    return first + std::min(buckets - 1, exact + static_cast<std::int64_t>(far * static_cast<double>(buckets - exact)));
}

/// ALiBi's line for each head: key j gets scale·j·2^(−8(h+1)/n) for n heads; of a number of heads that is no power of two those beyond
/// the largest one below it take every second of twice as many (Press et al. 2022).
template <class T> Var<T> alibi(const Tape& tape, std::size_t heads, std::size_t tokens, double scale) {
    const std::size_t n = std::bit_floor(heads);
    const Var<T> lines = table_of<T>(tape, heads, tokens, "alibi", [&](std::size_t h, std::size_t j) {
        const double step = static_cast<double>(h < n ? 2 * (h + 1) : 2 * (h - n) + 1);
        return scale * static_cast<double>(j) * std::exp2(-4.0 * step / static_cast<double>(n));
    });
    return reshape(lines, {extent(heads), 1, extent(tokens)});
}

} // namespace

Model::Model(const ModelDescription& its_description) : description(its_description) {
    const ModelDescription& m = description;
    const std::size_t d = size(m.width);
    const BlockOptions usual = block_options(m, m.stacks[0], m.stacks[0].layers[0]);
    if (m.patch > 0) {
        patches = Linear("w_patches", image_shape()[1], d, true, "embed");
        class_token = Parameter("class_token", {1, d}, "pos_embed", normal(0.02));
    } else {
        embedding = Embedding("embedding", size(m.vocabulary), d);
    }
    if (m.positions.kind == "learned") positions = Embedding("positions", size(m.positions.rows), d, "pos_embed");
    if (m.type_rows > 0) types = Embedding("types", size(m.type_rows), d, "type_embed");
    if (m.embedding_norm) embedding_norm = Norm("embedding_norm", d, usual.norm, "embed_norm");
    for (const StackFacts& stack : m.stacks) {
        std::vector<BlockOptions> blocks;
        for (const LayerFacts& layer : stack.layers) blocks.push_back(block_options(m, stack, layer));
        Part part{m.stacks.size() == 1    ? ""
                  : stack.cross_attention ? "decoder"
                                          : "encoder",
            Stack(blocks, m.final_norm ? usual.norm : NormOptions{.kind = NormKind::none})};
        parts.push_back(std::move(part));
    }
    if (m.streams > 1) {
        const std::size_t n = size(m.streams);
        mixing = Parameter("mixing", {n * d, n}, "mhc", fan_in(n * d));
        mixing_base = Parameter("mixing_base", {n}, "mhc", constant(0));
        mixing_scale = Parameter("mixing_scale", {1}, "mhc", constant(0.01));
    }
    if (m.pooler) pooler = with_bias("pooler", d, d, "pooler");
    if (m.head == "classes") head = with_bias("head", d, size(m.classes), "lm_head");
    if (m.head == "vocabulary" && !m.tied) head = Linear("w_head", d, size(m.vocabulary), m.head_bias, "lm_head");
    if (m.head == "vocabulary" && m.tied && m.head_bias)
        tied_bias = Parameter("b_head", {size(m.vocabulary)}, "lm_head_bias", constant(0));
    if (m.extra_layers > 0)
        prediction = {Norm("embedding_norm", d, usual.norm), Norm("state_norm", d, usual.norm),
            Norm("final", d, usual.norm, "final_norm"), Linear("w_join", 2 * d, d, false, "eh_proj"),
            Block(block_options(m, m.stacks[0], {.experts = true}))};
    if (m.vision) tower.emplace(*m.vision, d);
}

Shape Model::image_shape() const {
    if (tower) return tower->image_shape();
    const ModelDescription& m = description;
    if (m.patch == 0) return {};
    return {size(m.image / m.patch) * size(m.image / m.patch),
        Shape{size(m.patch), size(m.patch), size(m.channels)}.size()};
}

template <class T> Var<T> Model::embed(Binding<T>& on, const Array<std::int64_t>& ids) const {
    const ModelDescription& m = description;
    const Scope scope = on.scope("embedding");
    Var<T> h = embedding(on, ids);
    if (m.embedding_scale != 1) h = m.embedding_scale * h;
    const std::size_t tokens = ids.size();
    if (positions) {
        Array<std::int64_t> places(std::vector<std::size_t>{tokens});
        std::iota(places.begin(), places.end(), std::int64_t{0});
        h = h + positions(on, places);
    }
    if (types) h = h + types(on, Array<std::int64_t>(std::vector<std::size_t>{tokens}, 0));
    if (m.positions.kind == "sinusoid") h = h + sinusoid<T>(on.tape(), tokens, size(m.width));
    return embedding_norm(on, h);
}

template <class T> Var<T> Model::position_bias(Binding<T>& on, const Part& part, std::size_t tokens) const {
    const ModelDescription& m = description;
    if (m.positions.kind == "relative") {
        const auto& first = std::get<GroupedAttention>(part.stack.blocks[0].attention);
        Array<std::int64_t> buckets(std::vector<std::size_t>{tokens, tokens});
        for (std::size_t i = 0; i < tokens; ++i)
            for (std::size_t j = 0; j < tokens; ++j)
                buckets(i, j) = bucket(
                    static_cast<std::int64_t>(j), static_cast<std::int64_t>(i), m.positions.rows, first.options.causal);
        return transpose(first.relative(on, buckets), {2, 0, 1});
    }
    if (m.positions.kind == "alibi") // Falcon's lines are scaled with the scores.
        return alibi<T>(on.tape(), size(m.attention.heads), tokens, m.attention.scale);
    return {};
}

template <class T> Var<T> Model::run(Binding<T>& on, const Part& part, const Var<T>& x, const Var<T>& memory) const {
    const ModelDescription& m = description;
    const Scope scope = on.scope(part.name.empty() ? "stack" : part.name);
    const std::size_t tokens = x.shape()[0];
    Var<T> h = m.streams > 1 ? expand_streams(x, size(m.streams)) : x;
    h = part.stack.body(on, h, position_bias(on, part, tokens), memory);
    if (m.streams > 1) {
        // Each token's streams say how much of each of them leaves.
        const std::ptrdiff_t n = m.streams, d = m.width, rows = extent(tokens);
        const Var<T> flat = reshape(transpose(h, {1, 0, 2}), {rows, n * d});
        const Var<T> share =
            sigmoid(on(mixing_scale) * matmul(rms_norm(flat, {}, m.norm.eps), on(mixing)) + on(mixing_base));
        h = sum(reshape(transpose(share), {n, rows, 1}) * h, 0);
    }
    return part.stack.final(on, h);
}

template <class T> Var<T> Model::score(Binding<T>& on, const Var<T>& h) const {
    const ModelDescription& m = description;
    const Scope scope = on.scope("head");
    Var<T> x = h;
    if (m.tied && m.logit_scale) x = *m.logit_scale * x;
    Var<T> y = head ? head(on, x) : embedding.tied(on, x);
    if (tied_bias) y = y + on(tied_bias);
    if (!m.tied && m.logit_scale) y = *m.logit_scale * y;
    return m.final_softcap ? softcap(y, *m.final_softcap) : y;
}

template <class T> Var<T> Model::operator()(Binding<T>& on, const Array<std::int64_t>& ids, const Var<T>& image) const {
    const ModelDescription& m = description;
    if (image_shape().rank() > 0 && !(image && image.shape() == image_shape()))
        throw Error(fmt::format(
            "model: {} takes an image as patches of shape {}; give one", m.model_type, to_string(image_shape())));
    if (patches) {
        const Var<T> seen = concat({on(class_token), patches(on, image)}, 0) + on(positions.table);
        const Var<T> h = run<T>(on, parts[0], seen, {});
        const Scope scope = on.scope("head");
        return head(on, slice(h, "0:1"));
    }
    Var<T> x = embed(on, ids);
    if (tower) x = concat({(*tower)(on, image), x}, 0);
    Var<T> memory;
    if (parts.size() > 1) memory = run<T>(on, parts[1], x, {});
    const Var<T> h = run(on, parts[0], x, memory);
    if (pooler) return concat({h, tanh(pooler(on, slice(h, "0:1")))}, 0);
    const Var<T> y = score(on, h);
    if (!prediction) return y;
    const Scope scope = on.scope("prediction");
    Array<std::int64_t> next = ids;
    std::rotate(next.begin(), next.begin() + 1, next.end());
    const Prediction& p = *prediction;
    const Var<T> joined = p.join(on, concat({p.embedding_norm(on, embedding(on, next)), p.state_norm(on, h)}, -1));
    return concat({y, score(on, p.final(on, p.block(on, joined)))}, 0);
}

void Model::visit(const Visitor& v) const {
    v(embedding);
    v(class_token);
    v(patches);
    v(positions);
    v(types);
    v("embedding_norm", embedding_norm);
    if (tower) v("vision", *tower);
    for (const Part& part : parts) {
        if (part.name.empty()) v(part.stack);
        else v(part.name, part.stack);
    }
    for (const Parameter* p : {&mixing, &mixing_base, &mixing_scale}) v(*p);
    v(pooler);
    v(head);
    v(tied_bias);
    if (!prediction) return;
    v("prediction.block", prediction->block);
    v("prediction.embedding_norm", prediction->embedding_norm);
    v("prediction.state_norm", prediction->state_norm);
    v("prediction", prediction->join);
    v("prediction.final", prediction->final);
}

CHALKGRAD_INSTANCES(Model::embed, Model::position_bias, Model::score, Model::operator())

} // namespace chalkgrad::nn
