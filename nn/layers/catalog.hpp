// The catalogue of blocks: every placement, real families' blocks, FFNs, stacks, by name, small enough to check and to
// draw. `list blocks`, drawings, gradcheck and the pages for lectures walk this list.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <chalkgrad/autograd/check/identity.hpp>
#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad::nn {

/// A program on a tape, and what was put in.
struct Recorded {
    Var<double> output;
    std::vector<Var<double>> inputs;     ///< data
    std::vector<Var<double>> parameters; ///< in the order of first use
    /// Both, as gradcheck takes them.
    std::vector<Var<double>> variables() const;
    /// Where the data is on the tape: what graph_of() asks for.
    std::vector<std::size_t> input_lines() const;
};

struct BlockEntry {
    enum class Kind { block, ffn, stack };
    std::string name;
    std::string formula; ///< one line, for lists
    std::string section; ///< of the course
    Kind kind;
    /// Records it: parameters and inputs drawn from the seed, all of them off the values that hide faults (gains of 1, biases of
    /// 0); on a tape of shapes, shapes. Inputs and output are named "x" and "y"; the rest lies in scopes named as the modules.
    std::function<Recorded(const Tape&, std::uint64_t seed)> record;

    /// What is known of x without differentiating: with masked attentions only, no token depends on a later one; in an
    /// FFN, none depends on another. Nothing where every token sees every other, or of parameters alone.
    std::vector<Identity> identities(const Recorded& recorded) const;
};

/// All of them; the seven placements come first, in the order of the enum.
const std::vector<BlockEntry>& blocks();
/// The one of that name; throws Error naming the close ones.
const BlockEntry& find_block(std::string_view name);

} // namespace chalkgrad::nn
