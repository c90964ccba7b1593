// The names of a manifest that are modules: FFNs, blocks and stacks, built from a case's attributes.
#pragma once

#include <chalkgrad/ops/catalog/catalog.hpp>

namespace chalkgrad::nn {

/// block, stack3, ffn_mlp and the gated *_mlp, called like ops: the inputs stand for the module's parameters.
const std::vector<CatalogEntry>& parity_modules();

} // namespace chalkgrad::nn
