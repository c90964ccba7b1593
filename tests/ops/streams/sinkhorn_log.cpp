// Sinkhorn in the log domain: wide logits, which half-step is exact, forbidden entries, the two gradients, refusals.
#include "../arrays.hpp"

#include <chalkgrad/ops/catalog/catalog.hpp>
#include <chalkgrad/ops/streams/sinkhorn_log.hpp>

namespace test_sinkhorn_log {
BOOST_AUTO_TEST_SUITE(sinkhorn_log)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

Gradients<double> run_sinkhorn(const Array<double>& m, const Array<double>& gy, const SinkhornOptions& options = {}) {
    return gradients<double>([&](auto& x) { return chalkgrad::sinkhorn_log(x[0], options); }, {m}, gy);
}

/// Largest distance of a row sum, or column sum, from 1.
double residual(const Array<double>& a, bool rows) {
    double worst = 0;
    const std::size_t n = a.shape()[0];
    for (std::size_t i = 0; i < n; ++i) {
        double s = 0;
        for (std::size_t j = 0; j < n; ++j) s += rows ? a(i, j) : a(j, i);
        worst = std::max(worst, std::abs(s - 1));
    }
    return worst;
}

} // namespace

// G35
BOOST_AUTO_TEST_CASE(wide_logits) {
    on_every_isa([] {
        const Array<double> gy = {{1, -2}, {3, 0.5}};
        const Gradients<double> wide = run_sinkhorn({{1000, 0}, {0, -1000}}, gy);
        check_array(wide.y, {{0.5, 0.5}, {0.5, 0.5}}, 1e-9, 1e-12);
        check_array(wide.gx[0], {{0.0625, -0.0625}, {-0.0625, 0.0625}}, 1e-9, 1e-12);
        const Gradients<double> mild = run_sinkhorn({{0, 0.3}, {-0.2, 0.5}}, gy);
        check_array(
            mild.y, {{0.549833997312478, 0.4501660026875221}, {0.4501660026875221, 0.549833997312478}}, 1e-9, 1e-12);
        check_array(mild.gx[0],
            {{0.06187914317796499, -0.06187914317796499}, {-0.06187914317796499, 0.06187914317796499}}, 1e-9, 1e-12);
    });
}

BOOST_AUTO_TEST_CASE(last_half_step_is_exact) {
    Generator rng(3);
    for (const std::size_t n : {2, 3, 4, 9}) {
        const Array<double> m = rng.standard_normal({n, n}), gy = rng.standard_normal({n, n});
        const Gradients<double> rows = run_sinkhorn(m, gy, {.iterations = 1, .order = SinkhornOrder::rows_first});
        BOOST_TEST(residual(rows.y, false) < 1e-15);
        BOOST_TEST(residual(rows.y, true) > 1e-3);
        const Gradients<double> columns = run_sinkhorn(m, gy, {.iterations = 1, .order = SinkhornOrder::cols_first});
        BOOST_TEST(residual(columns.y, true) < 1e-15);
        BOOST_TEST(residual(columns.y, false) > 1e-3);
        const Gradients<double> many = run_sinkhorn(m, gy, {.iterations = 400});
        BOOST_TEST(residual(many.y, true) < 1e-12);
    }
}

BOOST_AUTO_TEST_CASE(any_matrix_of_one_is_one) {
    for (const double logit : {-800.0, 0.0, 800.0}) {
        const Gradients<double> one = run_sinkhorn(matrix(1, 1, {logit}), matrix(1, 1, {3}));
        BOOST_TEST(one.y(0, 0) == 1);
        BOOST_TEST(one.gx[0](0, 0) == 0);
    }
}

// G08: log 0 is the neutral element. A forbidden connection stays forbidden, and nothing becomes NaN.
BOOST_AUTO_TEST_CASE(forbidden_entries) {
    on_every_isa([] {
        for (const SinkhornGradient gradient : {SinkhornGradient::unrolled, SinkhornGradient::implicit}) {
            const Gradients<double> entry = run_sinkhorn({{0.3, -inf, 1}, {0, 0.5, -1}, {1, 2, 0}},
                {{1, 2, 3}, {-1, 4, 0.5}, {2, 2, -3}}, {.iterations = 200, .gradient = gradient});
            BOOST_TEST(entry.y(0, 1) == 0);
            BOOST_TEST(entry.gx[0](0, 1) == 0);
            BOOST_TEST(residual(entry.y, true) < 1e-12);
            for (const double g : entry.gx[0]) BOOST_TEST(std::isfinite(g));
            BOOST_TEST(std::abs(entry.gx[0](1, 1)) > 1e-3);
        }
        const Gradients<double> row =
            run_sinkhorn({{-inf, -inf, -inf}, {0, 0.5, -1}, {1, 2, 0}}, {{1, 2, 3}, {-1, 4, 0.5}, {2, 2, -3}});
        for (std::size_t j = 0; j < 3; ++j) {
            BOOST_TEST(row.y(0, j) == 0);
            BOOST_TEST(row.gx[0](0, j) == 0);
        }
        for (std::size_t i = 0; i < 9; ++i) {
            BOOST_TEST(std::isfinite(row.y.data()[i]));
            BOOST_TEST(std::isfinite(row.gx[0].data()[i]));
        }
        BOOST_TEST(residual(row.y, false) < 1e-12); // the columns come last
    });
}

