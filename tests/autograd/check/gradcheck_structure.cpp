// gradcheck of functions whose rows do not feel each other: what is shared, and that nothing hides in it.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/check/colouring.hpp>
#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/autograd/check/steps.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/autograd/tape/custom.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/reduce/softmax.hpp>

namespace test_gradcheck_structure {
BOOST_AUTO_TEST_SUITE(gradcheck_structure)

using namespace chalkgrad;
using Doubles = Array<double>;
using Vars = std::vector<Var<double>>;

namespace {

constexpr double corner = 0.3125; // exact in every scalar

/// y = x ⟨x⟩ by rows, and what else a row may feel: nothing; the next row, a little; x[0, 0], through a step or a ramp that
/// begins at `corner`, or, in all other rows, through a window that is narrower than any step. The backward gets the rows
/// right, and of the rest what it is told, but for a ramp before its
/// corner.
enum class Coupling { none, weak, step, ramp, window };
struct Rows {
    static constexpr const char* name = "rows";
    static constexpr const char* inputs[] = {"x"};
    Coupling coupling = Coupling::none;
    double slope = 0; ///< of the coupling, as the backward has it
    double leak = 0;  ///< what the backward sends from every row to the first one

    Shape shape(Shapes in) const { return in[0]; }
    static inline std::size_t long_runs = 0, sweeps = 0; ///< forwards in long double, vjps in double
    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        long_runs += std::is_same_v<T, long double>;
        const std::size_t rows = y.rows(), d = y.last();
        const T over = in[0][0] - T(corner), step = over > T(0) ? T(1) : T(0), ramp = over > T(0) ? over : T(0);
        const T window = over < T(1e-9) && over > T(-1e-9) ? over : T(0);
        for (std::size_t t = 0; t < rows; ++t) {
            T mean(0);
            for (std::size_t j = 0; j < d; ++j) mean += in[0][t * d + j] / T(static_cast<double>(d));
            for (std::size_t j = 0; j < d; ++j) {
                T& v = y[t * d + j] = in[0][t * d + j] * mean;
                if (coupling == Coupling::weak) v += T(1e-12) * in[0][(t + 1) % rows * d + j];
                if (coupling == Coupling::step) v += step;
                if (coupling == Coupling::ramp) v += ramp;
                if (coupling == Coupling::window && t > 0) v += window;
            }
        }
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        sweeps += std::is_same_v<T, double>;
        const std::size_t rows = gy.rows(), d = gy.last();
        for (std::size_t t = 0; t < rows; ++t) {
            T mean(0), along(0);
            for (std::size_t j = 0; j < d; ++j) {
                mean += in[0][t * d + j] / T(static_cast<double>(d));
                along += in[0][t * d + j] * gy[t * d + j] / T(static_cast<double>(d));
            }
            for (std::size_t j = 0; j < d; ++j) gx[0][t * d + j] = mean * gy[t * d + j] + along;
        }
        const bool before = coupling == Coupling::ramp && in[0][0] < T(corner);
        for (std::size_t t = 0; t < rows; ++t)
            for (std::size_t j = 0; j < d; ++j) {
                const T g = gy[t * d + j];
                if (coupling == Coupling::weak) gx[0][(t + 1) % rows * d + j] += T(slope) * g;
                if (coupling != Coupling::none && coupling != Coupling::weak && !before) gx[0][0] += T(slope) * g;
                if (t > 0) gx[0][j] += T(leak) * g;
            }
    }
};

Doubles point(double first = corner) {
    Generator rng(11);
    Doubles x = rng.standard_normal({5, 4});
    x(0, 0) = first;
    return x;
}
GradcheckReport check(const Rows& rows, const Doubles& x, const std::vector<Identity>& identities = {}) {
    Tape tape;
    const auto leaf = tape.variable(x, "x");
    GradcheckOptions options;
    options.identities = identities;
    options.blind_spots = false; // beyond its corner a slope of one side is wrong
    return gradcheck(Vars{apply(rows, leaf)}, Vars{leaf}, options);
}

/// Numbers that are stored of each block.
std::vector<std::size_t> stored(const Vars& outputs, const Vars& inputs) {
    const GradcheckOptions options;
    detail::CheckedProgram s(outputs, inputs, options);
    const detail::Jacobians jacobians(s, detail::find_structure(s));
    std::vector<std::size_t> sizes;
    for (const detail::Block& b : jacobians.blocks) sizes.push_back(b.stored());
    return sizes;
}

} // namespace

