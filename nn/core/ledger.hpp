// The ledger of a module: how many parameters it has, of what kind, in which block; nothing is allocated or computed.
#pragma once

#include <cstdint>
#include <iosfwd>

#include <chalkgrad/nn/core/parameter.hpp>

namespace chalkgrad::nn {

/// a + b as a count; throws Error where it does not fit in 64 bits.
std::uint64_t add_counts(std::uint64_t a, std::uint64_t b);

struct Ledger {
    struct Entry {
        std::string name, component;
        Shape shape;
        std::string alias_of; ///< the name it was listed under first; empty for a parameter that is new
        bool buffer = false;
    };
    struct Component {
        std::string name;
        std::uint64_t parameters = 0;
    };
    /// Blocks of one list, "layers", with equally many parameters.
    struct Blocks {
        std::string first; ///< "layers.0"
        std::uint64_t count = 0;
        std::uint64_t parameters = 0; ///< of each
    };

    std::vector<Entry> entries;
    std::uint64_t distinct = 0;        ///< learned numbers, each counted once however often it is used (course §10)
    std::uint64_t aliases = 0;         ///< what storing tied weights under each name would add
    std::uint64_t buffers = 0;         ///< numbers that are kept, not learned
    std::vector<Component> components; ///< of the distinct ones, in order of first appearance
    std::vector<Blocks> blocks;

    /// 0 for one that it does not have.
    std::uint64_t component(std::string_view name) const;
};

/// Throws Error where a count does not fit in 64 bits.
Ledger ledger_of(const std::vector<NamedParameter>& parameters);
template <class Module> Ledger ledger_of(const Module& module) { return ledger_of(parameters_of(module)); }

/// A table: components with their shares, blocks, and the totals.
std::ostream& operator<<(std::ostream& out, const Ledger& ledger);

} // namespace chalkgrad::nn
