// gradcheck names what is no function, no backward, or not what the tape relies on; none of it is a pass.
#include <boost/test/unit_test.hpp>

#include <memory>

#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/autograd/kernel/isa.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/autograd/tape/cast.hpp>
#include <chalkgrad/autograd/tape/custom.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>
#include <chalkgrad/ops/norm/layer_norm.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>
#include <chalkgrad/ops/shape/shape_ops.hpp>

namespace test_gradcheck_contract {
BOOST_AUTO_TEST_SUITE(gradcheck_contract)

using namespace chalkgrad;
using Doubles = Array<double>;
using Vars = std::vector<Var<double>>;

namespace {

/// y = x³, with a choice of broken promises.
enum class Broken {
    nothing,
    adds,
    leaves_one,
    writes_to_input,
    writes_backwards,
    float_differs,
    avx2_differs,
    forgets_tangents
};
struct Cube {
    static constexpr const char* name = "cube";
    static constexpr const char* inputs[] = {"x"};
    Broken broken;

    Shape shape(Shapes in) const { return in[0]; }
    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = in[0][i] * in[0][i] * in[0][i];
        if (broken == Broken::writes_to_input) const_cast<T&>(in[0][0]) = in[0][0] + T(1);
        if (broken == Broken::float_differs && std::is_same_v<T, float>) y[0] = y[0] * T(1.01);
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        for (std::size_t i = 0; i < gy.size(); ++i) {
            if (broken == Broken::leaves_one && i == 1) continue;
            if (broken == Broken::writes_backwards && i == 1) const_cast<T&>(in[0][1]) = in[0][1] * T(1 + 1e-12);
            T x = in[0][i];
            if constexpr (std::is_same_v<T, Dual<double>>)
                if (broken == Broken::forgets_tangents) x.d = 0;
            T g = T(3) * x * x * gy[i];
            if (broken == Broken::avx2_differs && isa() == Isa::avx2) g = g * T(1 + 1e-10);
            gx[0][i] = broken == Broken::adds ? gx[0][i] + g : g;
        }
    }
};

/// a · b, wrong only when not both want a gradient, or when both are one array.
struct Product {
    static constexpr const char* name = "product";
    static constexpr const char* inputs[] = {"a", "b"};
    enum class Fault { none, needs_both, one_array } fault;

    Shape shape(Shapes in) const { return in[0]; }
    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = in[0][i] * in[1][i];
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        const bool skips =
            (fault == Fault::needs_both && !gx[0]) || (fault == Fault::one_array && in[0].data == in[1].data);
        for (std::size_t i = 0; i < gy.size(); ++i) {
            if (gx[0]) gx[0][i] = gy[i] * in[1][i];
            if (gx[1]) gx[1][i] = skips ? T(0) : gy[i] * in[0][i];
        }
    }
};

const std::vector<Doubles> point = {{0.5, -1.25, 2}};

GradcheckReport check(Broken broken) {
    return gradcheck([broken](const Vars& x) { return apply(Cube{broken}, x[0]); }, point);
}

void refused(const GradcheckReport& report, const char* words, Verdict verdict = Verdict::fail) {
    BOOST_TEST((report.verdict == verdict), to_string(report));
    BOOST_TEST(report.why.find(words) != std::string::npos, "\"" << words << "\" is not in " << to_string(report));
}

} // namespace

BOOST_AUTO_TEST_CASE(rules_that_break_what_the_tape_relies_on) {
    const GradcheckReport right = check(Broken::nothing);
    BOOST_TEST((right.verdict == Verdict::pass), to_string(right));
    BOOST_TEST(right.second_order < 1e-13);
    refused(check(Broken::adds), "or adds to what was there");
    refused(check(Broken::leaves_one), "does not fill the gradient of its input 'x'");
    refused(check(Broken::writes_to_input), "must leave its inputs as they are");
    refused(check(Broken::writes_backwards), "");
    refused(check(Broken::float_differs), "the float kernels give another answer");
    // It saves nothing, so nothing is said of saved numbers.
    refused(check(Broken::forgets_tangents), "must compute in the type it runs in");
}

