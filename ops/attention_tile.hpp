// What the kernels of attention know of a tile: some rows of queries of one head, and all keys that any of them sees.
#pragma once

#include <cstddef>

namespace chalkgrad {

template <class T>
struct AttentionTile {
    std::size_t rows, keys;         ///< the scores of the tile are (rows, keys)
    const std::size_t *from, *to;   ///< the keys that each row sees
    T scale, cap;                   ///< a cap of 0 means none
    const T* mask;                  ///< of the first row and key; nullptr for none
    std::size_t mask_row, mask_key; ///< steps from row to row and from key to key, 0 where the mask repeats
};

} // namespace chalkgrad
