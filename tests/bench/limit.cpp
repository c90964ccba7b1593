// The machine's limit: bytes that have to move, as memcpy, or products that have to be formed, as OpenBLAS's gemm.
#include <algorithm>
#include <cstring>

#include <cblas.h>

#include "problem.hpp"

extern "C" void openblas_set_num_threads(int threads);

namespace bench {
namespace {

/// Copies moved/2 numbers (each is read and written) between halves of as much memory as the problem's arrays and their
/// gradients take, so that the copy lives in the same caches.
class Copy final : public Contender {
public:
    explicit Copy(const Problem& problem) : left_(problem.moved / 2) {
        std::size_t distinct = 2 * problem.cotangent.values.size();
        for (const Numbers& x : problem.inputs) distinct += 2 * x.values.size();
        from_.resize(distinct / 2, 1);
        to_.resize(distinct / 2, 0);
    }
    void round() override {
        for (std::size_t left = left_; left != 0;) {
            const std::size_t n = std::min(left, from_.size());
            std::memcpy(to_.data(), from_.data(), n * sizeof(double));
            asm volatile("" : : "r"(to_.data()) : "memory");
            left -= n;
        }
    }

private:
    std::size_t left_;
    std::vector<double> from_, to_;
};

class Gemm final : public Contender {
public:
    explicit Gemm(const Problem& problem) : products_(problem.products) {
        openblas_set_num_threads(1);
        std::size_t most = 0;
        for (const Product& p : products_) most = std::max({most, p.m * p.k, p.k * p.n, p.m * p.n});
        a_.resize(most, 0.5);
        b_.resize(most, 0.25);
        c_.resize(most);
    }
    void round() override {
        for (const Product& p : products_) {
            const int m = static_cast<int>(p.m), k = static_cast<int>(p.k), n = static_cast<int>(p.n);
            for (std::size_t i = 0; i < p.count; ++i)
                cblas_dgemm(
                    CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a_.data(), k, b_.data(), n, 0, c_.data(), n);
        }
    }

private:
    std::vector<Product> products_;
    std::vector<double> a_, b_, c_;
};

} // namespace

std::unique_ptr<Contender> limit(const Problem& problem) {
    if (problem.moved != 0) return std::make_unique<Copy>(problem);
    return std::make_unique<Gemm>(problem);
}

} // namespace bench
