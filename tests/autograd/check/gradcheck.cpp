// gradcheck: accepts right backwards, rejects wrong ones and says where, tells kinks from errors.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/autograd/tape/cast.hpp>
#include <chalkgrad/autograd/tape/custom.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>
#include <chalkgrad/ops/reduce/softmax.hpp>

namespace test_gradcheck {
BOOST_AUTO_TEST_SUITE(gradcheck)

using namespace chalkgrad;
using Doubles = Array<double>;
using Vars = std::vector<Var<double>>;

namespace {

/// RMSNorm of one row with a backward that can be made wrong in the ways of published bugs.
enum class Fault { none, statistic_constant, gamma_left_out, d_left_out, gamma_gradient_zero, transposed_sign };
struct FaultyNorm {
    static constexpr const char* name = "faulty_norm";
    static constexpr const char* inputs[] = {"x", "gamma"};
    Fault fault;
    Shape shape(Shapes in) const { return in[0]; }
    template <class T> static T inverse_rms(In<T> x) {
        using std::sqrt;
        T square(0);
        for (std::size_t j = 0; j < x.size(); ++j) square += x[j] * x[j];
        return T(1) / sqrt(square / T(static_cast<double>(x.size())) + T(1e-6L));
    }
    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        const T r = inverse_rms(in[0]);
        for (std::size_t j = 0; j < y.size(); ++j) y[j] = in[1][j] * in[0][j] * r;
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        const In<T> x = in[0], gamma = in[1];
        const T r = inverse_rms(x);
        T m(0);
        for (std::size_t j = 0; j < x.size(); ++j)
            m += (fault == Fault::gamma_left_out ? T(1) : gamma[j]) * gy[j] * x[j] * r;
        if (fault != Fault::d_left_out) m = m / T(static_cast<double>(x.size()));
        if (fault == Fault::statistic_constant) m = T(0);
        if (fault == Fault::transposed_sign) m = -m;
        for (std::size_t j = 0; j < x.size(); ++j) {
            if (gx[0]) gx[0][j] = r * ((fault == Fault::gamma_left_out ? T(1) : gamma[j]) * gy[j] - x[j] * r * m);
            if (gx[1]) gx[1][j] = fault == Fault::gamma_gradient_zero ? T(0) : gy[j] * x[j] * r;
        }
    }
};

/// factor · 1e-6 x³ backwards: the factor 2 that an absolute tolerance lets through.
struct Cubic {
    static constexpr const char* name = "cubic";
    static constexpr const char* inputs[] = {"x"};
    double factor;
    Shape shape(Shapes in) const { return in[0]; }
    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = T(1e-6L) * in[0][i] * in[0][i] * in[0][i];
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        for (std::size_t i = 0; i < gy.size(); ++i) gx[0][i] = T(factor) * T(3e-6L) * in[0][i] * in[0][i] * gy[i];
    }
};

GradcheckReport check(const std::vector<Doubles>& point, const std::function<Var<double>(const Vars&)>& f) {
    return chalkgrad::gradcheck(f, point);
}

} // namespace

BOOST_AUTO_TEST_CASE(norms_that_lost_a_term) { // G14
    const std::vector<Doubles> point = {{2, -1, 3, 0}, {1, 0.5, -2, 3}};
    const auto with = [&](Fault fault) {
        return check(point, [fault](const Vars& x) { return apply(FaultyNorm{fault}, x[0], x[1]); });
    };
    const GradcheckReport right = with(Fault::none);
    BOOST_TEST((right.verdict == Verdict::pass), to_string(right));
    BOOST_TEST(right.difference < 1e-14);
    BOOST_TEST(right.dual < 1e-15);
    BOOST_TEST(right.transpose < 1e-15);
    for (const Fault fault : {Fault::statistic_constant, Fault::gamma_left_out, Fault::d_left_out,
             Fault::gamma_gradient_zero, Fault::transposed_sign}) {
        const GradcheckReport report = with(fault);
        BOOST_TEST((report.verdict == Verdict::fail), "fault " << static_cast<int>(fault));
        BOOST_TEST(report.worst.op == "faulty_norm");
        BOOST_TEST(report.worst.input == (fault == Fault::gamma_gradient_zero ? "x1" : "x0"));
        BOOST_TEST(report.worst.relative_error > 0.01);
        BOOST_TEST(report.failed > 0u);
    }
}

