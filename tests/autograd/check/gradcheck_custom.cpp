// gradcheck of users' ops: wrong uses of the cotangent, options, what lies beyond the point, and what the report says.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/autograd/tape/custom.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>

namespace test_gradcheck_custom {
BOOST_AUTO_TEST_SUITE(gradcheck_custom)

using namespace chalkgrad;
using Doubles = Array<double>;
using Vars = std::vector<Var<double>>;

namespace {

void says(const GradcheckReport& report, Verdict verdict, const std::string& words) {
    BOOST_TEST((report.verdict == verdict), to_string(report));
    BOOST_TEST(report.why.find(words) != std::string::npos, "\"" << words << "\" is not in " << to_string(report));
}

/// y = x² of one lambda each, with another backward.
template <class Vjp> auto square_with(Vjp vjp, CustomOptions options = {}) {
    return [=](const Vars& v) {
        return custom(
            "square", [](const Doubles& x) { return Doubles(x * x); }, vjp, options, v[0]);
    };
}
/// Its right backward, of another cotangent.
template <class Change> auto square_of(Change change) {
    return square_with(
        [=](const Doubles& x, const Doubles&, const Doubles& gy) { return Doubles(2. * x * change(gy)); });
}

/// x + b, where b's gradient is the given reduction of gy.
template <class T> using Reduction = std::function<T(const T* column, std::size_t rows, std::size_t stride)>;
template <class T> T right_sum(const T* column, std::size_t rows, std::size_t stride) {
    T sum(0);
    for (std::size_t i = 0; i < rows; ++i) sum = sum + column[i * stride];
    return sum;
}
template <class T> T largest(const T* column, std::size_t rows, std::size_t stride) {
    T most = column[0];
    for (std::size_t i = 0; i < rows; ++i)
        if (std::abs(column[i * stride]) > std::abs(most)) most = column[i * stride];
    return most;
}
template <class T> T in_float(const T* column, std::size_t rows, std::size_t stride) {
    float sum = 0;
    for (std::size_t i = 0; i < rows; ++i) sum += static_cast<float>(column[i * stride]);
    return T(static_cast<double>(sum));
}
enum class Sum { right, largest, in_float };
template <class T> T reduced(Sum kind, const T* column, std::size_t rows, std::size_t stride) {
    if constexpr (std::is_floating_point_v<T>) {
        if (kind == Sum::largest) return largest(column, rows, stride);
        if (kind == Sum::in_float) return in_float(column, rows, stride);
    }
    return right_sum(column, rows, stride);
}
struct AddBias {
    static constexpr const char* name = "add_bias";
    static constexpr const char* inputs[] = {"x", "b"};
    Sum kind;
    Shape shape(Shapes in) const { return in[0]; }
    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = in[0][i] + in[1][i % y.last()];
    }
    template <class T> void vjp(Ins<T>, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        for (std::size_t i = 0; i < gy.size(); ++i) gx[0][i] = gy[i];
        for (std::size_t j = 0; j < gy.last(); ++j) gx[1][j] = reduced(kind, gy.data + j, gy.rows(), gy.last());
    }
};
Var<double> add_bias(Sum kind, const Vars& v) {
    return custom(
        "add_bias", [](const Doubles& x, const Doubles& b) { return Doubles(x + b); },
        [kind](const Doubles&, const Doubles&, const Doubles&, const Doubles& gy) {
            Doubles b = Doubles::from_shape({gy.shape()[1]});
            for (std::size_t j = 0; j < b.size(); ++j) b(j) = reduced(kind, gy.data() + j, gy.shape()[0], b.size());
            return std::tuple(gy, b);
        },
        v[0], v[1]);
}

/// clamp(x, -7, 7) whose slope is 1 beyond too.
template <class... Options> auto never_closed(Options... options) {
    return [=](const Vars& v) {
        return custom(
            "never_closed", [](const Doubles& x) { return Doubles(xt::clip(x, -7., 7.)); },
            [](const Doubles&, const Doubles&, const Doubles& gy) { return gy; }, options..., v[0]);
    };
}

const std::vector<Doubles> point = {{0.5, -1.25, 2, 3}};

} // namespace

