// gemm in long double: what is copied as doubles is no less exact.
#include <boost/test/unit_test.hpp>

#include <vector>

#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/ops/linear/gemm.hpp>

namespace test_gemm {
BOOST_AUTO_TEST_SUITE(gemm)

using namespace chalkgrad;

// Sums run in the same order, so not a bit may differ; `spoilt` numbers of b are no doubles.
BOOST_AUTO_TEST_CASE(every_shape_and_order_gives_the_plain_sums) {
    Generator rng(1);
    const std::size_t k = 7;
    for (const std::size_t m : {1u, 3u, 4u, 6u})
        for (const std::size_t n : {1u, 3u, 4u, 5u, 11u})
            for (const bool ta : {false, true})
                for (const bool tb : {false, true})
                    for (const int spoilt : {0, 1, 7}) {
                        const std::size_t lda = (ta ? m : k) + 1, ldb = (tb ? k : n) + 2, ldc = n + 3;
                        std::vector<long double> a(lda * (ta ? k : m)), b(ldb * (tb ? n : k)), c(ldc * m, 5);
                        for (long double& v : a) v = rng.standard_normal() * (1 + 0x1p-60L);
                        for (long double& v : b) v = rng.standard_normal();
                        for (int i = 0; i < spoilt; ++i) b[rng.integers<std::size_t>(0, b.size())] *= 1 + 0x1p-60L;
                        for (const int beta : {0, 1}) {
                            const std::vector<long double> before = c;
                            chalkgrad::gemm(ta ? Factor::transposed : Factor::plain,
                                tb ? Factor::transposed : Factor::plain, m, n, k, a.data(), lda, b.data(), ldb, beta,
                                c.data(), ldc);
                            bool same = true;
                            for (std::size_t i = 0; i < m; ++i)
                                for (std::size_t j = 0; j < n; ++j) {
                                    long double sum = 0;
                                    for (std::size_t l = 0; l < k; ++l)
                                        sum += a[ta ? l * lda + i : i * lda + l] * b[tb ? j * ldb + l : l * ldb + j];
                                    same = same && c[i * ldc + j] == (beta == 0 ? sum : before[i * ldc + j] + sum);
                                }
                            BOOST_TEST(same, m << " x " << n << ", transposed " << ta << tb << ", spoilt " << spoilt
                                               << ", beta " << beta);
                        }
                    }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_gemm
