// The catalogue of blocks.
#include <chalkgrad/nn/layers/catalog.hpp>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/suggest.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/nn/layers/stack.hpp>
#include <chalkgrad/ops/catalog/identities.hpp>

namespace chalkgrad::nn {
namespace {

// Small: a full Jacobian takes a fraction of a second. No two extents that could be mixed up are equal.
constexpr std::size_t tokens = 4, width = 8, heads = 2, kv_heads = 1, ffn_width = 6, streams = 2, layers = 2;

template <class Call>
Recorded recorded(const Tape& tape, const std::vector<NamedParameter>& parameters, std::uint64_t seed,
    const std::vector<Shape>& shapes, Call call) {
    Generator rng{Seed(seed)};
    if (!tape.shapes_only()) initialize_for_check(parameters, rng);
    Recorded result;
    for (const Shape& shape : shapes) {
        const char* const its_name = result.inputs.empty() ? "x" : "memory";
        result.inputs.push_back(tape.shapes_only() ? tape.leaf<double>(shape, nullptr, true, its_name)
                                                   : tape.variable(rng.standard_normal(shape), its_name));
    }
    Binding<double> on(tape);
    result.output = call(on, result.inputs).named("y");
    for (const auto& bound : on.bound())
        if (bound.parameter.learned()) result.parameters.push_back(bound.line);
    return result;
}

/// A module that is called with x.
template <class Module> auto recorder(auto make, const Shape& shape = {tokens, width}) {
    return [=](const Tape& tape, std::uint64_t seed) {
        const Module module = make();
        return recorded(
            tape, parameters_of(module), seed, {shape}, [&](auto& on, const auto& x) { return module(on, x[0]); });
    };
}

BlockOptions usual(Placement placement) {
    const bool old = placement == Placement::post || placement == Placement::deepnorm;
    BlockOptions o{.d = width,
        .placement = placement,
        .norm = old ? layer_norm_options() : NormOptions(),
        .attention = {.heads = heads, .kv_heads = kv_heads, .rope = RopeOptions()},
        .ffn = {.width = ffn_width},
        .streams = {.n = streams}};
    if (placement == Placement::deepnorm) o.alpha = deepnorm(layers).alpha;
    return o;
}

Shape input_of(const BlockOptions& o) {
    return o.placement == Placement::mhc ? Shape{o.streams.n, tokens, width} : Shape{tokens, width};
}

BlockEntry block(std::string name, std::string formula, std::string section, const BlockOptions& options) {
    return {std::move(name), std::move(formula), std::move(section), BlockEntry::Kind::block,
        recorder<Block>([=] { return Block(options); }, input_of(options))};
}

void add_placements(std::vector<BlockEntry>& list) {
    for (const Placement p : all_placements())
        list.push_back(block(name(p), formula(p), p == Placement::mhc ? "§12" : "§6", usual(p)));
}

void add_variants(std::vector<BlockEntry>& list) {
    BlockOptions o = usual(Placement::parallel);
    o.norm = layer_norm_options();
    o.shared_norm = false;
    o.ffn = {.width = ffn_width, .activation = Activation::gelu, .gated = false, .bias = true};
    list.push_back(block("parallel_two_norms", "h + A(N1(h)) + F(N2(h)) (GPT-NeoX)", "§6", o));

    o = usual(Placement::mhc);
    o.streams.mixing = Mixing::fixed;
    list.push_back(block("mhc_fixed", "the same with a constant A", "§12", o));
    o.streams.mixing = Mixing::x_dependent;
    list.push_back(block("mhc_x_dependent", "the same with A, pre and post computed from H", "§12", o));

    o = usual(Placement::pre);
    o.attention.qk_norm = {.axis = QkAxis::per_head};
    list.push_back(block("qwen3", "Pre-LN, Q/K norm inside each head", "§7", o));
    o.attention.qk_norm = {.axis = QkAxis::l2, .tau = 2};
    list.push_back(block("henry", "Pre-LN, queries and keys of length 1, learned tau", "§7", o));

    o = usual(Placement::output_only);
    o.attention.qk_norm = {.axis = QkAxis::whole_projection};
    list.push_back(block("olmo2", "output-only, Q/K norm over the whole projection", "§7", o));

    o = usual(Placement::peri);
    o.norm.gain = NormGain::one_plus_weight;
    o.attention.window = 3;
    o.attention.softcap = 5;
    o.ffn = {.width = ffn_width, .activation = Activation::gelu_tanh};
    list.push_back(block("gemma2", "Peri-LN with gain 1 + w, soft-cap, window, GEGLU", "§16", o));

    o = usual(Placement::pre);
    o.attention.window = 2;
    o.attention.sinks = o.attention.q_bias = o.attention.k_bias = o.attention.v_bias = o.attention.o_bias = true;
    o.experts =
        MoeOptions{.expert = gpt_oss_ffn_options(width, ffn_width), .experts = 4, .per_token = 2, .router_bias = true};
    list.push_back(block("gpt_oss", "Pre-LN, sinks, window, experts with clamped gates", "§15", o));

    o = usual(Placement::pre);
    o.experts = MoeOptions{.expert = {.width = ffn_width},
        .experts = 4,
        .per_token = 2,
        .scoring = Scoring::sigmoid,
        .scale = 1.5,
        .correction = true,
        .shared_width = 4};
    list.push_back(block("moe_sigmoid", "Pre-LN, sigmoid router, experts and a shared one (DeepSeek 3)", "§16", o));

    // Without RoPE a bias of the keys adds one number to all scores of a query, which softmax ignores: its gradient is
    // 0 and shows nothing.
    o = vision_block_options(width, heads, ffn_width);
    o.attention.k_bias = false;
    list.push_back(block("vision", "Pre-LN, no mask, biased GELU FFN", "§17", o));

    o = usual(Placement::post);
    o.attention.rope.reset();
    o.cross = GroupedAttentionOptions{.heads = heads, .causal = false};
    o.ffn = {.width = ffn_width, .activation = Activation::relu, .gated = false, .bias = true};
    list.push_back({"decoder", "Post-LN with cross-attention to a memory (Transformer of 2017)", "§6",
        BlockEntry::Kind::block, [=](const Tape& tape, std::uint64_t seed) {
            const Block module(o);
            return recorded(tape, parameters_of(module), seed, {{tokens, width}, {tokens - 1, width}},
                [&](auto& on, const auto& x) { return module(on, x[0], {}, x[1]); });
        }});
}

void add_networks(std::vector<BlockEntry>& list) {
    const auto add = [&](std::string its_name, std::string formula, std::string section, FfnOptions o) {
        o.d = width;
        o.width = ffn_width;
        list.push_back({std::move(its_name), std::move(formula), std::move(section), BlockEntry::Kind::ffn,
            recorder<Ffn>([=] { return Ffn(o); })});
    };
    add("ffn_mlp", "gelu(x W1 + b1) W2 + b2", "§8", {.activation = Activation::gelu, .gated = false, .bias = true});
    add("swiglu_mlp", "(silu(x Wg) * (x Wu)) Wd", "§9", {});
    add("reglu_mlp", "(relu(x Wg) * (x Wu)) Wd", "§9", {.activation = Activation::relu});
    add("geglu_mlp", "(gelu(x Wg) * (x Wu)) Wd", "§9", {.activation = Activation::gelu});
    add("geglu_tanh_mlp", "(gelu_tanh(x Wg) * (x Wu)) Wd", "§9", {.activation = Activation::gelu_tanh});
    add("gpt_oss_mlp", "clamped gate, (u + 1), columns interleaved, biases", "§9",
        gpt_oss_ffn_options(width, ffn_width));
    add("packed_mlp", "gate and up in one matrix, the gate in its first half", "§9", {.packing = Packing::gate_first});
    list.push_back({"moe_mlp", "sum of the 2 best of 4 experts, softmax over the 2", "§15", BlockEntry::Kind::ffn,
        recorder<Moe>([] { return Moe({.expert = {.d = width, .width = ffn_width}, .experts = 4, .per_token = 2}); })});
}

void add_stacks(std::vector<BlockEntry>& list) {
    for (const Placement p : all_placements()) {
        const BlockOptions o = usual(p);
        const bool ends = p == Placement::post || p == Placement::deepnorm || p == Placement::mhc;
        const NormOptions last = ends ? NormOptions{.kind = NormKind::none} : NormOptions();
        list.push_back({fmt::format("stack_{}", name(p)),
            fmt::format("{} blocks of {}{}", layers, name(p), ends ? "" : ", final norm"), "§6",
            BlockEntry::Kind::stack, recorder<Stack>([=] { return Stack(layers, o, last); }, input_of(o))});
    }
    list.push_back({"language_model", "embedding, 2 Pre-LN blocks, final norm, tied head", "§10",
        BlockEntry::Kind::stack, [](const Tape& tape, std::uint64_t seed) {
            const LanguageModel model({.vocabulary = 7, .blocks = {2, usual(Placement::pre)}, .tied = true});
            const Array<std::int64_t> ids = {3, 0, 6, 3};
            return recorded(
                tape, parameters_of(model), seed, {}, [&](auto& on, const auto&) { return model(on, ids); });
        }});
}

/// Whether a line lies in a scope of an FFN, gated or not.
bool in_ffn(const Tape& tape, const Line& line) {
    for (std::size_t scope = line.scope; scope != 0; scope = tape.scope_info(scope).parent)
        if (const Role role = tape.scope_info(scope).role; role == Role::gate || role == Role::activation) return true;
    return false;
}

/// Whether tokens of x may depend on later ones: through an attention without a causal mask whose keys come from x. The router of a
/// mixture of experts is a softmax, but over experts.
bool attends_to_later(const Recorded& recorded, const Var<double>& x) {
    const Tape tape = x.tape();
    std::vector<char> of_x(recorded.output.line() + 1, 0);
    of_x[x.line()] = 1;
    for (std::size_t i = x.line() + 1; i <= recorded.output.line(); ++i) {
        const Line at = tape.line(i);
        for (const std::ptrdiff_t input : at.inputs) of_x[i] |= input >= 0 && of_x[static_cast<std::size_t>(input)];
        if (at.role != Role::attention || in_ffn(tape, at)) continue;
        const Attribute* causal = at.attributes.find("causal");
        const bool masked = causal != nullptr && *causal == Attribute(true);
        const std::ptrdiff_t keys = at.inputs[at.inputs.size() > 1 ? 1 : 0];
        if (!masked && keys >= 0 && of_x[static_cast<std::size_t>(keys)]) return true;
    }
    return false;
}

} // namespace

std::vector<Identity> BlockEntry::identities(const Recorded& recorded) const {
    if (recorded.inputs.empty()) return {};
    const Var<double>& x = recorded.inputs[0];
    if (x.shape() != recorded.output.shape() || x.rank() < 2) return {};
    const std::size_t d = x.shape().last(), count = x.shape()[x.rank() - 2];
    if (kind == Kind::ffn) return {block_diagonal_rows(x.name(), d, d)};
    if (attends_to_later(recorded, x)) return {};
    Identity masked{"0 from later tokens", x.name()};
    masked.zero = [=](std::size_t row, std::size_t column) { return column / d % count > row / d % count; };
    return {masked};
}

std::vector<Var<double>> Recorded::variables() const {
    std::vector<Var<double>> all = inputs;
    all.insert(all.end(), parameters.begin(), parameters.end());
    return all;
}

std::vector<std::size_t> Recorded::input_lines() const {
    std::vector<std::size_t> lines;
    for (const Var<double>& x : inputs) lines.push_back(x.line());
    return lines;
}

const std::vector<BlockEntry>& blocks() {
    static const std::vector<BlockEntry> all = [] {
        std::vector<BlockEntry> list;
        add_placements(list);
        add_variants(list);
        add_networks(list);
        add_stacks(list);
        return list;
    }();
    return all;
}

const BlockEntry& find_block(std::string_view name) {
    return find_named(blocks(), name, "block: there is no", "chalkgrad list blocks");
}

} // namespace chalkgrad::nn
