// The tensors of a model, read off its modules. They are built without numbers, with a prime for each size: a tensor's
// count then falls apart into the sizes that it is a product of, and those are the letters of its formula.
#include <chalkgrad/nn/models/tensors.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/nn/models/build.hpp>

namespace chalkgrad::nn {

std::int64_t checked_product(std::int64_t a, std::int64_t b, std::string_view what) {
    std::int64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        throw Error(fmt::format("config: {} has more than 2^63 elements ({} x {}); check the sizes", what, a, b));
    return product;
}

std::int64_t checked_sum(std::int64_t a, std::int64_t b, std::string_view what) {
    std::int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        throw Error(fmt::format("config: {} has more than 2^63 elements ({} + {}); check the sizes", what, a, b));
    return sum;
}

namespace {

/// A size of a model, and what stands in for it while its modules are built.
struct Size {
    Letter letter; ///< without a meaning: formulas write the number
    std::int64_t* field;
    std::int64_t stand_in = 0;
};

/// Those of a description that are not 0.
std::vector<Size> sizes_of(ModelDescription& m) {
    std::vector<Size> sizes;
    const auto add = [&](char letter, std::string_view meaning, std::int64_t& field) {
        if (field > 0) sizes.push_back({{letter, meaning, field}, &field});
    };
    AttentionFacts& a = m.attention;
    add('V', "vocabulary", m.vocabulary);
    add('P', m.positions.kind == "learned" ? "positions" : "", m.positions.rows);
    add('d', "width", m.width);
    if (m.streams > 1) add('n', "residual streams", m.streams);
    if (a.latent) add('n', "head width without rotation", a.latent->nope_dim);
    add('H', "query heads", a.heads);
    if (!a.latent) add('K', "KV heads", a.kv_heads);
    add('h', "head width", a.head_dim);
    if (a.latent) {
        LatentFacts& l = *a.latent;
        add('q', "query rank", l.q_rank);
        add('c', "KV rank", l.kv_rank);
        if (l.kv_rank > 0) add('r', "rotated head width", l.rope_dim);
        add('v', "value head width", l.value_dim);
        add('g', "output groups", l.out_groups);
        add('o', "output rank", l.out_rank);
        add('I', "indexer heads", l.index_heads);
        add('i', "indexer head width", l.index_dim);
    }
    add('f', "FFN width", m.ffn.width);
    if (m.experts) {
        add('E', "experts", m.experts->count);
        add('m', "expert width", m.experts->width);
        add('s', "shared experts' width", m.experts->shared_width);
    }
    for (std::int64_t* number : {&m.type_rows, &m.classes, &m.patch, &m.channels}) add('\0', "", *number);
    return sizes;
}

std::int64_t next_prime(std::int64_t n) {
    for (++n;; ++n) {
        std::int64_t divisor = 2;
        while (divisor * divisor <= n && n % divisor != 0) ++divisor;
        if (divisor * divisor > n) return n;
    }
}

/// Gives every size a prime, so large that no number of a module's own (a 2 of gate and up, say) has it as a factor,
/// and so small that four of them fit into one tensor. What must divide among others is a multiple of theirs.
void set_stand_ins(ModelDescription& m, std::vector<Size>& sizes) {
    std::int64_t prime = 1 << 15;
    for (Size& size : sizes) *size.field = prime = next_prime(prime);
    AttentionFacts& a = m.attention;
    if (!a.latent) {
        a.heads *= a.kv_heads;
    } else if (a.latent->out_groups > 0) {
        a.heads *= a.latent->out_groups;
    } else {
        a.latent->rope_dim *= 2;
        a.head_dim = a.latent->nope_dim + a.latent->rope_dim;
    }
    m.image = m.patch;
    for (Size& size : sizes) size.stand_in = *size.field;
    // These hold no parameter, and the modules compare them with what is no longer there.
    m.ffn.limit.reset();
    if (m.experts) m.experts->chosen = 1;
}

ModelTensor tensor_of(const std::string& name, const Parameter& parameter, const std::vector<Size>& sizes) {
    ModelTensor t{.name = name,
        .component = parameter.component(),
        .matrix = parameter.shape().rank() > 1 && parameter.component() != "qk_norm",
        .routed = name.find(".experts.") != std::string::npos};
    auto rest = static_cast<std::int64_t>(parameter.shape().size());
    for (const Size& size : sizes)
        for (; rest % size.stand_in == 0; rest /= size.stand_in) {
            t.elements = checked_product(t.elements, size.letter.value, name);
            if (size.letter.meaning.empty()) t.factor = checked_product(t.factor, size.letter.value, name);
            else t.letters += size.letter.letter;
        }
    t.elements = checked_product(t.elements, rest, name);
    t.factor = checked_product(t.factor, rest, name);
    return t;
}

/// Of a block's streams, n stands beside d only: how many mixing numbers they have is written as a number.
void write_mixes(ModelTensor& t, std::int64_t streams) {
    const bool beside_width = t.letters.find('d') != std::string::npos;
    for (auto n = std::count(t.letters.begin(), t.letters.end(), 'n'); n > beside_width; --n) {
        t.letters.erase(t.letters.find('n'), 1);
        t.factor = checked_product(t.factor, streams, t.name);
    }
}

/// Leaves one layer of each kind in the description.
std::vector<BlockTensors> take_kinds(ModelDescription& m) {
    std::vector<BlockTensors> blocks;
    for (StackFacts& stack : m.stacks) {
        std::vector<LayerFacts> kinds;
        for (std::size_t i = 0; i < stack.layers.size(); ++i) {
            LayerFacts kind = stack.layers[i];
            kind.sliding = kind.hash_routed = false; // these change what a layer does, not what it learns
            kind.rope = true;
            const auto same = std::find(kinds.begin(), kinds.end(), kind);
            if (same != kinds.end()) {
                ++(blocks.end() - (kinds.end() - same))->copies;
                continue;
            }
            kinds.push_back(kind);
            blocks.push_back({fmt::format("{}.{}", stack.path, i), {}});
        }
        if (m.extra_layers > 0) blocks.push_back({fmt::format("{}.{}", stack.path, stack.layers.size()), {}});
        stack.layers = kinds;
    }
    return blocks;
}

/// At its own sizes: formulas write an image encoder as a number.
void add_tower(VisionFacts facts, std::int64_t text_width, std::vector<ModelTensor>& to) {
    const std::int64_t layers = std::exchange(facts.layers, 1);
    for (const auto& [name, parameter] : parameters_of(VisionTower(facts, size(text_width)))) {
        ModelTensor t = tensor_of("vision." + name, parameter, {});
        if (t.component != "projector") t.component = "vision";
        if (name.starts_with("layers.")) t.elements = checked_product(t.elements, layers, t.name);
        to.push_back(std::move(t));
    }
}

} // namespace

ModelTensors tensors_of(const ModelDescription& model) {
    ModelDescription m = model;
    ModelTensors all;
    m.vision.reset();
    all.blocks = take_kinds(m);
    std::vector<Size> sizes = sizes_of(m);
    set_stand_ins(m, sizes);
    for (const Size& size : sizes)
        if (!size.letter.meaning.empty()) all.letters.push_back(size.letter);

    std::string layer;
    auto block = all.blocks.begin();
    for (const auto& [name, parameter] : parameters_of(Model(m))) {
        if (!parameter.learned()) continue;
        const std::size_t start = name.find("layers."), end = name.find('.', start + 7);
        if (name.starts_with("prediction.")) {
            all.blocks.back().tensors.push_back(tensor_of(name, parameter, sizes));
            all.blocks.back().tensors.back().component += "_mtp";
        } else if (start == std::string::npos) {
            all.outer.push_back(tensor_of(name, parameter, sizes));
        } else {
            const std::string its = name.substr(0, end);
            if (!layer.empty() && its != layer) ++block;
            layer = its;
            block->tensors.push_back(tensor_of(name.substr(end + 1), parameter, sizes));
            if (parameter.component() == "mhc") write_mixes(block->tensors.back(), model.streams);
        }
    }
    if (model.vision) add_tower(*model.vision, model.width, all.outer);
    return all;
}

} // namespace chalkgrad::nn