BOOST_AUTO_TEST_CASE(only_what_can_depend_is_stored) {
    using Sizes = std::vector<std::size_t>;
    Generator rng(1);
    Tape t;
    const auto x = t.variable(rng.standard_normal({5, 4}), "x"), gamma = t.variable(rng.standard_normal({4}), "gamma"),
               w = t.variable(rng.standard_normal({4, 3}), "w");
    BOOST_TEST(stored({rms_norm(x, gamma)}, {x, gamma}) == (Sizes{5 * 4 * 4, 5 * 4}), boost::test_tools::per_element());
    BOOST_TEST(stored({matmul(x, w)}, {x, w}) == (Sizes{15 * 4, 15 * 12}), boost::test_tools::per_element());
    BOOST_TEST(stored({softmax(x, 0)}, {x}) == (Sizes{20 * 20}), boost::test_tools::per_element());
    // A second output that depends on one input only.
    BOOST_TEST(
        stored({rms_norm(x), 2.0 * gamma}, {x, gamma}) == (Sizes{20 * 4, 0, 0, 4}), boost::test_tools::per_element());

    const auto report = chalkgrad::gradcheck(Vars{rms_norm(x, gamma)}, Vars{x, gamma});
    BOOST_TEST((report.verdict == Verdict::pass), to_string(report));
    BOOST_TEST(report.elements == 20u * 24);
    BOOST_TEST(report.difference < 1e-14);
    BOOST_TEST(report.dual < 1e-14);
    BOOST_TEST(report.resolution > 0);
}

