// Seeds as words, NumPy's SeedSequence, and the first state of PCG64.
#include <chalkgrad/autograd/numpy/pcg64.hpp>

#include <algorithm>

#include <chalkgrad/autograd/base/error.hpp>

namespace chalkgrad {
namespace {

/// The multiplicative hash both ways into and out of the pool: its constant moves on with every word.
class Hash {
public:
    Hash(std::uint32_t start, std::uint32_t multiplier) : constant_(start), multiplier_(multiplier) {}

    std::uint32_t operator()(std::uint32_t word) {
        word ^= constant_;
        constant_ *= multiplier_;
        word *= constant_;
        return word ^ word >> 16;
    }

private:
    std::uint32_t constant_;
    std::uint32_t multiplier_;
};

std::uint32_t mix(std::uint32_t into, std::uint32_t word) {
    const std::uint32_t mixed = 0xca01f9ddu * into - 0x4973f715u * word;
    return mixed ^ mixed >> 16;
}

} // namespace

Seed::Seed(uint128 n) {
    do {
        words_.push_back(static_cast<std::uint32_t>(n));
        n >>= 32;
    } while (n != 0);
}

Seed::Seed(std::initializer_list<std::uint64_t> numbers) {
    for (const std::uint64_t n : numbers) append(Seed(static_cast<uint128>(n)));
}

Seed Seed::parse(std::string_view digits) {
    const bool whole =
        !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!whole)
        throw Error("Seed: '" + std::string(digits) + "' is no seed; give a whole number >= 0 in decimal digits");
    Seed seed(0);
    for (const char c : digits) { // words = 10 words + digit
        std::uint64_t carry = static_cast<std::uint64_t>(c - '0');
        for (std::uint32_t& word : seed.words_) {
            carry += std::uint64_t{10} * word;
            word = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
        if (carry != 0) seed.words_.push_back(static_cast<std::uint32_t>(carry));
    }
    return seed;
}

Seed& Seed::append(const Seed& more) {
    const std::vector<std::uint32_t> words = more.words_; // `more` may be *this
    words_.insert(words_.end(), words.begin(), words.end());
    return *this;
}

void Seed::refuse_negative(const std::string& n) {
    throw Error("Seed: " + n + " is negative; give a whole number >= 0");
}

SeedSequence::SeedSequence(const Seed& entropy, std::vector<std::uint32_t> spawn_key, std::size_t pool_size)
    : pool_(pool_size) {
    if (pool_size < 4)
        throw Error("SeedSequence: a pool of " + std::to_string(pool_size) + " words is too small; take 4 or more");
    std::vector<std::uint32_t> words = entropy.words();
    // Zeros keep a short seed with a key apart from a longer seed without one.
    if (words.size() < pool_size && !spawn_key.empty()) words.resize(pool_size);
    words.insert(words.end(), spawn_key.begin(), spawn_key.end());

    Hash hash(0x43b0d7e5u, 0x931e8875u);
    for (std::size_t i = 0; i < pool_size; ++i) pool_[i] = hash(i < words.size() ? words[i] : 0);
    for (std::size_t from = 0; from < pool_size; ++from)
        for (std::size_t to = 0; to < pool_size; ++to)
            if (from != to) pool_[to] = mix(pool_[to], hash(pool_[from]));
    for (std::size_t i = pool_size; i < words.size(); ++i)
        for (std::uint32_t& to : pool_) to = mix(to, hash(words[i]));
}

std::vector<std::uint32_t> SeedSequence::generate_state32(std::size_t words) const {
    Hash hash(0x8b51f9ddu, 0x58f38dedu);
    std::vector<std::uint32_t> state(words);
    for (std::size_t i = 0; i < words; ++i) state[i] = hash(pool_[i % pool_.size()]);
    return state;
}

std::vector<std::uint64_t> SeedSequence::generate_state64(std::size_t words) const {
    const std::vector<std::uint32_t> halves = generate_state32(2 * words);
    std::vector<std::uint64_t> state(words);
    for (std::size_t i = 0; i < words; ++i) state[i] = std::uint64_t{halves[2 * i + 1]} << 32 | halves[2 * i];
    return state;
}

Pcg64::Pcg64(const SeedSequence& seed) {
    const std::vector<std::uint64_t> words = seed.generate_state64(4);
    increment_ = (uint128{words[2]} << 64 | words[3]) << 1 | 1;
    state_ = 0;
    step();
    state_ += uint128{words[0]} << 64 | words[1];
    step();
}

} // namespace chalkgrad
