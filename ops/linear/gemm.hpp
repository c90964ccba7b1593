// Matrix products of plain memory: C = op(A) op(B) (+ C).
#pragma once // internal

#include <cstddef>

namespace chalkgrad {

/// Whether a factor is taken as it is stored or transposed.
enum class Factor : bool { plain, transposed };

/// c (m, n) = β c + op(a) op(b), op(a) being (m, k) and op(b) (k, n); β is 0 (c is only written) or 1. Row-major with row lengths
/// lda, ldb, ldc of the arrays as stored. One thread. double and float: OpenBLAS, and plain loops for a handful of
/// numbers; Dual: three products of double; long double: plain loops. Throws Error for extents that BLAS cannot count.
template <class T>
void gemm(Factor op_a, Factor op_b, std::size_t m, std::size_t n, std::size_t k, const T* a, std::size_t lda,
    const T* b, std::size_t ldb, int beta, T* c, std::size_t ldc);

} // namespace chalkgrad
