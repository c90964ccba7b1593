// SHA-256 (FIPS 180-4) for comparing long streams with their published digests.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/format.h>

inline std::string sha256(const void* data, std::size_t size) {
    // The constants are the first 32 bits of the fractions of the roots of the first primes.
    std::array<std::uint32_t, 64> k{};
    std::array<std::uint32_t, 8> h{};
    const auto fraction = [](long double x) { return static_cast<std::uint32_t>((x - std::floor(x)) * 0x1p32L); };
    for (unsigned n = 0, p = 2; n < 64; ++p) {
        bool prime = true;
        for (unsigned q = 2; q * q <= p; ++q) prime = prime && p % q != 0;
        if (!prime) continue;
        if (n < 8) h[n] = fraction(std::sqrt(static_cast<long double>(p)));
        k[n++] = fraction(std::cbrt(static_cast<long double>(p)));
    }

    std::string text(static_cast<const char*>(data), size);
    text += '\x80';
    while (text.size() % 64 != 56) text += '\0';
    for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(std::uint64_t{size} * 8 >> shift);

    for (std::size_t block = 0; block < text.size(); block += 64) {
        std::array<std::uint32_t, 64> w{};
        for (std::size_t i = 0; i < 64; ++i)
            w[i / 4 % 16] = w[i / 4 % 16] << 8 | static_cast<unsigned char>(text[block + i]);
        for (std::size_t i = 16; i < 64; ++i) {
            const std::uint32_t a = w[i - 15], b = w[i - 2];
            w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
                   (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
        }
        auto [a, b, c, d, e, f, g, z] = h;
        for (std::size_t i = 0; i < 64; ++i) {
            const std::uint32_t t1 =
                z + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i];
            const std::uint32_t t2 =
                (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
            z = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
        }
        const std::array<std::uint32_t, 8> add{a, b, c, d, e, f, g, z};
        for (std::size_t i = 0; i < 8; ++i) h[i] += add[i];
    }
    std::string digest;
    for (const std::uint32_t word : h) digest += fmt::format("{:08x}", word);
    return digest;
}
