// Sums over the tensor list: the integers and the formulas come from the same shapes.
#include <chalkgrad/nn/models/tensors.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/base/text.hpp>

namespace chalkgrad::nn {
namespace {

/// A sum of products of letters with whole coefficients, in order of appearance.
class Polynomial {
public:
    void add(const ModelTensor& tensor) {
        const std::string letters = in_order(tensor.letters);
        const auto same =
            std::find_if(terms_.begin(), terms_.end(), [&](const Term& t) { return t.letters == letters; });
        if (same == terms_.end()) terms_.push_back({tensor.factor, letters});
        else same->factor = checked_sum(same->factor, tensor.factor, "a formula");
    }

    std::string text() const {
        std::vector<std::string> parts;
        for (const Term& term : terms_) parts.push_back(term.text());
        return fmt::format("{}", fmt::join(parts, " + "));
    }

private:
    struct Term {
        std::int64_t factor;
        std::string letters;

        std::string text() const {
            std::string out = factor == 1 && !letters.empty() ? "" : with_commas(factor);
            if (out.size() > 3 && !letters.empty()) out += " ";
            for (std::size_t i = 0; i < letters.size();) {
                std::size_t end = i;
                while (end < letters.size() && letters[end] == letters[i]) ++end;
                out += letters[i];
                if (end - i == 2) out += "²";
                if (end - i == 3) out += "³";
                i = end;
            }
            return out;
        }
    };

    /// As the course writes products: V before d, d before heads, widths last.
    static std::string in_order(std::string letters) {
        static constexpr std::string_view order = "EVPndHKIhqcrvgoifms";
        std::sort(letters.begin(), letters.end(), [](char a, char b) { return order.find(a) < order.find(b); });
        return letters;
    }

