// The one file that talks to BLAS.
#include <chalkgrad/ops/linear/gemm.hpp>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <string>

#include <cblas.h>

#include <chalkgrad/autograd/base/dual.hpp>
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/tape/pool.hpp>

// Declared here because only OpenBLAS has it; absent in another BLAS.
extern "C" __attribute__((weak)) void openblas_set_num_threads(int);

namespace chalkgrad {
namespace {

/// Four columns of c, whose sums stay in registers: storing a long double costs more than its product. `x` and `y` are the
/// first row and column; their terms lie `step` apart.
template <class T, class Y>
void four_columns(std::size_t m, std::size_t k, const T* a, std::size_t a_row, std::size_t a_step, const Y* y,
    std::size_t column, std::size_t y_step, int beta, T* c, std::size_t ldc) {
    for (std::size_t i = 0; i < m; ++i, a += a_row, c += ldc) {
        T s0(0), s1(0), s2(0), s3(0);
        for (std::size_t l = 0; l < k; ++l) {
            const T x = a[l * a_step];
            const Y* yl = y + l * y_step;
            s0 += x * yl[0], s1 += x * yl[column], s2 += x * yl[2 * column], s3 += x * yl[3 * column];
        }
        const T sums[] = {s0, s1, s2, s3};
        for (std::size_t q = 0; q < 4; ++q) c[q] = beta == 0 ? sums[q] : c[q] + sums[q];
    }
}

// Loading a long double costs more than multiplying it. Mostly b is a weight that nobody moves, whose numbers are doubles:
// four columns at a time are copied as such where that is exact, and where there are rows enough to be worth it.
template <class T>
void loops(Factor op_a, Factor op_b, std::size_t m, std::size_t n, std::size_t k, const T* a, std::size_t lda,
    const T* b, std::size_t ldb, int beta, T* c, std::size_t ldc) {
    const std::size_t a_row = op_a == Factor::plain ? lda : 1, a_step = op_a == Factor::plain ? 1 : lda;
    const std::size_t b_column = op_b == Factor::plain ? 1 : ldb, b_step = op_b == Factor::plain ? ldb : 1;
    Scratch<double> copy(std::is_same_v<T, long double> ? 4 * k : 0);
    const auto copied = [&](const T* y) {
        bool exact = std::is_same_v<T, long double> && m >= 4;
        if constexpr (std::is_same_v<T, long double>)
            for (std::size_t l = 0; l < k && exact; ++l)
                for (std::size_t q = 0; q < 4; ++q) {
                    const T v = y[l * b_step + q * b_column];
                    copy[l * 4 + q] = static_cast<double>(v);
                    exact = exact && static_cast<T>(copy[l * 4 + q]) == v;
                }
        return exact;
    };
    std::size_t j = 0;
    for (; j + 4 <= n; j += 4) {
        const T* y = b + j * b_column;
        if (copied(y)) four_columns(m, k, a, a_row, a_step, copy.data(), 1, 4, beta, c + j, ldc);
        else four_columns(m, k, a, a_row, a_step, y, b_column, b_step, beta, c + j, ldc);
    }
    for (; j < n; ++j)
        for (std::size_t i = 0; i < m; ++i) {
            T s(0);
            for (std::size_t l = 0; l < k; ++l) s += a[i * a_row + l * a_step] * b[j * b_column + l * b_step];
            c[i * ldc + j] = beta == 0 ? s : c[i * ldc + j] + s;
        }
}

int blas_int(std::size_t extent) {
    if (extent > INT_MAX)
        throw Error(
            "matmul: an extent of " + std::to_string(extent) + " is more than BLAS can count; split the matrix");
    return static_cast<int>(extent);
}

// One thread unless the environment says otherwise: on small products more threads only wait for each other.
void pin_threads() {
    [[maybe_unused]] static const bool once = [] {
        if (openblas_set_num_threads != nullptr && std::getenv("OPENBLAS_NUM_THREADS") == nullptr)
            openblas_set_num_threads(1);
        return true;
    }();
}

struct Double {
    static constexpr auto gemm = cblas_dgemm;
    static constexpr auto gemv = cblas_dgemv;
};
struct Single {
    static constexpr auto gemm = cblas_sgemm;
    static constexpr auto gemv = cblas_sgemv;
};

template <class Blas, class T>
void blas(Factor op_a, Factor op_b, std::size_t m, std::size_t n, std::size_t k, const T* a, std::size_t lda,
    const T* b, std::size_t ldb, int beta, T* c, std::size_t ldc) {
    pin_threads();
    const auto transpose = [](bool is) { return is ? CblasTrans : CblasNoTrans; };
    const bool ta = op_a == Factor::transposed, tb = op_b == Factor::transposed;
    const int bm = blas_int(m), bn = blas_int(n), bk = blas_int(k), la = blas_int(lda), lb = blas_int(ldb),
              lc = blas_int(ldc);
    const T one(1), factor(static_cast<T>(beta));
    if (n == 1) // c = op(a) b, b a column of stride 1 if transposed, else ldb
        Blas::gemv(CblasRowMajor, transpose(ta), ta ? bk : bm, ta ? bm : bk, one, a, la, b, tb ? 1 : lb, factor, c, lc);
    else if (m == 1) // cᵀ = op(b)ᵀ aᵀ
        Blas::gemv(CblasRowMajor, transpose(!tb), tb ? bn : bk, tb ? bk : bn, one, b, lb, a, ta ? la : 1, factor, c, 1);
    else Blas::gemm(CblasRowMajor, transpose(ta), transpose(tb), bm, bn, bk, one, a, la, b, lb, factor, c, lc);
}

/// Values and tangents of a factor as two matrices, packed in its stored order.
struct Split {
    Split(const Dual<double>* x, std::size_t rows, std::size_t columns, std::size_t ld)
        : v(rows * columns), d(rows * columns) {
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j) {
                v[i * columns + j] = x[i * ld + j].v;
                d[i * columns + j] = x[i * ld + j].d;
            }
    }
    Scratch<double> v, d;
};

/// d(AB) = dA B + A dB.
void duals(Factor op_a, Factor op_b, std::size_t m, std::size_t n, std::size_t k, const Dual<double>* a,
    std::size_t lda, const Dual<double>* b, std::size_t ldb, int beta, Dual<double>* c, std::size_t ldc) {
    const bool ta = op_a == Factor::transposed, tb = op_b == Factor::transposed;
    const std::size_t ca = ta ? m : k, cb = tb ? k : n;
    Split sa(a, ta ? k : m, ca, lda), sb(b, tb ? n : k, cb, ldb);
    Scratch<double> v(m * n), d(m * n);
    blas<Double>(op_a, op_b, m, n, k, sa.v.data(), ca, sb.v.data(), cb, 0, v.data(), n);
    blas<Double>(op_a, op_b, m, n, k, sa.d.data(), ca, sb.v.data(), cb, 0, d.data(), n);
    blas<Double>(op_a, op_b, m, n, k, sa.v.data(), ca, sb.d.data(), cb, 1, d.data(), n);
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) {
            const Dual<double> product(v[i * n + j], d[i * n + j]);
            Dual<double>& cij = c[i * ldc + j];
            cij = beta == 0 ? product : cij + product;
        }
}