BOOST_AUTO_TEST_CASE(nan_and_positive_infinity_flow_through) {
    for (const double bad : {std::nan(""), inf}) {
        const Gradients<double> r = run_sinkhorn({{bad, 0}, {0, 1}}, {{1, 2}, {3, 4}}, {.iterations = 3});
        for (const double y : r.y) BOOST_TEST(std::isnan(y));
    }
}

BOOST_AUTO_TEST_CASE(implicit_is_the_limit_of_unrolled) {
    Generator rng(11);
    for (const std::size_t n : {2, 4, 5}) {
        const Array<double> m = rng.standard_normal({n, n}), gy = rng.standard_normal({n, n});
        const Array<double> converged = run_sinkhorn(m, gy, {.iterations = 600}).gx[0];
        check_array(run_sinkhorn(m, gy, {.iterations = 600, .gradient = SinkhornGradient::implicit}).gx[0], converged,
            1e-9, 1e-12);
        check_array(run_sinkhorn(m, gy,
                        {.iterations = 600, .order = SinkhornOrder::cols_first, .gradient = SinkhornGradient::implicit})
                        .gx[0],
            converged, 1e-9, 1e-12);
    }
    // After one round it is another number: the reason why it is not the default.
    const Array<double> m = rng.standard_normal({4, 4}), gy = rng.standard_normal({4, 4});
    const Array<double> u = run_sinkhorn(m, gy, {.iterations = 1}).gx[0],
                        i = run_sinkhorn(m, gy, {.iterations = 1, .gradient = SinkhornGradient::implicit}).gx[0];
    double difference = 0, size = 0;
    for (std::size_t e = 0; e < 16; ++e) {
        difference = std::max(difference, std::abs(u.data()[e] - i.data()[e]));
        size = std::max(size, std::abs(u.data()[e]));
    }
    BOOST_TEST(difference > 0.05 * size);
}

// At a permutation the equations of the implicit gradient are singular, and the gradient is 0.
BOOST_AUTO_TEST_CASE(implicit_at_a_permutation) {
    const Gradients<double> r = run_sinkhorn({{900, 0, 0}, {0, 0, 900}, {0, 900, 0}},
        {{1, 2, 3}, {-1, 4, 0.5}, {2, 2, -3}}, {.gradient = SinkhornGradient::implicit});
    check_array(r.y, {{1, 0, 0}, {0, 0, 1}, {0, 1, 0}}, 1e-12, 1e-12);
    check_array(r.gx[0], {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, 0, 1e-12);
}

BOOST_AUTO_TEST_CASE(batch_is_one_by_one) {
    Generator rng(5);
    const Array<double> m = rng.standard_normal({3, 4, 4}), gy = rng.standard_normal({3, 4, 4});
    const Gradients<double> all = run_sinkhorn(m, gy);
    for (std::size_t b = 0; b < 3; ++b) {
        Array<double> one = Array<double>::from_shape({4, 4}), g = one;
        std::copy_n(m.data() + 16 * b, 16, one.data());
        std::copy_n(gy.data() + 16 * b, 16, g.data());
        const Gradients<double> r = run_sinkhorn(one, g);
        for (std::size_t i = 0; i < 16; ++i) {
            BOOST_TEST(all.y.data()[16 * b + i] == r.y.data()[i]);
            BOOST_TEST(all.gx[0].data()[16 * b + i] == r.gx[0].data()[i]);
        }
    }
    BOOST_TEST(
        run_sinkhorn(Array<double>::from_shape({0, 4, 4}), Array<double>::from_shape({0, 4, 4})).gx[0].size() == 0);
}

BOOST_AUTO_TEST_CASE(refusals) {
    const auto refuses = [](const Array<double>& m, const SinkhornOptions& options, const char* part) {
        Tape tape;
        check_refused([&] { chalkgrad::sinkhorn_log(tape.variable(m), options); }, "sinkhorn_log", {part});
        BOOST_TEST(tape.size() == 1u);
    };
    const Array<double> square = {{1, 2}, {3, 4}};
    refuses({{1, 2, 3}, {4, 5, 6}}, {}, "(2, 3)");
    refuses({1, 2}, {}, "(2)");
    refuses(square, {.iterations = 0}, "iterations is 0");
    refuses(square, {.iterations = -3}, "-3");
    BOOST_CHECK_THROW(sinkhorn_options("sinkhorn_log", 20, "rows", "unrolled"), Error);
    BOOST_CHECK_THROW(sinkhorn_options("sinkhorn_log", 20, "rows_first", "exact"), Error);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_sinkhorn_log
