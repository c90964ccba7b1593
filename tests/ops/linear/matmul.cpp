// The matrix product: every kind of operand against plain sums, shared factors, small and large products, duals.
#include "../arrays.hpp"

#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>

namespace test_matmul {
BOOST_AUTO_TEST_SUITE(matmul)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

template <class T> Var<T> product(const std::vector<Var<T>>& x) { return chalkgrad::matmul(x[0], x[1]); }

/// Sums by definition, for matrices: y, ā = ȳ bᵀ, b̄ = aᵀ ȳ.
void check_matrices(std::size_t m, std::size_t k, std::size_t n, Generator& rng) {
    const Array<double> a = rng.standard_normal({m, k}), b = rng.standard_normal({k, n}),
                        gy = rng.standard_normal({m, n});
    Array<double> y = Array<double>::from_shape({m, n}), ga = Array<double>::from_shape({m, k}),
                  gb = Array<double>::from_shape({k, n});
    for (Array<double>* x : {&y, &ga, &gb}) std::fill(x->begin(), x->end(), 0.0);
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t l = 0; l < k; ++l)
            for (std::size_t j = 0; j < n; ++j) {
                y(i, j) += a(i, l) * b(l, j);
                ga(i, l) += gy(i, j) * b(l, j);
                gb(l, j) += a(i, l) * gy(i, j);
            }
    BOOST_TEST_CONTEXT(m << " × " << k << " × " << n) {
        const auto got = gradients<double>(product<double>, {a, b}, gy);
        check_array(got.y, y, 1e-13, 1e-13);
        check_array(got.gx[0], ga, 1e-13, 1e-13);
        check_array(got.gx[1], gb, 1e-13, 1e-13);
        const auto single = gradients<float>(product<float>,
            {Array<float>(xt::cast<float>(a)), Array<float>(xt::cast<float>(b))}, Array<float>(xt::cast<float>(gy)));
        check_array(single.y, y, 1e-5, 1e-4);
        check_array(single.gx[0], ga, 1e-5, 1e-4);
        check_array(single.gx[1], gb, 1e-5, 1e-4);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(against_plain_sums) {
    Generator rng(2);
    for (const std::size_t m : {1u, 2u, 5u, 17u})
        for (const std::size_t k : {1u, 4u, 17u})
            for (const std::size_t n : {1u, 3u, 16u, 33u}) check_matrices(m, k, n, rng);
}

// G28
BOOST_AUTO_TEST_CASE(matrix_times_vector) {
    const auto got =
        gradients<double>(product<double>, {array({2, 2}, {1, 2, 3, 4}), array({2}, {0.5, -1})}, array({2}, {2, -3}));
    check_array(got.y, array({2}, {-1.5, -2.5}));
    check_array(got.gx[0], array({2, 2}, {1, -2, -1.5, 3}));
    check_array(got.gx[1], array({2}, {-7, -8}));
    const auto batched = gradients<double>(product<double>,
        {array({2, 1, 2}, {1, 2, 3, 4}), array({2, 2}, {1, 0, 2, -1})}, array({2, 1, 2}, {1, 1, 2, -1}));
    check_array(batched.gx[1], array({2, 2}, {7, -2, 10, -2}));
}

// G22
BOOST_AUTO_TEST_CASE(the_same_matrix_twice) {
    Tape tape;
    const Var<double> x = tape.variable(array({2, 2}, {1, 2, 3, 4}));
    const Var<double> y = chalkgrad::matmul(x, x);
    check_array(y.value(), array({2, 2}, {7, 10, 15, 22}));
    y.backward(array({2, 2}, {1, 0, -1, 2}));
    check_array(x.grad(), array({2, 2}, {-1, 9, 1, 13}));
}

// Each product of a batch by itself must give what the whole gives; shared factors the sum over their uses.
BOOST_AUTO_TEST_CASE(batches_are_products_one_by_one) {
    Generator rng(3);
    const Array<double> a = rng.standard_normal({2, 1, 3, 4}), b = rng.standard_normal({5, 4, 2}),
                        gy = rng.standard_normal({2, 5, 3, 2});
    const auto whole = gradients<double>(product<double>, {a, b}, gy);
    Array<double> y = gy, ga = a, gb = b;
    std::fill(ga.begin(), ga.end(), 0.0);
    std::fill(gb.begin(), gb.end(), 0.0);
    for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t j = 0; j < 5; ++j) {
            const auto part = [](const Array<double>& x, std::size_t p, std::size_t rows, std::size_t columns) {
                Array<double> m = Array<double>::from_shape({rows, columns});
                std::copy_n(x.data() + p * rows * columns, rows * columns, m.data());
                return m;
            };
            const auto one =
                gradients<double>(product<double>, {part(a, i, 3, 4), part(b, j, 4, 2)}, part(gy, 5 * i + j, 3, 2));
            std::copy_n(one.y.data(), 6, y.data() + 6 * (5 * i + j));
            for (std::size_t p = 0; p < 12; ++p) ga.data()[12 * i + p] += one.gx[0].data()[p];
            for (std::size_t p = 0; p < 8; ++p) gb.data()[8 * j + p] += one.gx[1].data()[p];
        }
    check_array(whole.y, y, 1e-14, 1e-15);
    check_array(whole.gx[0], ga, 1e-13, 1e-14);
    check_array(whole.gx[1], gb, 1e-13, 1e-14);
}

BOOST_AUTO_TEST_CASE(shapes_and_refusals) {
    Tape tape;
    const auto zeros = [&](const std::vector<std::size_t>& shape) {
        Array<double> x = Array<double>::from_shape(shape);
        std::fill(x.begin(), x.end(), 0.0);
        return tape.variable(x);
    };
    const auto shape = [&](const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
        return chalkgrad::matmul(zeros(a), zeros(b)).shape();
    };
    BOOST_TEST(shape({4}, {4}) == Shape());
    BOOST_TEST(shape({4}, {4, 3}) == Shape({3}));
    BOOST_TEST(shape({2, 5, 4}, {4}) == Shape({2, 5}));
    BOOST_TEST(shape({4}, {2, 4, 3}) == Shape({2, 3}));
    BOOST_TEST(shape({2, 1, 3, 4}, {6, 4, 1}) == Shape({2, 6, 3, 1}));
    BOOST_TEST(shape({0, 4}, {4, 3}) == Shape({0, 3}));
    check_refused([&] { shape({}, {4}); }, "matmul", {"single number"});
    check_refused([&] { shape({3, 4}, {3, 4}); }, "matmul", {"(3, 4)", "transpose"});
    check_refused([&] { shape({4}, {3}); }, "matmul", {"(4)", "(3)"});
    check_refused([&] { shape({2, 3, 4}, {5, 4, 2}); }, "matmul", {"(2)", "(5)", "broadcast"});
}

BOOST_AUTO_TEST_CASE(empty_products) {
    const Array<double> none = Array<double>::from_shape({2, 0}), no_rows = Array<double>::from_shape({0, 3});
    auto got = gradients<double>(
        product<double>, {none, Array<double>::from_shape({0, 3})}, array({2, 3}, {1, 1, 1, 1, 1, 1}));
    check_array(got.y, array({2, 3}, {0, 0, 0, 0, 0, 0}));
    got = gradients<double>(
        product<double>, {no_rows, array({3, 2}, {1, 2, 3, 4, 5, 6})}, Array<double>::from_shape({0, 2}));
    check_array(got.gx[1], array({3, 2}, {0, 0, 0, 0, 0, 0}));
    got =
        gradients<double>(product<double>, {Array<double>::from_shape({0, 2, 3}), array({1, 3, 2}, {1, 2, 3, 4, 5, 6})},
            Array<double>::from_shape({0, 2, 2}));
    check_array(got.gx[1], array({1, 3, 2}, {0, 0, 0, 0, 0, 0}));
}

// Above and below the size where products of duals are split into three of doubles.
BOOST_AUTO_TEST_CASE(duals_obey_the_product_rule) {
    Generator rng(4);
    for (const std::size_t n : {3u, 20u}) {
        const auto make = [&] {
            Array<Dual<double>> x = Array<Dual<double>>::from_shape({n, n});
            for (auto& element : x) element = {rng.standard_normal(), rng.standard_normal()};
            return x;
        };
        const auto a = make(), b = make(), gy = make();
        const auto got = gradients<Dual<double>>(product<Dual<double>>, {a, b}, gy);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) {
                Dual<double> y = 0, ga = 0, gb = 0;
                for (std::size_t l = 0; l < n; ++l) {
                    y += a(i, l) * b(l, j);
                    ga += gy(i, l) * b(j, l);
                    gb += a(l, i) * gy(l, j);
                }
                for (const auto& [value, wanted] :
                    {std::pair(got.y(i, j), y), std::pair(got.gx[0](i, j), ga), std::pair(got.gx[1](i, j), gb)}) {
                    check_near(value.v, wanted.v, 1e-13, 1e-13);
                    check_near(value.d, wanted.d, 1e-13, 1e-13);
                }
            }
    }
}

BOOST_AUTO_TEST_CASE(special_values_reach_what_they_enter) {
    const auto got = gradients<double>(product<double>,
        {array({2, 5}, {1, quiet_nan, 1, 1, 1, 1, 1, 1, 1, inf}), array({5, 2}, {1, 1, 1, 1, 1, 1, 1, 1, 1, -1})},
        array({2, 2}, {1, 1, 1, 1}));
    check_array(got.y, array({2, 2}, {quiet_nan, quiet_nan, inf, -inf}));
    check_array(got.gx[0], array({2, 5}, {2, 2, 2, 2, 0, 2, 2, 2, 2, 0}));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_matmul