/// For floats: so many terms at a time, whose sums then go into double.
void in_stretches(std::size_t longest, Factor op_a, Factor op_b, std::size_t m, std::size_t n, std::size_t k,
    const float* a, std::size_t lda, const float* b, std::size_t ldb, int beta, float* c, std::size_t ldc) {
    Scratch<float> part(m * n);
    Scratch<double> totals(m * n);
    std::fill_n(totals.data(), m * n, 0.0);
    const std::size_t a_step = op_a == Factor::plain ? 1 : lda, b_step = op_b == Factor::plain ? ldb : 1;
    for (std::size_t l = 0; l < k; l += longest) {
        gemm(op_a, op_b, m, n, std::min(longest, k - l), a + l * a_step, lda, b + l * b_step, ldb, 0, part.data(), n);
        for (std::size_t i = 0; i < m * n; ++i) totals[i] += part[i];
    }
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j)
            c[i * ldc + j] = static_cast<float>(totals[i * n + j] + (beta == 0 ? 0 : c[i * ldc + j]));
}

} // namespace

template <class T>
void gemm(Factor op_a, Factor op_b, std::size_t m, std::size_t n, std::size_t k, const T* a, std::size_t lda,
    const T* b, std::size_t ldb, int beta, T* c, std::size_t ldc) {
    // Calling BLAS costs about 100 ns, splitting duals more.
    constexpr std::size_t small = std::is_same_v<T, Dual<double>> ? 12 * 12 * 12 : 4 * 4 * 4;
    if (m == 0 || n == 0) return;
    // BLAS adds up all terms of a column in float, and some hundred of those of a matrix.
    if constexpr (std::is_same_v<T, float>)
        if (const std::size_t longest = m == 1 || n == 1 ? 512 : 4096; k > longest)
            return in_stretches(longest, op_a, op_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
    if (std::is_same_v<T, long double> || k == 0 || m * n * k <= small)
        loops(op_a, op_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
    else if constexpr (std::is_same_v<T, double>) blas<Double>(op_a, op_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
    else if constexpr (std::is_same_v<T, float>) blas<Single>(op_a, op_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
    else if constexpr (std::is_same_v<T, Dual<double>>) duals(op_a, op_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

#define CHALKGRAD_INSTANTIATE(T)                                                                               \
    template void gemm(Factor, Factor, std::size_t, std::size_t, std::size_t, const T*, std::size_t, const T*, \
        std::size_t, int, T*, std::size_t);
CHALKGRAD_FOR_WORK_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

} // namespace chalkgrad
