// NumPy's seeding and source of bits, bit for bit: SeedSequence and PCG64 (128-bit state, XSL-RR output).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace chalkgrad {

__extension__ typedef unsigned __int128 uint128;
__extension__ typedef __int128 int128;

/// What seeds a stream: a whole number of any size or a list of them, kept as 32-bit words, lowest first.
class Seed {
public:
    /// default_rng(n). Throws Error when n < 0.
    template <std::integral I> Seed(I n) : Seed(static_cast<uint128>(n)) {
        if (n < 0) refuse_negative(std::to_string(n));
    }
    Seed(uint128 n);
    /// default_rng([a, b, …]): the words of the numbers one after another. Seed({5}) and Seed(5) are the same stream.
    Seed(std::initializer_list<std::uint64_t> numbers);

    /// A number in decimal digits, of any length. Throws Error for anything else.
    static Seed parse(std::string_view digits);
    /// The list form for numbers of any size: `more`'s words after these.
    Seed& append(const Seed& more);

    const std::vector<std::uint32_t>& words() const { return words_; }

private:
    [[noreturn]] static void refuse_negative(const std::string& n);

    std::vector<std::uint32_t> words_;
};

/// Spreads a seed over a pool of words, from which generators take their first state (NumPy's SeedSequence, after
/// M. E. O'Neill's seed_seq_fe). Independent streams of one seed differ in `spawn_key`: NumPy's i-th spawned child has
/// the parent's key with i appended.
class SeedSequence {
public:
    /// Throws Error when pool_size < 4.
    explicit SeedSequence(const Seed& entropy, std::vector<std::uint32_t> spawn_key = {}, std::size_t pool_size = 4);

    const std::vector<std::uint32_t>& pool() const { return pool_; }
    std::vector<std::uint32_t> generate_state32(std::size_t words) const;
    std::vector<std::uint64_t> generate_state64(std::size_t words) const;

private:
    std::vector<std::uint32_t> pool_;
};

/// A 128-bit linear congruential generator whose state is folded and rotated into 64 bits (M. E. O'Neill, "PCG", 2014;
/// XSL-RR). A 32-bit draw takes the low half of a word and keeps the high half for the next one, as NumPy does.
class Pcg64 {
public:
    explicit Pcg64(const SeedSequence& seed);

    std::uint64_t next64() {
        step();
        const auto high = static_cast<std::uint64_t>(state_ >> 64);
        const std::uint64_t folded = high ^ static_cast<std::uint64_t>(state_);
        const auto turn = static_cast<unsigned>(high >> 58);
        return folded >> turn | folded << (-turn & 63);
    }

    std::uint32_t next32() {
        if (has_half_) {
            has_half_ = false;
            return half_;
        }
        const std::uint64_t word = next64();
        has_half_ = true;
        half_ = static_cast<std::uint32_t>(word >> 32);
        return static_cast<std::uint32_t>(word);
    }

    uint128 state() const { return state_; }
    uint128 increment() const { return increment_; }
    /// Whether the high half of a word is waiting (NumPy's has_uint32), and that half (its uinteger; stale if not).
    bool has_half() const { return has_half_; }
    std::uint32_t half() const { return half_; }

private:
    void step() {
        constexpr uint128 multiplier = uint128{0x2360ED051FC65DA4} << 64 | 0x4385DF649FCCF645;
        state_ = state_ * multiplier + increment_;
    }

    uint128 state_;
    uint128 increment_;
    bool has_half_ = false;
    std::uint32_t half_ = 0;
};

} // namespace chalkgrad