// Jᵀw is the sum of the rows of J for dense w, in the scalar of the backward, whatever the seed.
BOOST_AUTO_TEST_CASE(cotangents_add_up) {
    const std::pair<const char*, std::function<Doubles(Doubles)>> changes[] = {
        {"the largest alone",
            [](Doubles g) {
                const auto most =
                    std::max_element(g.begin(), g.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
                for (auto v = g.begin(); v != g.end(); ++v)
                    if (v != most) *v = 0;
                return g;
            }},
        {"0 or the largest",
            [](Doubles g) {
                double most = 0;
                for (const double v : g) most = std::max(most, std::abs(v));
                for (double& v : g) v = std::abs(v) > most / 2 ? std::copysign(most, v) : 0;
                return g;
            }},
        {"in float", [](Doubles g) {
             for (double& v : g) v = static_cast<float>(v);
             return g;
         }}};
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Generator rng{Seed(seed)};
        GradcheckOptions options;
        options.seed = seed;
        const std::vector<Doubles> one = {rng.standard_normal({6})},
                                   two = {rng.standard_normal({5, 3}), rng.standard_normal({3})};
        BOOST_TEST((gradcheck(square_of([](const Doubles& g) { return g; }), one, options).verdict == Verdict::pass));
        for (const auto& [name, change] : changes) BOOST_TEST_CONTEXT(name << ", seed " << seed) {
                const GradcheckReport report = gradcheck(square_of(change), one, options);
                says(report, Verdict::fail, "(square): the backward of square is not linear in the cotangent");
                BOOST_TEST_REQUIRE(report.blame.size() == 1u);
                BOOST_TEST((report.blame[0].cause == Cause::contract));
            }
        for (const bool as_rule : {false, true})
            for (const Sum kind : {Sum::right, Sum::largest, Sum::in_float}) {
                const GradcheckReport report = gradcheck(
                    [=](const Vars& v) { return as_rule ? apply(AddBias{kind}, v[0], v[1]) : add_bias(kind, v); }, two,
                    options);
                if (kind == Sum::right) {
                    BOOST_TEST((report.verdict == Verdict::pass), to_string(report));
                    BOOST_TEST(report.why == "");
                    continue;
                }
                says(report, Verdict::fail, "not linear in the cotangent");
                BOOST_TEST(report.failed == 0u);
            }
    }
}

BOOST_AUTO_TEST_CASE(options_are_used) {
    // Names, in every line.
    const auto wrong =
        gradcheck(square_with([](const Doubles& x, const Doubles&, const Doubles& gy) { return Doubles(3. * x * gy); },
                      {.inputs = {"side"}}),
            point);
    says(wrong, Verdict::fail, "its input 'side' (x0) is wrong: off by a constant factor 1.5");
    const Tape tape;
    const auto gamma = tape.variable(point[0], "gamma");
    const auto y =
        square_with([](const Doubles& x, const Doubles&, const Doubles& gy) { return Doubles(3. * x * gy); })({gamma});
    says(gradcheck(Vars{y}, Vars{gamma}), Verdict::fail, "its input 'gamma' is wrong"); // not x0: it has a name
    BOOST_CHECK_THROW(gradcheck(square_with([](const Doubles&, const Doubles&, const Doubles& gy) { return gy; },
                                    {.inputs = {"a", "b"}}),
                          point),
        Error);

    // Kinks: no difference is taken across, and a side that no number lies on is named.
    const auto relu = [](CustomOptions options) {
        return [=](const Vars& v) {
            return custom(
                "relu", [](const Doubles& x) { return Doubles(xt::maximum(x, 0.)); },
                [](const Doubles& x, const Doubles&, Doubles gy) {
                    for (std::size_t i = 0; i < gy.size(); ++i) gy(i) *= x(i) > 0;
                    return gy;
                },
                options, v[0]);
        };
    };
    for (const double at : {0., 1e-9, -1e-9, 1e-4})
        for (const CustomOptions& options : {CustomOptions{.kinks = kinks_at({0})}, CustomOptions{}}) {
            const auto report = gradcheck(relu(options), {{at, 2, -1}});
            BOOST_TEST((report.verdict == (at == 0 ? Verdict::kink : Verdict::pass)), at << ": " << to_string(report));
            if (at == 0) BOOST_TEST(report.kinks[0].declared == (options.kinks != nullptr));
        }
    says(gradcheck(relu({.kinks = kinks_at({0})}), {{1, 2, 3}}), Verdict::inconclusive, "no number lies below 0");
    BOOST_CHECK_THROW(kinks_at({1, 2, 3, 4, 5}), Error);

    // A length: sin(1e4 x) bends long before x is another number.
    const auto wave = [](double slope, CustomOptions options) {
        return gradcheck(
            [=](const Vars& v) {
                return custom(
                    "wave", [](const Doubles& x) { return Doubles(xt::sin(1e4 * x)); },
                    [slope](const Doubles& x, const Doubles&, const Doubles& gy) {
                        return Doubles(slope * xt::cos(1e4 * x) * gy);
                    },
                    options, v[0]);
            },
            {{0.3, 1, -2}});
    };
    const CustomOptions of_length{.length_scale = [](const auto&) { return 1e-4; }};
    BOOST_TEST((wave(1e4, of_length).verdict == Verdict::pass), to_string(wave(1e4, of_length)));
    BOOST_TEST((wave(1.001e4, of_length).verdict == Verdict::fail));

    // Identities of the op hold wherever it stands: here of a difference that should not see a constant.
    const auto centred = [](double weight) {
        return [=](const Vars& v) {
            const auto less_mean = [](const Doubles& x, double part) { return Doubles(x - part * xt::mean(x)()); };
            return exp(custom(
                "centred", [=](const Doubles& x) { return less_mean(x, weight); },
                [=](const Doubles&, const Doubles&, const Doubles& gy) { return less_mean(gy, weight); },
                {.inputs = {"x"},
                    .identities =
                        [](const CustomOptions::Inputs& x) {
                            return std::vector{known_product("J 1 = 0", "x", Doubles(xt::ones_like(x[0])))};
                        }},
                v[0] * 0.5));
        };
    };
    const GradcheckReport right = gradcheck(centred(1), point);
    BOOST_TEST((right.verdict == Verdict::pass), to_string(right));
    BOOST_TEST_REQUIRE(right.identity.has_value());
    says(gradcheck(centred(0.5), point), Verdict::fail, "J 1 = 0");
}

