// What `chalkgrad trace` and `chalkgrad present` show: a recorded computation, small enough to read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

struct TracedComputation {
    std::string name, title;         ///< "pre", "h + F(N(h))"
    Var<double> y;                   ///< the output: the sweep begins here
    std::vector<std::size_t> inputs; ///< the lines that are data, not parameters; may be empty
    Array<double> cotangent;         ///< what the sweep begins with, of y's shape
};

/// The block, op or experiment of that name. A block is recorded with few tokens and features, an op with its first
/// sample, an experiment runs and shows the tape it gave its report. The numbers are drawn from `seed`, and the
/// cotangent too: with ones, many faults would not show. Throws Error that begins with `command` for an unknown name
/// and for an experiment without a tape.
TracedComputation find_subject(const std::string& command, const std::string& name, std::uint64_t seed);

} // namespace chalkgrad