BOOST_AUTO_TEST_CASE(backwards_that_are_right_in_the_program_at_hand_only) {
    const std::vector<Doubles> two = {{0.5, -1.25, 2}, {1.5, 0.75, -0.5}};
    const auto with = [&](Product::Fault fault) {
        return gradcheck([=](const Vars& x) { return apply(Product{fault}, x[0], x[1]); }, two);
    };
    BOOST_TEST((with(Product::Fault::none).verdict == Verdict::pass), to_string(with(Product::Fault::none)));
    refused(with(Product::Fault::needs_both), "when not all its inputs want one");
    refused(with(Product::Fault::one_array), "'a' and 'b' are one and the same");

    // An op may refuse two inputs that are one.
    const auto apart = gradcheck(
        [](const Vars& x) {
            return custom(
                "inverse_distance",
                [](const Doubles& a, const Doubles& b) {
                    if (a == b) throw Error("inverse_distance: the points are one");
                    return Doubles(1. / (a - b));
                },
                [](const Doubles&, const Doubles&, const Doubles& y, const Doubles& gy) {
                    return std::vector<Doubles>{Doubles(-gy * y * y), Doubles(gy * y * y)};
                },
                x[0], x[1]);
        },
        two);
    BOOST_TEST((apart.verdict == Verdict::pass), to_string(apart));

    const auto custom_with = [](auto vjp) {
        return gradcheck(
            [=](const Vars& x) {
                return custom(
                    "odd", [](const Doubles& a) { return a; }, vjp, x[0]);
            },
            point);
    };
    const auto limited = [](double low, double high) {
        return [=](const Doubles&, const Doubles&, Doubles gy) {
            for (double& g : gy) g = std::abs(g) < low ? 0 : std::min(std::max(g, -high), high);
            return gy;
        };
    };
    BOOST_TEST((custom_with(limited(0, HUGE_VAL)).verdict == Verdict::pass));
    refused(custom_with(limited(0, 1e3)), "not linear in the cotangent");
    refused(custom_with(limited(1e-8, HUGE_VAL)), "not linear in the cotangent");

    // The square, which remembers its input itself.
    const auto kept = std::make_shared<Doubles>();
    refused(gradcheck(
                [=](const Vars& x) {
                    return custom(
                        "square",
                        [=](const Doubles& a) {
                            *kept = a;
                            return Doubles(a * a);
                        },
                        [=](const Doubles&, const Doubles&, const Doubles& gy) { return Doubles(2. * *kept * gy); },
                        x[0]);
                },
                point),
        "numbers of its last forward outside the tape");
}

BOOST_AUTO_TEST_CASE(functions_that_are_none) {
    double calls = 0;
    refused(gradcheck([&](const Vars& x) { return x[0] * (1 + 1e-9 * ++calls); }, point),
        "by 2e-09 between two runs at the same point: it is not deterministic");

    Tape tape;
    const auto x = tape.variable(point[0], "x");
    const auto unsteady = custom(
        "unsteady", [&](const Doubles& a) { return Doubles(a * (1 + 1e-9 * ++calls)); },
        [](const Doubles&, const Doubles&, const Doubles& gy) { return gy; }, x);
    refused(gradcheck(Vars{unsteady}, Vars{x}), "not deterministic");

    std::vector<Doubles> mine = point;
    refused(gradcheck(
                [&](const Vars& v) {
                    mine[0](0) = 9;
                    return v[0] * 2;
                },
                mine),
        "changed its input x0");

    int turn = 0;
    refused(gradcheck(
                [&](const Vars& v) {
                    return ++turn == 1 ? v[0] * 2 : reshape(v[0] * 2, {1, 3});
                },
                point),
        "another output when it is called again");
    refused(gradcheck(
                [&](const Vars& v) {
                    return v[0].value()(0) == 0.5 ? v[0] * 2 : reshape(v[0] * 2, {1, 3});
                },
                point),
        "shape depends on the numbers");
    refused(gradcheck([](const Vars& v) { return v[0] * v[0].value()(0); }, point), "beside the tape");
}

// Differences see through a stop; held fixed it is what the backward takes it for.
BOOST_AUTO_TEST_CASE(stops_are_named) {
    const auto stopped = [](const Vars& v) { return v[0] * stop_gradient(v[0]); };
    const GradcheckReport report = gradcheck(stopped, point);
    refused(report, "line 1 (stop_gradient): differences see through it");
    BOOST_TEST_REQUIRE(report.blame.size() == 1u);
    BOOST_TEST(report.blame[0].op == "stop_gradient");
    BOOST_TEST(report.worst.numeric == 2 * report.worst.analytic);
    GradcheckOptions held;
    held.hold_stops = true;
    BOOST_TEST((gradcheck(stopped, point, held).verdict == Verdict::pass));
    // One that changes no slope passes, and is named all the same.
    const auto shifted = [](const Vars& v) {
        const Var<double> most = stop_gradient(amax(v[0]));
        return most + log(sum(exp(v[0] - most)));
    };
    refused(gradcheck(shifted, point), "differences see through it", Verdict::pass);
    // The tape is as it was: what only a stop connects has no gradient, and is told why.
    const Tape tape;
    const auto x = tape.variable(point[0], "x"), y = stop_gradient(x) * 2;
    gradcheck(Vars{y}, Vars{x});
    BOOST_TEST(!y.needs_grad());
    const auto told = [](const Error& e) {
        return std::string(e.what()).find("through stop_gradient() only") != std::string::npos;
    };
    BOOST_CHECK_EXCEPTION(sum(y).backward(), Error, told);
    BOOST_CHECK_EXCEPTION(grad(sum(y), Vars{x}), Error, told);
    BOOST_CHECK_EXCEPTION((void)y.grad(), Error, told);
}

BOOST_AUTO_TEST_CASE(points_that_are_no_numbers) {
    const double nan = std::nan("");
    const auto report = gradcheck([](const Vars& v) { return exp(v[0]); }, {{0.5, nan, 2}});
    refused(report, "x0[1] is nan", Verdict::inconclusive);
    BOOST_TEST(!report.proposal.empty());
    BOOST_CHECK_THROW(gradcheck([](const Vars& v) { return v[0]; }, std::vector<Doubles>{}), Error);
}

