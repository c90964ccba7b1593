// Jacobians two ways, Hessians, singular values, on functions whose answers are known.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/autograd/check/jacobian.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/layer_norm.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>
#include <chalkgrad/ops/reduce/softmax.hpp>

#include <xtensor/xbuilder.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xmath.hpp>

namespace test_jacobian {
BOOST_AUTO_TEST_SUITE(jacobian)

using namespace chalkgrad;
using Doubles = Array<double>;

namespace {

double largest_difference(const Doubles& a, const Doubles& b) {
    BOOST_REQUIRE((a.shape() == b.shape()));
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a.data()[i] - b.data()[i]));
    return most;
}

} // namespace

BOOST_AUTO_TEST_CASE(rows_and_columns_agree) {
    Generator rng(2);
    const Doubles x = rng.standard_normal({3, 4}), w = rng.standard_normal({4, 5});
    const auto f = [&](const Var<double>& x) { return softmax(matmul(rms_norm(x), x.tape().constant(w))); };
    const Doubles rows = chalkgrad::jacobian(f, x), columns = chalkgrad::jacobian(f, x, By::columns);
    BOOST_TEST((rows.shape()[0] == 15u && rows.shape()[1] == 12u));
    BOOST_TEST(largest_difference(rows, columns) < 1e-15);
    const Doubles v = rng.standard_normal({3, 4}), along = jvp(f, x, v);
    for (std::size_t i = 0; i < 15; ++i) {
        double product = 0;
        for (std::size_t j = 0; j < 12; ++j) product += rows(i, j) * v.data()[j];
        BOOST_TEST(std::abs(product - along.data()[i]) < 1e-14);
    }
}

BOOST_AUTO_TEST_CASE(eigenvalues_of_rms_norm) { // course §5: r across x, r ε/(ms + ε) along it
    const double eps = 1e-6, rms = 1e-3;
    const Doubles x{rms, -rms, rms, rms};
    const auto s = singular_values(chalkgrad::jacobian([&](const Var<double>& x) { return rms_norm(x, {}, eps); }, x));
    BOOST_REQUIRE_EQUAL(s.size(), 4u);
    for (int i = 0; i < 3; ++i) BOOST_TEST(std::abs(s[i] - 707.1067811865) < 1e-7);
    BOOST_TEST(std::abs(s[3] - 353.5533905933) < 1e-7);
    const auto layer =
        singular_values(chalkgrad::jacobian([](const Var<double>& x) { return layer_norm(x); }, Doubles{2, -1, 3, 0}));
    BOOST_TEST(layer[3] < 1e-15); // the constant direction
}

BOOST_AUTO_TEST_CASE(hessians) {
    // ½ xᵀ A x has the symmetric part of A.
    const Doubles a{{2, 1, 0}, {-1, 3, 0.5}, {4, 0, 1}}, x{0.3, -1, 2};
    const auto quadratic = [&](const Var<double>& x) { return 0.5 * sum(x * matmul(x.tape().constant(a), x)); };
    const Doubles h = chalkgrad::hessian(quadratic, x);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) BOOST_TEST(std::abs(h(i, j) - (a(i, j) + a(j, i)) / 2) < 1e-15);

    // Of a norm: symmetric, and equal to differences of gradients.
    Generator rng(5);
    const Doubles y = rng.standard_normal({5}), gain = rng.standard_normal({5});
    const auto f = [&](const Var<double>& x) { return sum(exp(0.3 * rms_norm(x, x.tape().constant(gain)))); };
    const Doubles hf = chalkgrad::hessian(f, y);
    const auto gradient = [&](const Doubles& at) {
        Tape t;
        const auto leaf = t.variable(at);
        f(leaf).backward();
        return Doubles(leaf.grad());
    };
    for (std::size_t j = 0; j < 5; ++j) {
        Doubles up = y, down = y, direction = Doubles(xt::zeros<double>({5}));
        up(j) += 1e-4;
        down(j) -= 1e-4;
        direction(j) = 1;
        const Doubles gu = gradient(up), gd = gradient(down), column = hvp(f, y, direction);
        for (std::size_t i = 0; i < 5; ++i) {
            BOOST_TEST(std::abs(hf(i, j) - hf(j, i)) < 1e-14);
            BOOST_TEST(std::abs(hf(i, j) - column(i)) < 1e-15);
            BOOST_TEST(std::abs(hf(i, j) - (gu(i) - gd(i)) / 2e-4) < 1e-7);
        }
    }
}

