// Pool: 64-byte-aligned buffers that are handed out again, so that a steady loop allocates nothing.
#pragma once // internal

#include <cstddef>
#include <memory>
#include <vector>

namespace chalkgrad {

/// Free lists by size class. Belongs to one thread at a time; tapes of that thread may share it. Throws std::bad_alloc.
class Pool {
public:
    Pool() = default;
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool();

    /// A buffer of at least `bytes` bytes, uninitialised, aligned to 64 bytes; nullptr for 0 bytes.
    void* take(std::size_t bytes);
    /// Gives back what take(bytes) returned, with the same `bytes`.
    void give(void* buffer, std::size_t bytes) noexcept;

    /// How many buffers came from the system so far: constant in a steady loop.
    std::size_t fresh() const { return fresh_; }
    /// Bytes of the buffers that are in use or waiting in the free lists.
    std::size_t bytes() const { return bytes_; }

private:
    std::vector<std::vector<void*>> free_;
    std::size_t fresh_ = 0;
    std::size_t bytes_ = 0;
};

/// Working memory of a rule for `count` elements of a trivially copyable T, recycled per thread; uninitialised.
template <class T> class Scratch {
public:
    explicit Scratch(std::size_t count)
        : bytes_(count * sizeof(T)), data_(count == 0 ? nullptr : static_cast<T*>(pool().take(bytes_))) {}
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() {
        if (data_ != nullptr) pool().give(data_, bytes_);
    }

    T* data() { return data_; }
    T& operator[](std::size_t i) { return data_[i]; }

private:
    static Pool& pool();
    std::size_t bytes_;
    T* data_;
};

namespace detail {
Pool& scratch_pool();
}

template <class T> Pool& Scratch<T>::pool() { return detail::scratch_pool(); }

} // namespace chalkgrad
