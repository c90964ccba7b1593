// The ledger of a module.
#include <chalkgrad/nn/core/ledger.hpp>

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/text.hpp>

namespace chalkgrad::nn {
namespace {

/// "layers.3" of "layers.3.attention.wq": all up to the first number that stands between dots; empty without one.
std::string block_of(const std::string& name) {
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
        const std::size_t end = name.find('.', dot + 1);
        const std::string part = name.substr(dot + 1, end == std::string::npos ? end : end - dot - 1);
        if (end != std::string::npos && !part.empty() &&
            std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; }))
            return name.substr(0, end);
    }
    return {};
}

std::string list_of(const std::string& block) { return block.substr(0, block.rfind('.')); }

} // namespace

std::uint64_t add_counts(std::uint64_t a, std::uint64_t b) {
    std::uint64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) throw Error(fmt::format("ledger: {} + {} does not fit in 64 bits", a, b));
    return sum;
}

std::uint64_t Ledger::component(std::string_view name) const {
    for (const Component& c : components)
        if (c.name == name) return c.parameters;
    return 0;
}

Ledger ledger_of(const std::vector<NamedParameter>& parameters) {
    Ledger ledger;
    std::unordered_map<const void*, std::string> first_name;
    std::vector<std::pair<std::string, std::uint64_t>> blocks;
    for (const auto& [name, parameter] : parameters) {
        const std::uint64_t count = parameter.shape().size();
        const auto [known, is_new] = first_name.try_emplace(parameter.id(), name);
        ledger.entries.push_back(
            {name, parameter.component(), parameter.shape(), is_new ? "" : known->second, !parameter.learned()});
        if (const std::string block = block_of(name);
            !block.empty() && (blocks.empty() || blocks.back().first != block))
            blocks.emplace_back(block, 0);
        std::uint64_t& total = !is_new ? ledger.aliases : parameter.learned() ? ledger.distinct : ledger.buffers;
        total = add_counts(total, count);
        if (!is_new || !parameter.learned()) continue;
        auto component = std::find_if(ledger.components.begin(), ledger.components.end(),
            [&parameter = parameter](const Ledger::Component& c) { return c.name == parameter.component(); });
        if (component == ledger.components.end())
            component = ledger.components.insert(component, {parameter.component(), 0});
        component->parameters += count;
        if (!block_of(name).empty()) blocks.back().second += count;
    }
    for (const auto& [name, count] : blocks) {
        const auto alike = std::find_if(
            ledger.blocks.begin(), ledger.blocks.end(), [&name = name, &count = count](const Ledger::Blocks& b) {
                return b.parameters == count && list_of(b.first) == list_of(name);
            });
        if (alike == ledger.blocks.end()) ledger.blocks.push_back({name, 1, count});
        else ++alike->count;
    }
    return ledger;
}

std::ostream& operator<<(std::ostream& out, const Ledger& ledger) {
    std::size_t width = 10;
    for (const Ledger::Component& c : ledger.components) width = std::max(width, c.name.size());
    const double total = static_cast<double>(std::max<std::uint64_t>(ledger.distinct, 1));
    for (const Ledger::Component& c : ledger.components)
        out << fmt::format("{:{}} {:>20} {:6.2f} %\n", c.name, width, with_commas(c.parameters),
            100 * static_cast<double>(c.parameters) / total);
    out << fmt::format("{:{}} {:>20}\n", "distinct", width, with_commas(ledger.distinct));
    if (ledger.aliases != 0)
        out << fmt::format("{:{}} {:>20}  not counted again\n", "tied", width, with_commas(ledger.aliases));
    if (ledger.buffers != 0)
        out << fmt::format("{:{}} {:>20}  not learned\n", "buffers", width, with_commas(ledger.buffers));
    for (const Ledger::Blocks& b : ledger.blocks)
        out << fmt::format("{:{}} {:>20}  in each of {} block{}, from {} on\n", "block", width,
            with_commas(b.parameters), b.count, b.count == 1 ? "" : "s", b.first);
    return out;
}

} // namespace chalkgrad::nn
