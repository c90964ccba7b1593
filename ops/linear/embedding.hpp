// Looks up rows of a table.
#pragma once

#include <cstdint>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// y[i…] = table[ids[i…]]: table (V, D), ids of any shape (…), y (…, D). A row that is looked up several times receives the
/// sum of the gradients, one that is not receives 0. Throws Error for an id outside 0 … V − 1.
template <class T> Var<T> embedding(const Var<T>& table, const Array<std::int64_t>& ids);

/// The same as a product with the ids as rows of a single 1.
template <class T> Var<T> embedding_composed(const Var<T>& table, const Array<std::int64_t>& ids);

} // namespace chalkgrad
