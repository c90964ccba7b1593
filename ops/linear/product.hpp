// Products of small matrices inside kernels. A block of the result, 6 rows of two registers, stays in registers while
// its terms are added: 12 sums under way hide the time that each addition takes. Measured on AVX2, double, 48 × 96 ×
// 32: 55 GFLOP/s of 57.6; OpenBLAS 44, since it packs both factors first.
#pragma once // internal

#include <chalkgrad/autograd/kernel/kernel.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

/// What stands side by side in one register; a single number for the scalars that have no vectors.
template <class T> struct Register {
    using type = T;
    static constexpr std::size_t width = 1;
};
#ifdef __AVX2__
#define CHALKGRAD_REGISTER_BYTES 32
#else
#define CHALKGRAD_REGISTER_BYTES 16
#endif
#define CHALKGRAD_REGISTER(T)                                                                                  \
    template <> struct Register<T> {                                                                           \
        typedef T type __attribute__((vector_size(CHALKGRAD_REGISTER_BYTES), aligned(alignof(T)), may_alias)); \
        static constexpr std::size_t width = CHALKGRAD_REGISTER_BYTES / sizeof(T);                             \
    };
CHALKGRAD_REGISTER(float)
CHALKGRAD_REGISTER(double)
#undef CHALKGRAD_REGISTER
#undef CHALKGRAD_REGISTER_BYTES

template <class T> struct SingleNumber {
    using type = T;
    static constexpr std::size_t width = 1;
};

/// How many numbers of a row of C are one full block: a caller that pads its rows to this much spares product the rest.
template <class T> inline constexpr std::size_t product_width = 2 * Register<T>::width;

/// The left factor: its element (i, l) is data[i·row + l·term], so a transposed one costs nothing.
template <class T> struct LeftFactor {
    const T* data;
    std::size_t row, term;
};

/// What a few rows of C need: columns [from, to), each a sum over terms [first, last).
struct ProductPart {
    std::size_t from, to, first, last;
};

// C = A B, or C += A B, for `rows` rows and `columns` registers of C.
template <class R, std::size_t rows, std::size_t columns, class T>
void product_block(
    std::size_t terms, LeftFactor<T> a, const T* b, std::size_t b_row, bool add, T* c, std::size_t c_row) {
    using V = typename R::type;
    V sums[rows][columns]; // no references to them: those would have to lie on a whole register's bytes
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) sums[i][j] = V{};
    for (std::size_t l = 0; l < terms; ++l, a.data += a.term, b += b_row) {
        V right[columns];
        for (std::size_t j = 0; j < columns; ++j) right[j] = *reinterpret_cast<const V*>(b + j * R::width);
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j) sums[i][j] += a.data[i * a.row] * right[j];
    }
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) {
            V* const target = reinterpret_cast<V*>(c + i * c_row + j * R::width);
            *target = add ? *target + sums[i][j] : sums[i][j];
        }
}

template <class R, std::size_t rows, std::size_t columns, class T>
FAST inline void product_columns(std::size_t& j, std::size_t end, std::size_t terms, LeftFactor<T> a, const T* b,
    std::size_t b_row, bool add, T* c, std::size_t c_row) {
    for (constexpr std::size_t step = columns * R::width; j + step <= end; j += step)
        product_block<R, rows, columns>(terms, a, b + j, b_row, add, c + j, c_row);
}

template <std::size_t rows, class T, class F>
FAST inline void product_rows(std::size_t& i, std::size_t m, std::size_t n, LeftFactor<T> a, const T* b,
    std::size_t b_row, bool add, T* c, std::size_t c_row, F part_of) {
    for (; i + rows <= m; i += rows) {
        const ProductPart part = part_of(i, rows);
        T* const ci = c + i * c_row;
        constexpr std::size_t width = product_width<T>;
        const std::size_t full = (part.to + width - 1) / width * width, end = full < n ? full : n;
        each_stretch<T, 512>(part.last - part.first, [=](std::size_t from, std::size_t to) FAST {
            const std::size_t first = part.first + from, terms = to - from;
            const LeftFactor<T> ai{a.data + i * a.row + first * a.term, a.row, a.term};
            const T* const bi = b + first * b_row;
            const bool more = add || from != 0;
            std::size_t j = part.from / width * width;
            product_columns<Register<T>, rows, 2>(j, end, terms, ai, bi, b_row, more, ci, c_row);
            product_columns<Register<T>, rows, 1>(j, end, terms, ai, bi, b_row, more, ci, c_row);
            product_columns<SingleNumber<T>, rows, 1>(j, end, terms, ai, bi, b_row, more, ci, c_row);
        });
    }
}

/// c (m, n) = a b, or c += a b where `add`: a has m rows, b (terms, n) and c are row-major with rows b_row and c_row
/// apart. part_of(i, rows) says what the rows i … i + rows − 1 need; the rest of them is left alone, or written where
/// it shares a full block with what is needed.
template <class T, class F>
FAST inline void product(std::size_t m, std::size_t n, LeftFactor<T> a, const T* b, std::size_t b_row, bool add, T* c,
    std::size_t c_row, F part_of) {
    std::size_t i = 0;
    product_rows<is_simd<T> ? 6 : 2>(i, m, n, a, b, b_row, add, c, c_row, part_of);
    product_rows<2>(i, m, n, a, b, b_row, add, c, c_row, part_of);
    product_rows<1>(i, m, n, a, b, b_row, add, c, c_row, part_of);
}

} // namespace chalkgrad::CHALKGRAD_ISA