BOOST_AUTO_TEST_CASE(of_several_variables_and_of_intermediates) {
    Generator rng(7);
    const Tape t;
    const auto x = t.variable(rng.standard_normal({3, 2}), "x"), w = t.variable(rng.standard_normal({2}), "w");
    const auto h = rms_norm(x), y = exp(0.5 * h * w), loss = sum(y);
    const std::vector<Var<double>> xs = {x, w};
    const std::vector<Doubles> vs = {rng.standard_normal({3, 2}), rng.standard_normal({2})};

    // A list is its members one by one, by rows as by columns.
    for (const By by : {By::rows, By::columns}) {
        const auto j = chalkgrad::jacobian(y, xs, by);
        BOOST_TEST(largest_difference(j[0], chalkgrad::jacobian(y, x)) < 1e-15);
        BOOST_TEST(largest_difference(j[1], chalkgrad::jacobian(y, w)) < 1e-15);
    }
    BOOST_TEST(largest_difference(jvp(y, xs, vs), jvp(y, x, vs[0]) + jvp(y, w, vs[1])) < 1e-15);
    const Doubles gy = rng.standard_normal({3, 2});
    BOOST_TEST(largest_difference(vjp(y, xs, gy)[1], grad(y, xs, gy)[1]) == 0);
    BOOST_TEST(xt::sum(xt::abs(vjp(h, w, gy)))() == 0); // h does not depend on w: zeros, no refusal

    // The Hessian of all numbers: symmetric, the blocks of the members on its diagonal, hvp its product.
    const Doubles whole = chalkgrad::hessian(loss, xs), of_x = chalkgrad::hessian(loss, x);
    BOOST_TEST((Shape(whole.shape()) == Shape{8, 8}));
    const auto products = hvp(loss, xs, vs);
    for (std::size_t i = 0; i < 8; ++i) {
        double product = 0;
        for (std::size_t j = 0; j < 8; ++j) {
            BOOST_TEST(std::abs(whole(i, j) - whole(j, i)) < 1e-14);
            if (i < 6 && j < 6) BOOST_TEST(whole(i, j) == of_x(i, j));
            product += whole(i, j) * (j < 6 ? vs[0].data()[j] : vs[1].data()[j - 6]);
        }
        BOOST_TEST(std::abs(product - (i < 6 ? products[0].data()[i] : products[1].data()[i - 6])) < 1e-13);
    }

    // An intermediate is varied by itself; what it depends on is held. The chain rule puts them together.
    const Doubles of_h = chalkgrad::jacobian(y, h);
    BOOST_TEST(largest_difference(of_h, chalkgrad::jacobian(y, h, By::columns)) < 1e-15);
    BOOST_TEST(largest_difference(vjp(y, h, gy), grad(y, std::vector{h}, gy)[0]) < 1e-15);
    BOOST_TEST(largest_difference(jvp(y, h, jvp(h, x, vs[0])), jvp(y, x, vs[0])) < 1e-14);
    const auto product = h * x; // with h held its slope in x is h
    BOOST_TEST(largest_difference(
                   chalkgrad::jacobian(product, std::vector{h, x})[1], Doubles(xt::diag(xt::flatten(h.value())))) == 0);
    BOOST_TEST(!h.has_grad());
}

BOOST_AUTO_TEST_CASE(misuse) {
    Tape t;
    const auto x = t.variable(Doubles{1, 2}), c = t.constant(Doubles{1, 2});
    BOOST_CHECK_THROW(chalkgrad::jacobian(x * c, c), Error);
    BOOST_CHECK_THROW(chalkgrad::hessian(x * c, x), Error);
    BOOST_CHECK_THROW(jvp(x * c, x, Doubles{1, 2, 3}), Error);
    BOOST_CHECK_THROW(singular_values(Doubles{1, 2}), Error);
    BOOST_CHECK_THROW(singular_values(Doubles{{1, std::nan("")}}), Error);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_jacobian