BOOST_AUTO_TEST_CASE(gradients_of_another_shape_are_a_failure_not_an_exception) {
    const auto report = gradcheck(
        [](const Vars& x) {
            return custom(
                "short", [](const Doubles& a) { return Doubles(2. * a); },
                [](const Doubles&, const Doubles&, const Doubles&) { return Doubles{1.}; }, x[0]);
        },
        point);
    refused(report, "gradient of shape (1)");
}

BOOST_AUTO_TEST_CASE(identities_are_a_third_opinion) {
    const auto with = [](const Identity& known, auto f, const std::vector<Doubles>& at) {
        GradcheckOptions options;
        options.identities = {known};
        return gradcheck(f, at, options);
    };
    const Doubles ones{1, 1, 1};
    const auto centred = [](const Vars& x) { return layer_norm(x[0], {}, {}, 0.1); };
    const auto right = with(known_product("J 1 = 0", "x0", ones), centred, point);
    BOOST_TEST((right.verdict == Verdict::pass), to_string(right));
    BOOST_TEST_REQUIRE(right.identity.has_value());
    BOOST_TEST(*right.identity < 1e-15);
    BOOST_TEST(!gradcheck(centred, point).identity.has_value());
    refused(with(
                known_product("J 1 = 0", "x0", ones), [](const Vars& x) { return exp(x[0]); }, point),
        "J 1 = 0");
    refused(with(
                homogeneous("x0", 2), [](const Vars& x) { return apply(Cube{Broken::nothing}, x[0]); }, point),
        "multiple of y");
    BOOST_TEST((with(
                    homogeneous("x0", 3), [](const Vars& x) { return apply(Cube{Broken::nothing}, x[0]); }, point)
                    .verdict == Verdict::pass));

    // A norm along the wrong axis: its backward is the derivative of its forward, and still it is not the norm of a
    // token.
    Generator rng(2);
    const std::vector<Doubles> tokens = {rng.standard_normal({4, 3})};
    const auto across = [](const Vars& x) { return transpose(layer_norm(transpose(x[0]), {}, {}, 0.1)); };
    BOOST_TEST((gradcheck(across, tokens).verdict == Verdict::pass));
    refused(with(block_diagonal_rows("x0", 3, 3), across, tokens), "0 between rows");
    BOOST_TEST((with(block_diagonal_rows("x0", 3, 3), centred, tokens).verdict == Verdict::pass));
    BOOST_CHECK_THROW(with(homogeneous("x7", 1), centred, point), Error);
}

// Along random directions the identities are looked at too: a right Jacobian of the wrong function goes through all else.
BOOST_AUTO_TEST_CASE(identities_are_looked_at_along_directions) {
    Generator rng(2);
    const std::vector<Doubles> tokens = {rng.standard_normal({4, 3})};
    const auto with = [&](const Identity& known, auto f) {
        GradcheckOptions options;
        options.coverage = Coverage::projected;
        options.identities = {known};
        return gradcheck(f, tokens, options);
    };
    const auto of_tokens = [](const Vars& x) { return layer_norm(x[0], {}, {}, 0.1); };
    const auto across = [](const Vars& x) { return transpose(layer_norm(transpose(x[0]), {}, {}, 0.1)); };
    const Doubles by_row = {{1, 1, 1}, {2, 2, 2}, {-1, -1, -1}, {0.5, 0.5, 0.5}};
    for (const Identity& known :
        {block_diagonal_rows("x0", 3, 3), known_product("J 1 = 0 in every row", "x0", by_row)}) {
        const GradcheckReport right = with(known, of_tokens);
        BOOST_TEST((right.verdict == Verdict::pass), to_string(right));
        BOOST_TEST(right.projected);
        BOOST_TEST_REQUIRE(right.identity.has_value());
        BOOST_TEST(*right.identity < 1e-15);
        refused(with(known, across), known.says.c_str());
        BOOST_TEST(!with(known, across).projected); // all of it was looked at, to name the element
    }
    const auto cube = [](const Vars& x) { return apply(Cube{Broken::nothing}, x[0]); };
    BOOST_TEST(with(homogeneous("x0", 3), cube).projected);
    refused(with(homogeneous("x0", 2), cube), "multiple of y");
}

BOOST_AUTO_TEST_CASE(both_instruction_sets) {
    Tape tape;
    Generator rng(3);
    const auto x = tape.variable(rng.standard_normal({4, 19}), "x");
    BOOST_TEST(compare_instruction_sets({layer_norm(x)}, {x}) == "");
    GradcheckOptions options;
    options.both_isas = true;
    BOOST_TEST((gradcheck(Vars{exp(x)}, Vars{x}, options).verdict == Verdict::pass));
    if (isa() != Isa::avx2) return;
    options.identity_tolerance = options.tolerance = 1e-6; // so that only the comparison sees it
    refused(gradcheck([](const Vars& v) { return apply(Cube{Broken::avx2_differs}, v[0]); }, point, options),
        "base instruction set");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_gradcheck_contract
