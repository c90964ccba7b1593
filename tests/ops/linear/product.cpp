// Products inside kernels: every remainder of rows and columns, both orders of the left factor, parts, and every
// instruction set.
#include <chalkgrad/ops/linear/product.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// The same part for all rows.
template <class T>
void tested_product(std::size_t m, std::size_t n, const T* a, std::size_t row, std::size_t term, const T* b, bool add,
    T* c, std::size_t from, std::size_t to, std::size_t first, std::size_t last) {
    product<T>(m, n, {a, row, term}, b, n, add, c, n, [=](std::size_t, std::size_t) FAST {
        return ProductPart{from, to, first, last};
    });
}
// Row i takes the terms up to i: a triangle, cut at the blocks of rows.
template <class T> void tested_triangle(std::size_t m, std::size_t n, const T* a, const T* b, T* c) {
    product<T>(m, n, {a, m, 1}, b, n, false, c, n, [=](std::size_t i, std::size_t rows) FAST {
        return ProductPart{0, n, 0, i + rows};
    });
}
template <class T> std::size_t tested_width(T) { return product_width<T>; }

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(tested_product, tested_triangle, tested_width)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <vector>

#include "../elementwise/unary.hpp"

using namespace chalkgrad;
using namespace chalkgrad::testing;

BOOST_AUTO_TEST_SUITE(product)

namespace {

using Scalars = boost::mpl::list<double, float, long double, Dual<double>>;

// Small whole numbers: their products and sums are exact in every scalar.
template <class T> std::vector<T> whole_numbers(std::size_t count, int seed) {
    std::vector<T> x;
    for (std::size_t i = 0; i < count; ++i)
        x.push_back(T(int((i * 7 + i * i * 3 + static_cast<std::size_t>(seed)) % 11) - 5));
    return x;
}

/// Σ over the terms from `first` to `last` of element (i, j) of a b, b with rows of n.
template <class T>
T element(const std::vector<T>& a, std::size_t row, std::size_t term, const std::vector<T>& b, std::size_t n,
    std::size_t i, std::size_t j, std::size_t first, std::size_t last) {
    T sum(0);
    for (std::size_t l = first; l < last; ++l) sum += a[i * row + l * term] * b[l * n + j];
    return sum;
}

template <class T> bool same(const T& a, const T& b) {
    if constexpr (std::is_same_v<T, Dual<double>>) return a.v == b.v && a.d == b.d;
    else return a == b;
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(all_remainders, T, Scalars) {
    on_every_isa([] {
        for (std::size_t m : {1, 2, 3, 5, 6, 7, 8, 11, 12, 13, 21})
            for (std::size_t n : {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 33})
                for (std::size_t k : {0, 1, 2, 5})
                    for (const bool transposed : {false, true})
                        for (const bool add : {false, true}) {
                            std::vector<T> a = whole_numbers<T>(m * k, 1), c = whole_numbers<T>(m * n, 3), expected = c;
                            const std::vector<T> b = whole_numbers<T>(k * n, 2);
                            if constexpr (std::is_same_v<T, Dual<double>>)
                                for (std::size_t i = 0; i < a.size(); ++i) a[i].d = double(i % 3);
                            const std::size_t row = transposed ? 1 : k, term = transposed ? m : 1;
                            for (std::size_t i = 0; i < m; ++i)
                                for (std::size_t j = 0; j < n; ++j)
                                    expected[i * n + j] =
                                        (add ? c[i * n + j] : T(0)) + element(a, row, term, b, n, i, j, 0, k);
                            kernel::tested_product<T>(m, n, a.data(), row, term, b.data(), add, c.data(), 0, n, 0, k);
                            bool right = true;
                            for (std::size_t i = 0; i < c.size(); ++i) right = right && same(c[i], expected[i]);
                            BOOST_TEST(right,
                                m << " x " << k << " x " << n << ", transposed " << transposed << ", add " << add);
                        }
    });
}

// Inside a part all is right; what shares no full block with it stays as it was.
BOOST_AUTO_TEST_CASE_TEMPLATE(parts, T, Scalars) {
    constexpr std::size_t m = 9, n = 51, k = 8;
    const std::vector<T> a = whole_numbers<T>(m * k, 4), b = whole_numbers<T>(k * n, 5);
    on_every_isa([&] {
        const std::size_t width = kernel::tested_width<T>(T(0));
        for (std::size_t from : {0, 1, 16, 19, 50})
            for (std::size_t to : {20, 33, 48, 50, 51}) {
                if (to < from) continue;
                std::vector<T> c(m * n, T(100));
                kernel::tested_product<T>(m, n, a.data(), k, 1, b.data(), false, c.data(), from, to, 2, 7);
                bool right = true, untouched = true;
                for (std::size_t i = 0; i < m; ++i)
                    for (std::size_t j = 0; j < n; ++j) {
                        if (j >= from && j < to)
                            right = right && same(c[i * n + j], element(a, k, 1, b, n, i, j, 2, 7));
                        if (j + width < from || j >= to + width) untouched = untouched && same(c[i * n + j], T(100));
                    }
                BOOST_TEST(right, "columns " << from << " to " << to);
                BOOST_TEST(untouched, "beside columns " << from << " to " << to);
            }
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(each_block_of_rows_has_its_part, T, Scalars) {
    constexpr std::size_t m = 21, n = 10;
    std::vector<T> a = whole_numbers<T>(m * m, 6);
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = i + 1; j < m; ++j) a[i * m + j] = T(0);
    const std::vector<T> b = whole_numbers<T>(m * n, 7);
    on_every_isa([&] {
        std::vector<T> c(m * n, T(100));
        kernel::tested_triangle<T>(m, n, a.data(), b.data(), c.data());
        for (std::size_t i = 0; i < m; ++i)
            for (std::size_t j = 0; j < n; ++j)
                BOOST_TEST(same(c[i * n + j], element(a, m, 1, b, n, i, j, 0, m)), i << ", " << j);
    });
}

BOOST_AUTO_TEST_SUITE_END()
#endif
