// The short lists that running an op needs, without a visit to the heap.
#pragma once // internal

#include <cstddef>
#include <vector>

namespace chalkgrad::detail {

/// A few items on the stack, or any number on the heap.
template <class Item, std::size_t few = 4> class SmallVector {
public:
    explicit SmallVector(std::size_t count) {
        if (count > few) large_.resize(count);
        items_ = large_.empty() ? small_ : large_.data();
    }
    Item& operator[](std::size_t i) { return items_[i]; }
    const Item& operator[](std::size_t i) const { return items_[i]; }
    const Item* data() const { return items_; }

private:
    Item small_[few]{};
    std::vector<Item> large_;
    Item* items_;
};

} // namespace chalkgrad::detail
