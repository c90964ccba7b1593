// NumPy's default_rng in C++: the same numbers, bit for bit, for the same seed and the same order of calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <chalkgrad/autograd/base/array.hpp>
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/shape.hpp>
#include <chalkgrad/autograd/numpy/pcg64.hpp>

namespace chalkgrad {

/// Whether `high` itself may be drawn.
enum class Endpoint : bool { open, closed };

/// `Generator rng(5)` is numpy.random.default_rng(5): every method below gives what NumPy 1.24's method of that name
/// gives and leaves the generator in the same state. An array is drawn in row-major order; its shape follows the
/// parameters: `rng.normal(0, 0.02, {3, 5})`. Integers, uniforms and raw words are exact everywhere; normals are exact
/// where the C library's exp and log1p round as glibc's do (they decide 1 draw in 70). One generator belongs to one
/// thread.
class Generator {
public:
    explicit Generator(const Seed& seed) : Generator(SeedSequence(seed)) {}
    explicit Generator(const SeedSequence& seed) : bits_(seed) {}

    /// The next 64-bit word (NumPy's bit_generator.random_raw).
    std::uint64_t raw() { return bits_.next64(); }
    /// Uniform in [0, 1): 53 random bits, 24 for float. T is double or float.
    template <class T = double> T random() {
        return one<T>([this](auto out) { this->fill_random(out); });
    }
    /// Mean 0, variance 1, by a ziggurat of 256 layers. T is double or float.
    template <class T = double> T standard_normal() {
        return one<T>([this](auto out) { this->fill_standard_normal(out); });
    }
    /// loc + scale · standard_normal(). Throws Error unless scale >= 0.
    double normal(double loc, double scale) {
        return one<double>([=, this](auto out) { this->fill_normal(loc, scale, out); });
    }
    /// low + (high − low) · random(). Throws Error unless high − low is finite and >= 0.
    double uniform(double low, double high) {
        return one<double>([=, this](auto out) { this->fill_uniform(low, high, out); });
    }
    /// Uniform in [low, high), or [low, high] when closed. I is bool or an integer of 8 to 64 bits; the stream depends
    /// on its width, as in NumPy. Throws Error when the range is empty or not all of it fits I.
    template <class I = std::int64_t> I integers(int128 low, int128 high, Endpoint endpoint = Endpoint::open) {
        return one<I>([=, this](auto out) { this->fill_integers(low, high, out, endpoint); });
    }

    Array<std::uint64_t> raw(const Shape& shape) {
        return array<std::uint64_t>(shape, [this](auto out) { this->fill_raw(out); });
    }
    template <class T = double> Array<T> random(const Shape& shape) {
        return array<T>(shape, [this](auto out) { this->fill_random(out); });
    }
    template <class T = double> Array<T> standard_normal(const Shape& shape) {
        return array<T>(shape, [this](auto out) { this->fill_standard_normal(out); });
    }
    Array<double> normal(double loc, double scale, const Shape& shape) {
        return array<double>(shape, [=, this](auto out) { this->fill_normal(loc, scale, out); });
    }
    Array<double> uniform(double low, double high, const Shape& shape) {
        return array<double>(shape, [=, this](auto out) { this->fill_uniform(low, high, out); });
    }
    template <class I = std::int64_t>
    Array<I> integers(int128 low, int128 high, const Shape& shape, Endpoint endpoint = Endpoint::open) {
        return array<I>(shape, [=, this](auto out) { this->fill_integers(low, high, out, endpoint); });
    }

    /// The same draws into memory of the caller's.
    void fill_raw(std::span<std::uint64_t> out);
    void fill_random(std::span<double> out);
    void fill_random(std::span<float> out);
    void fill_standard_normal(std::span<double> out);
    void fill_standard_normal(std::span<float> out);
    void fill_normal(double loc, double scale, std::span<double> out);
    void fill_uniform(double low, double high, std::span<double> out);
    template <class I>
    void fill_integers(int128 low, int128 high, std::span<I> out, Endpoint endpoint = Endpoint::open);

    /// Shuffles a range in place (Fisher and Yates, from the back).
    template <std::random_access_iterator It> void shuffle(It first, It last) {
        for (auto i = last - first - 1; i > 0; --i) std::iter_swap(first + i, first + index_up_to(i));
    }
    /// Shuffles along the first axis: the rows of a matrix change places as wholes. Throws Error for a 0-d array.
    template <class T> void shuffle(Array<T>& x) {
        if (x.dimension() == 0) throw Error("shuffle: a 0-d array has no order; give at least one axis");
        const std::size_t rows = x.shape()[0];
        const std::size_t row = rows == 0 ? 0 : x.size() / rows;
        for (std::size_t i = rows; i-- > 1;) {
            T* const a = x.data() + i * row;
            T* const b = x.data() + index_up_to(i) * row;
            if (a != b) std::swap_ranges(a, a + row, b);
        }
    }
    /// 0, 1, …, n − 1 in random order.
    Array<std::int64_t> permutation(std::size_t n) {
        Array<std::int64_t> x = Array<std::int64_t>::from_shape({n});
        std::iota(x.begin(), x.end(), std::int64_t{0});
        shuffle(x);
        return x;
    }
    /// A copy shuffled along the first axis.
    template <class T> Array<T> permutation(Array<T> x) {
        shuffle(x);
        return x;
    }

    /// Where the stream stands.
    const Pcg64& bits() const { return bits_; }

private:
    template <class T, class Fill> static T one(Fill fill) {
        T x;
        fill(std::span<T>(&x, 1));
        return x;
    }
    template <class T, class Fill> static Array<T> array(const Shape& shape, Fill fill) {
        Array<T> x = Array<T>::from_shape(std::vector<std::size_t>(shape.begin(), shape.end()));
        fill(std::span<T>(x.data(), x.size()));
        return x;
    }
    /// Uniform in 0 … last, last > 0.
    std::size_t index_up_to(std::size_t last);

    Pcg64 bits_;
};

} // namespace chalkgrad
