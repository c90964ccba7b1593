// Changes to a trained model, without training: its options by name, branches left out, weights rounded.
#pragma once // internal

#include <string>

#include <chalkgrad/nn/checkpoint/checkpoint.hpp>

namespace chalkgrad {

/// All that `set` knows, one line each: for help.
std::string changes_help();

/// NAME=VALUE, "norm.eps=1e-2", in every block; changes of norms in the final one too. Throws Error for an unknown name, a value
/// that it does not take, and what these weights cannot do.
void set(nn::Checkpoint& model, const std::string& change);

/// Leaves a branch out, "attention.3" or "ffn.0" (layers from 0): its last matrix writes zeros.
void leave_out(const nn::Checkpoint& model, const std::string& branch);

/// Rounds every weight to "bfloat16" or "half".
void round_weights(const nn::Checkpoint& model, const std::string& type);

} // namespace chalkgrad