BOOST_AUTO_TEST_CASE(rows_share_sweeps_whose_inputs_do_not_meet) {
    Generator rng(1);
    Tape t;
    const auto x = t.variable(rng.standard_normal({8, 4}), "x"), gamma = t.variable(rng.standard_normal({4}), "gamma");
    const Vars outputs{rms_norm(x, gamma)}, inputs{x, gamma};
    const GradcheckOptions options;
    detail::CheckedProgram s(outputs, inputs, options);
    const detail::Jacobians jacobians(s, detail::find_structure(s));
    const auto sweeps = detail::colour_rows(jacobians, 0);
    BOOST_TEST(sweeps.size() == 8u); // two rows fill four gains
    std::vector<int> seen(32, 0);
    for (const auto& rows : sweeps)
        for (const std::size_t i : rows) {
            ++seen[i];
            for (const std::size_t other : rows)
                if (i != other) BOOST_TEST((i / 4 != other / 4 && i % 4 != other % 4));
        }
    BOOST_TEST(seen == std::vector<int>(32, 1), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(many_rows_cost_no_more_than_one) {
    Generator rng(5);
    const Doubles x = rng.standard_normal({30, 8});
    Rows::long_runs = Rows::sweeps = 0;
    const GradcheckReport report = check({}, x);
    BOOST_TEST((report.verdict == Verdict::pass), to_string(report));
    BOOST_TEST(report.elements == 240u * 240);
    BOOST_TEST(Rows::sweeps < 8u + 30 + 40);   // a row's elements, a sweep against leaks for each row, and the contract
    BOOST_TEST(Rows::long_runs < 4u * 8 + 30); // four for each column of a row, and the second order
}

BOOST_AUTO_TEST_CASE(a_backward_that_leaks_across_rows_is_caught) {
    BOOST_TEST((check({}, point()).verdict == Verdict::pass), to_string(check({}, point())));
    for (const double leak : {1.0, 1e-3, 1e-7}) {
        const GradcheckReport report = check({.leak = leak}, point());
        BOOST_TEST((report.verdict == Verdict::fail), "leak " << leak);
        BOOST_TEST(report.failed == 16u); // four elements of the first row feel four others each
        BOOST_TEST(report.worst.index[0] == 0u);
        BOOST_TEST(report.worst.output_index[0] > 0u);
        BOOST_TEST(std::abs(report.worst.analytic - leak) < 1e-3 * leak);
        BOOST_TEST(report.blame.size() == 1u);
    }
    // Known zeros are exact: no leak is small enough.
    Identity zeros;
    zeros.says = "rows do not meet";
    zeros.input = "x";
    zeros.zero = [](std::size_t row, std::size_t column) { return row / 4 != column / 4; };
    BOOST_TEST((check({}, point(), {zeros}).verdict == Verdict::pass));
    const GradcheckReport tiny = check({.leak = 1e-30}, point(), {zeros});
    BOOST_TEST((tiny.verdict == Verdict::fail), to_string(tiny));
    BOOST_TEST(tiny.why.find("rows do not meet") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_a_row_feels_a_little_is_found) {
    const GradcheckReport right = check({Coupling::weak, 1e-12}, point());
    BOOST_TEST((right.verdict == Verdict::pass), to_string(right));
    const GradcheckReport forgotten = check({Coupling::weak, 0}, point());
    BOOST_TEST((forgotten.verdict == Verdict::fail), to_string(forgotten));
    BOOST_TEST(forgotten.transpose > 1e-13);
    Tape t;
    const auto x = t.variable(point(), "x");
    BOOST_TEST(stored({apply(Rows{Coupling::weak, 1e-12}, x)}, {x})[0] ==
               16u * 8 + 4 * 20); // the last row feels the first: its span is whole
}

BOOST_AUTO_TEST_CASE(what_a_row_feels_through_a_branch_is_found) {
    // A jump has no slope beside it; a backward that gives one is wrong.
    for (const double off : {-1e-3, 1e-3}) {
        BOOST_TEST((check({Coupling::step, 0}, point(corner + off)).verdict == Verdict::pass));
        BOOST_TEST((check({Coupling::step, 1}, point(corner + off)).verdict == Verdict::fail));
    }
    // A ramp that begins at the point: any slope between 0 and 1 will do, but it must be seen.
    for (const double slope : {0.0, 0.5, 1.0}) {
        const GradcheckReport report = check({Coupling::ramp, slope}, point());
        BOOST_TEST((report.verdict == Verdict::kink), slope << ": " << to_string(report));
        BOOST_TEST(report.kinks.size() == 20u);
    }
    BOOST_TEST((check({Coupling::ramp, 2}, point()).verdict == Verdict::fail));
    Tape t;
    const auto x = t.variable(point(), "x");
    BOOST_TEST(stored({apply(Rows{Coupling::ramp}, x)}, {x})[0] == 400u);
    // Beside its corner the side decides.
    BOOST_TEST((check({Coupling::ramp, 0}, point(corner - 1e-3)).verdict == Verdict::pass));
    BOOST_TEST((check({Coupling::ramp, 1}, point(corner + 1e-3)).verdict == Verdict::pass));
    BOOST_TEST((check({Coupling::ramp, 0}, point(corner + 1e-3)).verdict == Verdict::fail));
}

// A dependence that no step of the probe meets: dual numbers do, and the whole Jacobian is then looked at after all.
BOOST_AUTO_TEST_CASE(what_the_probe_cannot_see_is_seen_later) {
    Tape t;
    const auto x = t.variable(point(), "x");
    BOOST_TEST(stored({apply(Rows{Coupling::window}, x)}, {x})[0] == 5u * 16);
    const GradcheckReport report = check({Coupling::window}, point());
    BOOST_TEST((report.verdict == Verdict::fail), to_string(report));
    BOOST_TEST(report.transpose > 1e-3);
    BOOST_TEST(report.dual > 0.1); // the element itself, outside every span
}

BOOST_AUTO_TEST_CASE(slopes_that_cancel_at_equal_weights_do_not_hide) {
    // y = {x0, x1, x2, x3, x0 − x1 − x2 + x3}, the last cotangent forgotten.
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        GradcheckOptions options;
        options.seed = seed;
        const auto report = gradcheck(
            [](const Vars& x) {
                return custom(
                    "band",
                    [](const Doubles& a) {
                        return Doubles{a(0), a(1), a(2), a(3), a(0) - a(1) - a(2) + a(3)};
                    },
                    [](const Doubles&, const Doubles&, const Doubles& gy) {
                        return Doubles{gy(0), gy(1), gy(2), gy(3)};
                    },
                    x[0]);
            },
            {Doubles{0.3, -1.2, 0.7, 2.1}}, options);
        BOOST_TEST((report.verdict == Verdict::fail), to_string(report));
    }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_gradcheck_structure