BOOST_AUTO_TEST_CASE(blame_names_the_line_and_the_cause) {
    Generator rng(4);
    const std::vector<Doubles> point = {
        rng.standard_normal({6}), rng.standard_normal({6}), rng.standard_normal({6, 6})};
    const auto hint = [&](Fault fault) {
        const auto report = check(point, [fault](const Vars& x) {
            const auto scope = x[0].tape().scope("attention");
            return x[0] + matmul(apply(FaultyNorm{fault}, exp(0.1 * x[0]), x[1]), x[2]);
        });
        BOOST_TEST((report.verdict == Verdict::fail));
        BOOST_REQUIRE_EQUAL(report.blame.size(), 1u);
        BOOST_TEST(report.blame[0].op == "faulty_norm");
        BOOST_TEST(report.blame[0].scope == "attention");
        BOOST_TEST(report.why.find("faulty_norm") != std::string::npos);
        return report.blame[0].hint;
    };
    BOOST_TEST(hint(Fault::statistic_constant).find("along x") != std::string::npos);
    BOOST_TEST(hint(Fault::transposed_sign).find("along x") != std::string::npos);
    BOOST_TEST(hint(Fault::gamma_gradient_zero).find("never written") != std::string::npos);
    BOOST_TEST(hint(Fault::gamma_left_out).find("each output") != std::string::npos);
    Tape t;
    const auto x = t.variable(point[0]);
    BOOST_TEST(blame(x + rms_norm(x, t.variable(point[1]))).empty());
    const auto factor = check({{0.5, 2}}, [](const Vars& x) { return apply(Cubic{2}, x[0]); });
    BOOST_REQUIRE_EQUAL(factor.blame.size(), 1u);
    BOOST_TEST(factor.blame[0].hint == "off by a constant factor 2");
}

BOOST_AUTO_TEST_CASE(softmax_is_not_blind) { // G15
    for (const double factor : {1.0, 2.0, 0.0}) {
        const auto f = [factor](const Vars& x) {
            // factor·softmax′ in the backward, softmax in the forward
            const Var<double> y = softmax(x[0]);
            return factor * y + stop_gradient((1 - factor) * y);
        };
        const std::vector<Doubles> point = {{1, 2, -0.5}};
        BOOST_TEST((check(point, f).verdict == (factor == 1 ? Verdict::pass : Verdict::fail)), factor);
        // Held fixed in the differences too, what lies behind a stop is a constant; with factor 0 nothing depends on x.
        GradcheckOptions held;
        held.hold_stops = true;
        BOOST_TEST(
            (chalkgrad::gradcheck(f, point, held).verdict == (factor == 0 ? Verdict::inconclusive : Verdict::pass)),
            factor);
    }
    const auto wrong = [](double factor) {
        Tape t;
        const auto x = t.variable(Doubles{1, 2, -0.5}, "x");
        const auto y = custom(
            "softmax",
            [](const Doubles& a) {
                Doubles e = xt::exp(a);
                double total = 0;
                for (const double v : e) total += v;
                return Doubles(e / total);
            },
            [factor](const Doubles&, const Doubles& p, const Doubles& gy) {
                double dot = 0;
                for (std::size_t i = 0; i < p.size(); ++i) dot += p(i) * gy(i);
                return Doubles(factor * p * (gy - dot));
            },
            x);
        return chalkgrad::gradcheck(Vars{y}, Vars{x});
    };
    BOOST_TEST((wrong(1).verdict == Verdict::pass), to_string(wrong(1)));
    BOOST_TEST((wrong(2).verdict == Verdict::fail));
    BOOST_TEST((wrong(0).verdict == Verdict::fail));
}