BOOST_AUTO_TEST_CASE(what_lies_beyond_the_point_is_looked_at) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Generator rng{Seed(seed)};
        const std::vector<Doubles> inside = {rng.uniform(-4, 4, Shape{5})};
        for (const bool declared : {false, true}) {
            const CustomOptions options = declared ? CustomOptions{.kinks = kinks_at({-7, 7})} : CustomOptions{};
            const GradcheckReport report = gradcheck(never_closed(options), inside);
            says(report, Verdict::inconclusive,
                declared ? "no number lies above 7" : "beyond this point the backward is wrong");
            BOOST_TEST_REQUIRE(report.proposal.size() == 1u);
            BOOST_TEST((gradcheck(never_closed(options), report.proposal).verdict == Verdict::fail));
        }
    }
    // One number lies on one side of a kink: the others are looked at by themselves.
    const auto clamped = [](const Vars& v) { return clamp(v[0], -7.0, 7.0); };
    for (const double x : {0., 0.5, -3., 8., -20.})
        for (const Doubles& one : {Doubles(x), Doubles{x}}) {
            BOOST_TEST((gradcheck(clamped, {one}).verdict == Verdict::pass),
                x << ": " << to_string(gradcheck(clamped, {one})));
            const GradcheckReport wrong = gradcheck(never_closed(CustomOptions{.kinks = kinks_at({-7, 7})}), {one});
            if (std::abs(x) > 7) {
                BOOST_TEST((wrong.verdict == Verdict::fail));
                continue;
            }
            says(wrong, Verdict::inconclusive, "beyond this point the backward is wrong");
            BOOST_TEST((gradcheck(never_closed(), wrong.proposal).verdict == Verdict::fail));
        }
}

// One reason, the right one, with its amount.
BOOST_AUTO_TEST_CASE(the_report_says_one_thing) {
    const auto of_slope = [](auto slope) {
        return square_with([=](const Doubles& x, const Doubles&, const Doubles& gy) { return Doubles(slope(x) * gy); });
    };
    for (const double off : {1e-7, 1e-8, 3e-9, -2e-9}) { // the blame is as fine as the verdict
        const auto report = gradcheck(of_slope([=](const Doubles& x) { return Doubles((1 + off) * 2. * x); }), point);
        says(report, Verdict::fail, "off by a constant factor 1 ");
        BOOST_TEST(report.blame.size() == 1u);
    }
    says(gradcheck(of_slope([](const Doubles& x) { return Doubles(2. * x * x / (x - 2.) * (x - 2.) / x); }), point),
        Verdict::fail, "the gradient is not finite where the slope is");
    int calls = 0;
    const GradcheckReport unsteady =
        gradcheck(square_of([&](const Doubles& g) { return Doubles(g * (1 + 1e-3 * ++calls)); }), point);
    says(unsteady, Verdict::fail, "gives another gradient when it runs again; it differs by 0.0");
    BOOST_TEST(unsteady.why.find(';') == unsteady.why.rfind(';'), unsteady.why); // that, and no other diagnosis
    const auto sign = gradcheck(
        [](const Vars& v) {
            return custom(
                "minus", [](const Doubles& x) { return Doubles(xt::exp(x)); },
                [](const Doubles&, const Doubles& y, const Doubles& gy) { return Doubles(-y * gy); }, v[0]);
        },
        point);
    BOOST_TEST(sign.why == "line 1 (minus): the gradient of its input 'x0' is wrong: the sign is wrong");
    GradcheckOptions quick;
    quick.quick = true;
    for (const double x : {-5., 0.1, 1., 4., 20.}) {
        const auto report = gradcheck([](const Vars& v) { return exp(v[0]); }, {{x, x + 0.5}}, quick);
        BOOST_TEST((report.verdict == Verdict::pass), to_string(report));
        BOOST_TEST(report.why == "");
    }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_gradcheck_custom