    std::vector<Term> terms_;
};

/// The number with at most four decimals, or nothing where it has more.
std::optional<std::string> short_number(double number) {
    const double scaled = number * 10'000;
    if (!(std::abs(scaled) < 1e15) || std::round(scaled) != scaled) return {};
    return number == 1 ? "" : fmt::format("{}", number);
}

/// Matrices as multiples of d², vectors of d, 2d, … features as multiples of d, the rest as a number.
std::string over_width(const std::vector<ModelTensor>& tensors, std::int64_t width) {
    std::int64_t matrices = 0, vectors = 0, rest = 0;
    for (const ModelTensor& tensor : tensors) {
        std::int64_t& sum = tensor.matrix ? matrices : tensor.elements % width == 0 ? vectors : rest;
        sum = checked_sum(sum, tensor.elements, "a block");
    }
    const auto d = static_cast<double>(width);
    const auto square = short_number(static_cast<double>(matrices) / (d * d)),
               line = short_number(static_cast<double>(vectors) / d);
    if (!square || !line || matrices == 0) return "";
    std::string text = *square + "d²";
    if (vectors > 0) text += " + " + *line + "d";
    if (rest > 0) text += " + " + with_commas(rest);
    return text;
}

std::int64_t sum_of(const std::vector<ModelTensor>& tensors) {
    std::int64_t sum = 0;
    for (const ModelTensor& tensor : tensors) sum = checked_sum(sum, tensor.elements, "the model");
    return sum;
}

std::string formula_of(const ModelTensors& tensors, const ModelLedger& ledger) {
    Polynomial tables, rest; // as the course: embeddings and head, blocks, and what is left
    std::int64_t tower = 0;
    for (const ModelTensor& tensor : tensors.outer) {
        if (tensor.component == "vision" || tensor.component == "projector") tower += tensor.elements;
        else (tensor.component == "embed" || tensor.component == "lm_head" ? tables : rest).add(tensor);
    }
    const auto with_blocks = [&](const auto& of_block) {
        std::vector<std::string> parts = {tables.text()};
        for (const BlockCount& block : ledger.blocks)
            parts.push_back(block.count == 1 ? of_block(block) : fmt::format("{}({})", block.count, of_block(block)));
        if (!rest.text().empty()) parts.push_back(rest.text());
        if (tower > 0) parts.push_back(with_commas(tower) + " (image encoder)");
        return fmt::format("{}", fmt::join(parts, " + "));
    };
    // With several kinds of blocks, their formulas stand beside them, and here their numbers.
    if (ledger.blocks.size() > 1)
        return with_blocks([](const BlockCount& block) { return with_commas(block.parameters); }) + " = " +
               with_commas(ledger.distinct);
    std::string text = with_blocks([](const BlockCount& block) { return block.formula; });
    if (!ledger.blocks[0].in_width.empty())
        text += " = " + with_blocks([](const BlockCount& block) { return block.in_width; });
    return text + " = " + with_commas(ledger.distinct);
}

/// What a checkpoint may store again, and what it stores although no gradient reaches it.
void add_stored(const ModelDescription& m, ModelLedger& ledger) {
    const auto add = [](auto& list, std::int64_t& total, const char* name, std::int64_t copies, std::int64_t numbers) {
        if (copies == 0) return;
        list.push_back({name, checked_product(copies, numbers, name)});
        total = checked_sum(total, list.back().elements, name);
    };
    const std::int64_t table = checked_product(m.vocabulary, m.width, "the embedding");
    add(ledger.tied, ledger.stored_aliases, "the output head, tied to the embedding", m.tied, table);
    add(ledger.tied, ledger.stored_aliases, "embedding and head, shared with multi-token prediction",
        2 * m.extra_layers, table);
    if (!m.experts) return;
    std::int64_t corrected = m.extra_layers, hashed = 0;
    for (const LayerFacts& layer : m.stacks[0].layers) (layer.hash_routed ? hashed : corrected) += layer.experts;
    add(ledger.kept, ledger.buffers, "correction of the experts' choice", m.experts->correction_buffer ? corrected : 0,
        m.experts->count);
    add(ledger.kept, ledger.buffers, "frozen tables that route by token", hashed,
        checked_product(m.vocabulary, m.experts->chosen, "a buffer"));
}

} // namespace

ModelLedger model_ledger(const ModelDescription& model) {
    const ModelTensors tensors = tensors_of(model);
    ModelLedger ledger;
    ledger.letters = tensors.letters;
    std::int64_t idle = 0; // in experts that a token does not choose
    const auto enter = [&](const ModelTensor& tensor, std::int64_t copies) {
        const std::int64_t n = checked_product(tensor.elements, copies, tensor.component);
        auto entry = std::find_if(ledger.components.begin(), ledger.components.end(),
            [&](const auto& c) { return c.first == tensor.component; });
        if (entry == ledger.components.end()) entry = ledger.components.insert(entry, {tensor.component, 0});
        entry->second = checked_sum(entry->second, n, tensor.component);
        ledger.distinct = checked_sum(ledger.distinct, n, "the model");
        if (tensor.routed) idle += n / model.experts->count * (model.experts->count - model.experts->chosen);
    };
    // Embeddings first, heads and towers last: the way data goes.
    const auto is_input = [](const ModelTensor& tensor) { return tensor.component.find("embed") != std::string::npos; };
    for (const ModelTensor& tensor : tensors.outer)
        if (is_input(tensor)) enter(tensor, 1);
    for (const BlockTensors& block : tensors.blocks) {
        Polynomial formula;
        for (const ModelTensor& tensor : block.tensors) {
            enter(tensor, block.copies);
            formula.add(tensor);
        }
        ledger.blocks.push_back(
            {block.path, block.copies, sum_of(block.tensors), formula.text(), over_width(block.tensors, model.width)});
    }
    for (const ModelTensor& tensor : tensors.outer)
        if (!is_input(tensor)) enter(tensor, 1);
    add_stored(model, ledger);
    ledger.active_per_token = ledger.distinct - idle;
    ledger.formula = formula_of(tensors, ledger);
    return ledger;
}

} // namespace chalkgrad::nn