BOOST_AUTO_TEST_CASE(small_gradients_are_judged_by_their_own_size) { // G16
    const auto with = [](double factor) {
        return check({{0.5}}, [factor](const Vars& x) { return apply(Cubic{factor}, x[0]); });
    };
    BOOST_TEST((with(1).verdict == Verdict::pass));
    for (const double factor : {2.0, 1.001, 1 + 1e-5, 1 + 1e-8, 1 + 1e-12}) {
        const GradcheckReport report = with(factor);
        BOOST_TEST((report.verdict == Verdict::fail), "factor " << factor);
        BOOST_TEST(std::abs(report.worst.relative_error - (factor - 1)) < 1e-9);
        BOOST_TEST(std::abs(report.worst.numeric - 7.5e-7) < 1e-18);
    }
}

BOOST_AUTO_TEST_CASE(kinks_are_no_errors) { // G17, G04
    const GradcheckReport relu_report =
        check({{0, 3e-7, -3e-7, 0.01, -1, 2}}, [](const Vars& x) { return relu(x[0]); });
    BOOST_TEST((relu_report.verdict == Verdict::kink), to_string(relu_report));
    BOOST_REQUIRE_EQUAL(relu_report.kinks.size(), 1u);
    BOOST_TEST(relu_report.kinks[0].index == std::vector<std::size_t>{0});
    BOOST_TEST(std::abs(relu_report.kinks[0].left) < 1e-15);
    BOOST_TEST(std::abs(relu_report.kinks[0].right - 1) < 1e-15);
    BOOST_TEST(relu_report.kinks[0].convention == 0);

    const GradcheckReport clamp_report =
        check({{-9, -1.5, 0.25, 2.5, 3}}, [](const Vars& x) { return clamp(x[0], -1.5, 2.5); });
    BOOST_TEST((clamp_report.verdict == Verdict::kink), to_string(clamp_report));
    BOOST_REQUIRE_EQUAL(clamp_report.kinks.size(), 2u);
    BOOST_TEST(clamp_report.kinks[0].analytic == 1); // the closed interval passes
    BOOST_TEST(clamp_report.kinks[1].analytic == 1);

    Doubles near = {7, 7 + 1e-7, 7 - 1e-7, 7 + 1e-5, 7 - 1e-5, 7 + 1e-3, 7 - 1e-3, 7.1, 6.9};
    const GradcheckReport near_report = check({near}, [](const Vars& x) { return clamp(x[0], {}, 7.0); });
    BOOST_TEST((near_report.verdict == Verdict::kink), to_string(near_report));
    BOOST_TEST(near_report.kinks.size() == 1u);

    // A slope of 2 at the kink lies outside the slopes on both sides.
    const auto steep = [](const Vars& x) { return 2 * clamp(x[0], {}, 7.0) - stop_gradient(clamp(x[0], {}, 7.0)); };
    BOOST_TEST((check({{7}}, steep).verdict == Verdict::fail));
    GradcheckOptions held; // the stopped part is a constant then: slopes 2 and 0
    held.hold_stops = true;
    BOOST_TEST((chalkgrad::gradcheck(steep, {{7}}, held).verdict == Verdict::kink));
}

BOOST_AUTO_TEST_CASE(whole_programs) {
    Generator rng(3);
    const std::vector<Doubles> point = {
        rng.standard_normal({4, 6}), rng.standard_normal({6}), rng.standard_normal({6, 6})};
    const GradcheckReport report =
        check(point, [](const Vars& x) { return x[0] + matmul(rms_norm(x[0], x[1]), x[2]); });
    BOOST_TEST((report.verdict == Verdict::pass), to_string(report));
    BOOST_TEST(report.elements == 24u * (24 + 6 + 36));
    BOOST_TEST(report.difference < 1e-12);

    // Several outputs.
    const GradcheckReport two = chalkgrad::gradcheck(
        [](const Vars& x) {
            return Vars{exp(x[0]), sum(x[0] * x[0])};
        },
        {rng.standard_normal({3})});
    BOOST_TEST((two.verdict == Verdict::pass));
    BOOST_TEST(two.elements == 12u);
}

