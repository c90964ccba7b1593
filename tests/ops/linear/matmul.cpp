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
template <class T> Gradients<T> by_definition(const Array<T>& a, const Array<T>& b, const Array<T>& gy) {
    Gradients<T> r{Array<T>(gy.shape(), T(0)), {Array<T>(a.shape(), T(0)), Array<T>(b.shape(), T(0))}};
    for (std::size_t i = 0; i < a.shape()[0]; ++i)
        for (std::size_t l = 0; l < a.shape()[1]; ++l)
            for (std::size_t j = 0; j < b.shape()[1]; ++j) {
                r.y(i, j) += a(i, l) * b(l, j);
                r.gx[0](i, l) += gy(i, j) * b(l, j);
                r.gx[1](l, j) += a(i, l) * gy(i, j);
            }
    return r;
}

template <class T, class U>
void check_same(const Gradients<T>& got, const Gradients<U>& expected, double relative, double absolute) {
    check_array(got.y, expected.y, relative, absolute);
    for (std::size_t i = 0; i < 2; ++i) check_array(got.gx[i], expected.gx[i], relative, absolute);
}

void check_matrices(std::size_t m, std::size_t k, std::size_t n, Generator& rng) {
    const Array<double> a = rng.standard_normal({m, k}), b = rng.standard_normal({k, n}),
                        gy = rng.standard_normal({m, n});
    const auto expected = by_definition(a, b, gy);
    BOOST_TEST_CONTEXT(m << " × " << k << " × " << n) {
        check_same(gradients<double>(product<double>, {a, b}, gy), expected, 1e-13, 1e-13);
        const auto single = [](const Array<double>& x) { return Array<float>(xt::cast<float>(x)); };
        check_same(gradients<float>(product<float>, {single(a), single(b)}, single(gy)), expected, 1e-5, 1e-4);
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
    check_same(whole, Gradients<double>{y, {ga, gb}}, 1e-13, 1e-14);
}

BOOST_AUTO_TEST_CASE(shapes_and_refusals) {
    Tape tape;
    const auto leaf = [&](const std::vector<std::size_t>& shape) { return tape.variable(counting(shape)); };
    const auto shape = [&](const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
        return chalkgrad::matmul(leaf(a), leaf(b)).shape();
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
        const auto got = gradients<Dual<double>>(product<Dual<double>>, {a, b}, gy), expected = by_definition(a, b, gy);
        const auto check = [](const Array<Dual<double>>& value, const Array<Dual<double>>& wanted) {
            for (std::size_t i = 0; i < wanted.size(); ++i) {
                check_near(value.data()[i].v, wanted.data()[i].v, 1e-13, 1e-13);
                check_near(value.data()[i].d, wanted.data()[i].d, 1e-13, 1e-13);
            }
        };
        check(got.y, expected.y);
        for (std::size_t i = 0; i < 2; ++i) check(got.gx[i], expected.gx[i]);
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
