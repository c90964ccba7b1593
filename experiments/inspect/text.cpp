// The inspector's answers for people: a table, and the four steps of course §20.
#include <chalkgrad/experiments/inspect/inspection.hpp>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/base/text.hpp>

namespace chalkgrad {
namespace {

/// One fact a line: a short name, then what holds.
class TextLines {
public:
    void add(std::string_view name, std::string_view fact) { plain("{:<12}{}", name, fact); }
    template <class... Args> void plain(fmt::format_string<Args...> line, Args&&... args) {
        text += fmt::format(line, std::forward<Args>(args)...) + '\n';
    }

    std::string text;
};

std::string norm_in_words(const nn::NormFacts& norm) {
    std::string words = norm.kind == "rms" ? "RMS norm" : "LayerNorm";
    words += fmt::format(", eps {:g}", norm.eps);
    if (norm.gain == "none") return words + ", no gain, no bias";
    words += norm.gain == "1+w" ? ", gain 1 + w (w stored around 0)" : ", gain w";
    if (norm.bias) words += ", bias";
    if (norm.cast == "fp32") return words + ", all in float";
    return words + (norm.cast == "before_weight" ? ", cast back before the gain" : ", cast back after the gain");
}

std::string qk_in_words(const nn::QkNormFacts& qk) {
    if (qk.axis == "none") return "none";
    return fmt::format("{} {}{}{}", qk.kind == "rms" ? "RMS norm" : "LayerNorm",
        qk.axis == "per_head" ? "within each head" : "over the whole projection, all heads together",
        qk.learned ? qk.per_head_gain ? ", a gain for each head" : ", learned gain" : ", no gain",
        qk.note.empty() ? "" : fmt::format(" ({})", qk.note));
}

std::string attention_in_words(const nn::ModelDescription& m) {
    const nn::AttentionFacts& a = m.attention;
    std::string words =
        a.latent ? fmt::format("{} heads of {} through latent vectors", a.heads, a.head_dim)
                 : fmt::format("{} query heads, {} KV heads, {} features each", a.heads, a.kv_heads, a.head_dim);
    words += fmt::format("; biases: {}", a.biases.empty() ? "none" : fmt::format("{}", fmt::join(a.biases, ", ")));
    if (a.window)
        words += fmt::format("; window {} on {}", *a.window, a.window_layers == "all" ? "all layers" : a.window_layers);
    if (a.softcap) words += fmt::format("; scores soft-capped at {:g}", *a.softcap);
    if (a.sinks) words += "; one sink logit a head";
    return words;
}

std::string positions_in_words(const nn::ModelDescription& m) {
    const nn::PositionFacts& p = m.positions;
    if (p.kind == "learned") return fmt::format("a learned table of {} rows", p.rows);
    if (p.kind == "relative") return fmt::format("a learned bias for {} distances, one table a stack", p.rows);
    if (p.kind != "rope") return std::string(p.kind);
    std::string words = fmt::format("RoPE on {} of {} features, {}, base {:.0f}", p.rotary_dim, m.attention.head_dim,
        p.interleaved ? "neighbours paired" : "halves paired", p.base);
    if (p.sliding_base) words += fmt::format(" ({:.0f} on sliding layers)", *p.sliding_base);
    if (p.stretch.kind != RopeScaling::Kind::none)
        words += fmt::format(", stretched {:g} times ({})", p.stretch.factor, name(p.stretch.kind));
    if (p.sliding_stretch.kind != RopeScaling::Kind::none)
        words +=
            fmt::format(", on sliding layers {:g} times ({})", p.sliding_stretch.factor, name(p.sliding_stretch.kind));
    return words;
}

std::string activation_formula(const nn::FfnFacts& ffn) {
    if (ffn.activation == "gpt_oss")
        return fmt::format("min(g, {0:g}) sigmoid(1.702 g) (clip(u, {0:g}) + 1)", ffn.limit.value_or(7));
    if (ffn.gated && ffn.limit) return fmt::format("{0}(min(g, {1:g})) clip(u, {1:g})", ffn.activation, *ffn.limit);
    return ffn.gated ? fmt::format("{}(g) u", ffn.activation) : fmt::format("{}(x)", ffn.activation);
}

std::string ffn_in_words(const nn::ModelDescription& m) {
    const nn::FfnFacts& ffn = m.ffn;
    std::string words = fmt::format("{}: {}", ffn.kind, activation_formula(ffn));
    if (ffn.width > 0) words += fmt::format(", width {}", with_commas(ffn.width));
    if (ffn.gated) {
        const std::string_view packing = m.experts ? m.experts->packing : ffn.packing;
        words += packing == "separate"     ? ", gate and up stored apart"
                 : packing == "contiguous" ? ", gate and up stored as halves of one matrix"
                                           : ", gate and up interleaved in one matrix";
    }
    if (ffn.up_bias || ffn.down_bias || (m.experts && m.experts->bias)) words += ", with biases";
    return words;
}

std::string experts_in_words(const nn::ModelDescription& m) {
    const nn::ExpertFacts& e = *m.experts;
    const auto& layers = m.stacks[0].layers;
    const auto sparse = std::count_if(layers.begin(), layers.end(), [](const auto& layer) { return layer.experts; });
    std::string words = fmt::format("{} of {} of width {} a token, in {} of {} layers; {}", e.chosen, e.count,
        with_commas(e.width), sparse, layers.size(), e.routing);
    if (e.shared_width > 0) words += fmt::format("; a shared one of width {}", with_commas(e.shared_width));
    return words;
}

std::string stacks_in_words(const nn::ModelDescription& m) {
    std::vector<std::string> parts;
    for (const nn::StackFacts& stack : m.stacks)
        parts.push_back(fmt::format("{} x {} ({}{})", stack.layers.size(), stack.path,
            stack.causal ? "causal" : "sees both ways", stack.cross_attention ? ", with cross-attention" : ""));
    return fmt::format("{}", fmt::join(parts, ", "));
}

void add_facts(TextLines& lines, const nn::ModelDescription& m) {
    lines.add("model_type", m.model_type);
    lines.add(
        "placement", m.placement == nn::Placement::parallel
                         ? fmt::format("parallel, {} norm{} a block", m.parallel_norms, m.parallel_norms > 1 ? "s" : "")
                         : name(m.placement));
    lines.add("residual", m.residual());
    lines.add("norm", norm_in_words(m.norm));
    lines.add("Q/K norm", qk_in_words(m.attention.qk_norm));
    lines.add("attention", attention_in_words(m));
    lines.add("positions", positions_in_words(m));
    lines.add("FFN", ffn_in_words(m));
    if (m.experts) lines.add("experts", experts_in_words(m));
    lines.add("layers", stacks_in_words(m));
    if (m.streams > 1) lines.add("streams", fmt::format("{} residual streams", m.streams));
    lines.add("head", m.head == "none"      ? "none"
                      : m.head == "classes" ? fmt::format("{} classes", m.classes)
                      : m.tied              ? "tied to the embedding"
                                            : "a matrix of its own");
}

/// "2dHh + 3df = 13d² = 218,112,000": in letters, in widths where that is shorter, and the number.
std::string formula_of(const nn::BlockCount& block) {
    return fmt::format("{}{} = {}", block.formula, block.in_width.empty() ? "" : " = " + block.in_width,
        with_commas(block.parameters));
}

void add_ledger(TextLines& lines, const Inspection& inspection) {
    const nn::ModelLedger& ledger = inspection.ledger;
    std::vector<std::string> meanings;
    for (const nn::Letter& letter : ledger.letters)
        meanings.push_back(fmt::format("{} {} {}", letter.letter, letter.meaning, with_commas(letter.value)));
    lines.plain("Letters: {}", fmt::join(meanings, ", "));
    lines.plain("");
    lines.plain("{:<20}{:>20}{:>9}", "component", "parameters", "share");
    for (const auto& [name, count] : ledger.components)
        lines.plain("{:<20}{:>20}{:>8.2f}%", name, with_commas(count),
            100.0 * static_cast<double>(count) / static_cast<double>(ledger.distinct));
    lines.plain("{:<20}{:>20}", "distinct", with_commas(ledger.distinct));
    if (ledger.active_per_token != ledger.distinct)
        lines.plain("{:<20}{:>20}{:>8.2f}%", "active a token", with_commas(ledger.active_per_token),
            100.0 * static_cast<double>(ledger.active_per_token) / static_cast<double>(ledger.distinct));
    for (const nn::StoredTensor& alias : ledger.tied)
        lines.plain("{:<20}{:>20}  not counted: {}; a checkpoint may store it again", "alias",
            with_commas(alias.elements), alias.name);
    for (const nn::StoredTensor& buffer : ledger.kept)
        lines.plain("{:<20}{:>20}  not counted: {}", "buffer", with_commas(buffer.elements), buffer.name);
    lines.plain("");
    for (const nn::BlockCount& block : ledger.blocks) {
        lines.plain("{} x block as {}", block.count, block.first);
        lines.plain("    {}", formula_of(block));
    }
    lines.plain("model");
    lines.plain("    {}", ledger.formula);
}

void add_warnings(TextLines& lines, const nn::ModelDescription& m) {
    if (m.warnings.empty()) return;
    lines.plain("");
    lines.plain("Mind:");
    for (const std::string& warning : m.warnings) lines.plain("- {}", warning);
}

std::string norm_places(const nn::ModelDescription& m) {
    if (m.placement == nn::Placement::pre)
        return "on the input of attention and on the input of the FFN; the residual line itself is never normalised";
    if (m.placement == nn::Placement::post) return "after each addition: the residual line passes through every norm";
    if (m.placement == nn::Placement::peri)
        return "on the input and on the output of both sublayers; the residual line itself is never normalised";
    if (m.placement == nn::Placement::output_only)
        return "on the output of each sublayer, before it is added; no norm on the input";
    if (m.placement == nn::Placement::parallel)
        return m.parallel_norms == 1 ? "once, on the block's input, for both branches"
                                     : "on the block's input, one norm for each branch";
    return "on the mixed input of attention and on that of the FFN";
}

} // namespace

std::string to_text(const Inspection& inspection) {
    TextLines lines;
    add_facts(lines, inspection.model);
    lines.plain("");
    add_ledger(lines, inspection);
    add_warnings(lines, inspection.model);
    return lines.text;
}

std::string explain(const Inspection& inspection) {
    const nn::ModelDescription& m = inspection.model;
    const nn::ModelLedger& ledger = inspection.ledger;
    TextLines lines;
    lines.plain("1. Trace the residual graph");
    lines.plain("   The state has {} features a token{}. Each of the {} blocks computes", with_commas(m.width),
        m.streams > 1 ? fmt::format(", in {} streams", m.streams) : "", m.layer_count());
    lines.plain("       {}", m.residual());
    lines.plain("{}",
        m.placement == nn::Placement::parallel ? "   Attention and FFN read the same state; one addition takes both."
        : m.streams > 1
            ? "   A learned, nearly doubly stochastic matrix mixes the streams; attention, then the FFN, read "
              "a mixture."
            : "   Attention updates the state first, the FFN reads the updated state: two additions.");
    for (const nn::StackFacts& stack : m.stacks)
        if (stack.cross_attention)
            lines.plain("   The decoder adds a third step between them: attention to the encoder's output.");

    lines.plain("2. Locate the norms");
    lines.plain("   {}.", norm_in_words(m.norm));
    lines.plain("   Axis: the {} features of one token. They sit {}.", with_commas(m.width), norm_places(m));
    lines.plain("   After the last block: {}.", m.final_norm ? "one more norm" : "no further norm");
    lines.plain("   Queries and keys: {}.", qk_in_words(m.attention.qk_norm));

    lines.plain("3. Inspect the FFN");
    lines.plain("   {}.", ffn_in_words(m));
    lines.plain("{}", m.ffn.gated
                          ? "   Both branches, g = x Wgate and u = x Wup, meet in a product; Wdown brings it back to "
                            "the width: three matrices."
                          : "   One branch: up, activation, down: two matrices.");
    if (m.experts) lines.plain("   Experts: {}.", experts_in_words(m));

    lines.plain("4. Count the parameters");
    for (const nn::BlockCount& block : ledger.blocks) lines.plain("   {} x block: {}", block.count, formula_of(block));
    lines.plain("   Model: {}", ledger.formula);
    if (ledger.active_per_token != ledger.distinct)
        lines.plain(
            "   One token uses {} of them: experts it does not choose rest.", with_commas(ledger.active_per_token));
    if (ledger.stored_aliases > 0)
        lines.plain("   A tensor in two places counts once; a checkpoint that stores it again holds {} more.",
            with_commas(ledger.stored_aliases));
    add_warnings(lines, m);
    return lines.text;
}

} // namespace chalkgrad
