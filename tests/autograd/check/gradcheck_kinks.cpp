// gradcheck at kinks that no op declares, near and on them; along random directions; what it proposes; its JSON.
#include <boost/test/unit_test.hpp>

#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/autograd/tape/custom.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>
#include <chalkgrad/ops/streams/sinkhorn_log.hpp>

namespace test_gradcheck_kinks {
BOOST_AUTO_TEST_SUITE(gradcheck_kinks)

using namespace chalkgrad;
using Doubles = Array<double>;
using Vars = std::vector<Var<double>>;

namespace {

/// min(x, 7), which does not say that it bends there; its slope above, at and below 7.
struct SilentClamp {
    static constexpr const char* name = "silent_clamp";
    static constexpr const char* inputs[] = {"x"};
    double below, at, above;
    Shape shape(Shapes in) const { return in[0]; }
    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = in[0][i] > T(7) ? T(7) : in[0][i];
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        for (std::size_t i = 0; i < gy.size(); ++i)
            gx[0][i] = gy[i] * T(in[0][i] > T(7) ? above : in[0][i] < T(7) ? below : at);
    }
};

/// The same, which says so.
struct SpokenClamp : SilentClamp {
    static constexpr const char* name = "spoken_clamp";
    template <class T> void kinks(Ins<T> in, KinkSides& out) const {
        for (std::size_t i = 0; i < in[0].size(); ++i) out.branch(0, in[0][i], T(7));
    }
};

GradcheckOptions lenient() {
    GradcheckOptions options;
    options.blind_spots = false;
    return options;
}

const double distances[] = {0, 1e-7, -1e-7, 1e-5, -1e-5, 1e-3, -1e-3, 0.1, -0.1};

} // namespace

BOOST_AUTO_TEST_CASE(declared_kinks_raise_no_alarm_at_any_distance) {
    for (const double distance : distances) {
        const auto report = gradcheck([](const Vars& x) { return clamp(x[0], {}, 7.0); }, {{7 + distance}}, lenient());
        BOOST_TEST(
            (report.verdict == (distance == 0 ? Verdict::kink : Verdict::pass)), distance << ": " << to_string(report));
        if (distance != 0) continue;
        BOOST_TEST_REQUIRE(report.kinks.size() == 1u);
        BOOST_TEST(report.kinks[0].declared);
        BOOST_TEST(report.kinks[0].convention == 0); // the slope of the inner side
    }
}

// On a kink every value between the slopes is right, whatever it is called; none beyond them.
BOOST_AUTO_TEST_CASE(declared_kinks_bound_the_slope) {
    const auto at = [](double distance, double slope) {
        return gradcheck(
            [=](const Vars& x) {
                return apply(SpokenClamp{{1, slope, 0}}, x[0]);
            },
            {{7 + distance}}, lenient());
    };
    for (const double convention : {0.0, 0.5, 1.0}) {
        const auto report = at(0, convention);
        BOOST_TEST((report.verdict == Verdict::kink), to_string(report));
        BOOST_TEST_REQUIRE(report.kinks.size() == 1u);
        BOOST_TEST(std::abs(report.kinks[0].convention - (1 - convention)) < 1e-9);
    }
    for (const double slope : {2.0, -0.001, 1.001}) {
        const auto report = at(0, slope);
        BOOST_TEST((report.verdict == Verdict::fail), slope << ": " << to_string(report));
        BOOST_TEST(report.why.find("outside the slopes") != std::string::npos, to_string(report));
    }
    for (const double distance : distances) {
        const auto twice = gradcheck(
            [](const Vars& x) {
                return apply(SpokenClamp{{2, 2, 2}}, x[0]);
            },
            {{7 + distance}}, lenient());
        BOOST_TEST((twice.verdict == Verdict::fail), distance << ": " << to_string(twice));
    }
}

BOOST_AUTO_TEST_CASE(kinks_that_no_op_declares_are_seen) {
    const auto at = [](double distance, SilentClamp op) {
        return gradcheck([op](const Vars& x) { return apply(op, x[0]); }, {{7 + distance}}, lenient());
    };
    for (const double distance : distances) {
        const auto right = at(distance, {1, 1, 0});
        BOOST_TEST(
            (right.verdict == (distance == 0 ? Verdict::kink : Verdict::pass)), distance << ": " << to_string(right));
        const auto twice = at(distance, {2, 2, 2});
        BOOST_TEST((twice.verdict == Verdict::fail), distance << ": " << to_string(twice));
    }
    for (const double convention : {0.0, 0.5, 1.0}) {
        const auto report = at(0, {1, convention, 0});
        BOOST_TEST((report.verdict == Verdict::kink), to_string(report));
        BOOST_TEST_REQUIRE(report.kinks.size() == 1u);
        BOOST_TEST(!report.kinks[0].declared);
        BOOST_TEST(std::abs(report.kinks[0].convention - (1 - convention)) < 1e-9); // 0 is the left slope, 1
    }
}

