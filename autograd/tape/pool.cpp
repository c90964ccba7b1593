// Buffers by size class: multiples of 64 bytes up to 4 KiB, then four classes for each doubling.
#include <chalkgrad/autograd/tape/pool.hpp>

#include <bit>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace chalkgrad {
namespace {

struct SizeClass {
    std::size_t index;
    std::size_t bytes;
};

SizeClass size_class(std::size_t bytes) {
    constexpr std::size_t line = 64, lines_exact = 64;
    const std::size_t lines = (bytes + line - 1) / line;
    if (lines <= lines_exact) return {lines, lines * line};
    const std::size_t octave = std::bit_width(lines - 1) - 1; // 2^octave < lines <= 2^(octave + 1)
    const std::size_t quarter = (std::size_t(1) << octave) / 4;
    const std::size_t step = (lines - (std::size_t(1) << octave) + quarter - 1) / quarter; // 1 … 4
    return {lines_exact + 1 + (octave - 6) * 4 + (step - 1), ((std::size_t(1) << octave) + step * quarter) * line};
}

} // namespace

Pool::~Pool() {
    for (auto& list : free_)
        for (void* buffer : list) std::free(buffer);
}

void* Pool::take(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    if (bytes > (std::size_t(1) << 48)) throw std::bad_alloc();
    const SizeClass c = size_class(bytes);
    if (free_.size() <= c.index) free_.resize(c.index + 1);
    auto& list = free_[c.index];
    void* buffer = nullptr;
    if (list.empty()) {
        buffer = std::aligned_alloc(64, c.bytes);
        if (buffer == nullptr) throw std::bad_alloc();
        ++fresh_;
        bytes_ += c.bytes;
    } else {
        buffer = list.back();
        list.pop_back();
    }
    ASAN_UNPOISON_MEMORY_REGION(buffer, bytes);
    ASAN_POISON_MEMORY_REGION(static_cast<char*>(buffer) + bytes, c.bytes - bytes);
    return buffer;
}

void Pool::give(void* buffer, std::size_t bytes) noexcept {
    if (buffer == nullptr) return;
    const SizeClass c = size_class(bytes);
    try {
        free_[c.index].push_back(buffer);
        ASAN_POISON_MEMORY_REGION(buffer, c.bytes);
    } catch (const std::bad_alloc&) { // no room to remember it: return it to the system
        ASAN_UNPOISON_MEMORY_REGION(buffer, c.bytes);
        std::free(buffer);
        bytes_ -= c.bytes;
    }
}

namespace detail {
Pool& scratch_pool() {
    thread_local Pool pool;
    return pool;
}
} // namespace detail

} // namespace chalkgrad