BOOST_AUTO_TEST_CASE(float_programs_and_misuse_are_refused) { // G18
    Tape t;
    const auto x = t.variable(Doubles{0.3}, "x");
    const auto y = cast<double>(cast<float>(x)) * x;
    BOOST_CHECK_EXCEPTION(chalkgrad::gradcheck(Vars{y}, Vars{x}), Error,
        [](const Error& e) { return std::string(e.what()).find("float") != std::string::npos; });
    const auto c = t.constant(Doubles{1.0}, "c");
    BOOST_CHECK_THROW(chalkgrad::gradcheck(Vars{x * c}, Vars{c}), Error);
    BOOST_CHECK_THROW(chalkgrad::gradcheck(Vars{x * c}, Vars{}), Error);
    BOOST_CHECK_THROW(chalkgrad::gradcheck(Vars{}, Vars{x}), Error);
}

BOOST_AUTO_TEST_CASE(points_that_decide_nothing_are_no_pass) {
    Generator rng(6);
    const Doubles x = rng.standard_normal({4}), ones{1, 1, 1, 1};
    const auto verdict = [](const GradcheckReport& report, const char* word) {
        BOOST_TEST(report.why.find(word) != std::string::npos, to_string(report));
        return report.verdict;
    };
    const auto norm = check({x, ones}, [](const Vars& v) { return rms_norm(v[0], v[1]); });
    BOOST_TEST((verdict(norm, "x1 is 1") == Verdict::inconclusive));
    const auto inside = check({x}, [](const Vars& v) { return clamp(v[0], -7.0, 7.0); });
    BOOST_TEST((verdict(inside, "below -7") == Verdict::inconclusive));
    BOOST_TEST((verdict(inside, "above 7") == Verdict::inconclusive));
    const auto idle = check({x, ones * 2.}, [](const Vars& v) { return v[0] * 2; });
    BOOST_TEST((verdict(idle, "depends on x1") == Verdict::inconclusive));
    GradcheckOptions lenient;
    lenient.blind_spots = false;
    BOOST_TEST((chalkgrad::gradcheck([](const Vars& v) { return clamp(v[0], -7.0, 7.0); }, {x}, lenient).verdict ==
                Verdict::pass));

    // A backward that is not what the tape relies on.
    Tape t;
    const auto leaf = t.variable(x, "x");
    const auto with = [&](auto vjp) {
        return chalkgrad::gradcheck(Vars{custom(
                                        "odd", [](const Doubles& a) { return a; }, vjp, leaf)},
            Vars{leaf});
    };
    int calls = 0;
    const auto unsteady = with(
        [&calls](const Doubles&, const Doubles&, const Doubles& gy) { return Doubles(gy * (1 + 1e-15 * ++calls)); });
    BOOST_TEST((verdict(unsteady, "runs again") == Verdict::fail));
    const auto offset = with([](const Doubles&, const Doubles&, const Doubles& gy) { return Doubles(gy + 1e-13); });
    BOOST_TEST((verdict(offset, "cotangent of zero") == Verdict::fail));

    const GradcheckReport overflow = check({{800.0}}, [](const Vars& x) { return exp(x[0]); });
    BOOST_TEST((overflow.verdict == Verdict::inconclusive), to_string(overflow));
    BOOST_TEST(!overflow.why.empty());
}

BOOST_AUTO_TEST_CASE(directions) {
    Generator rng(1);
    Tape t;
    const auto x = t.variable(rng.standard_normal({50}), "x");
    const auto y = log(mean(square(rms_norm(x) + x)));
    const DirectionalSlope slope = directional_slope(y, x);
    BOOST_TEST(slope.relative_error < 1e-12);
    BOOST_TEST(slope.backward != 0);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_gradcheck