BOOST_AUTO_TEST_CASE(lambdas_in_double_have_kinks_too) {
    const auto at = [](double distance, double slope) {
        return gradcheck(
            [slope](const Vars& x) {
                return custom(
                    "min7", [](const Doubles& a) { return Doubles{a(0) > 7 ? 7 : a(0)}; },
                    [slope](const Doubles& a, const Doubles&, const Doubles& gy) {
                        return Doubles{a(0) > 7 ? 0 : slope * gy(0)};
                    },
                    x[0]);
            },
            {{7 + distance}}, lenient());
    };
    for (const double distance : distances) {
        const auto right = at(distance, 1);
        BOOST_TEST(
            (right.verdict == (distance == 0 ? Verdict::kink : Verdict::pass)), distance << ": " << to_string(right));
        BOOST_TEST((at(distance, 2).verdict == Verdict::fail), distance); // above 7 it is seen at another point
    }
}

BOOST_AUTO_TEST_CASE(directions_first_and_the_jacobian_when_they_disagree) {
    Generator rng(5);
    const std::vector<Doubles> point = {
        rng.standard_normal({4, 6}), rng.standard_normal({6}), rng.standard_normal({6, 6})};
    GradcheckOptions options;
    options.coverage = Coverage::projected;
    const auto right = gradcheck([](const Vars& x) { return matmul(rms_norm(x[0], x[1]), x[2]); }, point, options);
    BOOST_TEST((right.verdict == Verdict::pass), to_string(right));
    BOOST_TEST(right.projected);
    BOOST_TEST(right.difference < 1e-12);

    const auto wrong = gradcheck(
        [](const Vars& x) {
            return matmul(apply(SilentClamp{1.001, 1, 0}, x[0]), x[2]);
        },
        point, options);
    BOOST_TEST((wrong.verdict == Verdict::fail));
    BOOST_TEST(!wrong.projected);
    BOOST_TEST(wrong.worst.input == "x0");
    BOOST_TEST(wrong.failed > 0u);
}

BOOST_AUTO_TEST_CASE(inconclusive_comes_with_a_point_that_would_show_it) {
    const auto inside = [](const Vars& x) { return clamp(x[0], -7.0, 7.0); };
    const auto report = gradcheck(inside, {{0.5, -1, 2, 3, 0.1}});
    BOOST_TEST((report.verdict == Verdict::inconclusive));
    BOOST_TEST_REQUIRE(report.proposal.size() == 1u);
    BOOST_TEST((gradcheck(inside, report.proposal).verdict == Verdict::pass));

    Generator rng(1);
    const auto norm = [](const Vars& x) { return rms_norm(x[0], x[1]); };
    const auto ones = gradcheck(norm, {rng.standard_normal({3, 2}), {1, 1}});
    BOOST_TEST((ones.verdict == Verdict::inconclusive));
    BOOST_TEST_REQUIRE(ones.proposal.size() == 2u);
    BOOST_TEST((gradcheck(norm, ones.proposal).verdict == Verdict::pass));

    // Nothing shows an input that is not used: no proposal.
    BOOST_TEST(gradcheck([](const Vars& x) { return x[0] * 2; }, std::vector<Doubles>{Doubles{1.5}, Doubles{2.5}})
                   .proposal.empty());
}

// An implicit gradient is that of a limit: it is right where the rounds have come close to it, and that they do not everywhere is no doubt.
BOOST_AUTO_TEST_CASE(implicit_gradients_hold_in_the_limit) {
    const GradcheckReport report = gradcheck(
        [](const Vars& v) {
            return sinkhorn_log(v[0], {80, SinkhornOrder::rows_first, SinkhornGradient::implicit});
        },
        {{{0.3, -1, 0.2}, {0.5, 0.1, -0.7}, {1, -0.4, 0.6}}});
    BOOST_TEST((report.verdict == Verdict::pass), to_string(report));
    BOOST_TEST(report.notes.find("the rounds of line 1 (sinkhorn_log) do not come close") != std::string::npos,
        to_string(report));
}

BOOST_AUTO_TEST_CASE(json_has_the_fields_of_the_contract) {
    const auto report = gradcheck([](const Vars& x) { return apply(SilentClamp{2, 1, 0}, x[0]); }, {{1, 8}});
    const auto json = nlohmann::json::parse(to_json(report));
    BOOST_TEST(json["verdict"] == "fail");
    for (const char* const key : {"output", "input", "index", "analytic", "numeric", "relative_error", "tolerance"})
        BOOST_TEST(json["worst"].contains(key), key);
    for (const char* const key : {"difference", "dual", "identity", "transpose", "second_order"})
        BOOST_TEST(json["oracles"][key].is_number(), key);
    BOOST_TEST(json["worst"]["index"] == std::vector<std::size_t>{0});
    BOOST_TEST(json["worst"]["analytic"] == 2);
    BOOST_TEST(json["blame"][0]["op"] == "silent_clamp");
    BOOST_TEST(json["kinks"].empty());
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_gradcheck_kinks
