// An op from two generic lambdas, as a rule and as custom() makes it, and what gradcheck says of it with many seeds.
#pragma once

#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/autograd/tape/custom.hpp>

namespace chalkgrad::spoken {

using Doubles = Array<double>;
using Vars = std::vector<Var<double>>;

inline constexpr std::uint64_t seeds = 20;
enum class Form { rule, lambdas };
inline constexpr Form forms[] = {Form::rule, Form::lambdas};

/// An op from two generic lambdas over the numbers of one input: forward(x, n, y) and backward(x, n, y, gy, gx). Other outputs than one
/// for each input: `shape`.
template <class Forward, class Backward> struct Spoken {
    static constexpr const char* name = "spoken";
    static constexpr const char* inputs[] = {"x"};
    Forward f;
    Backward g;
    Shape out;
    Shape shape(Shapes) const { return out; }
    template <class T> void forward(Ins<T> in, Out<T> y, T*) const { f(in[0].data, in[0].size(), y.data); }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const {
        g(in[0].data, in[0].size(), y.data, gy.data, gx[0].data);
    }
};

/// What gradcheck says of such an op at x.
template <class Forward, class Backward>
GradcheckReport check(
    Form form, const Forward& f, const Backward& g, const Doubles& x, std::uint64_t seed, Shape out = {0}) {
    if (out == Shape{0}) out = Shape(x.shape().begin(), x.shape().end());
    Tape tape;
    const auto leaf = tape.variable(x, "x");
    const Var<double> y = form == Form::rule ? apply(Spoken<Forward, Backward>{f, g, out}, leaf)
                                             : custom(
                                                   "spoken",
                                                   [=](const Doubles& a) {
                                                       Doubles result = Doubles::from_shape({out.begin(), out.end()});
                                                       f(a.data(), a.size(), result.data());
                                                       return result;
                                                   },
                                                   [=](const Doubles& a, const Doubles& b, const Doubles& gy) {
                                                       Doubles result = Doubles::from_shape(a.shape());
                                                       g(a.data(), a.size(), b.data(), gy.data(), result.data());
                                                       return result;
                                                   },
                                                   leaf);
    GradcheckOptions options;
    options.seed = seed;
    options.blind_spots = false;
    return gradcheck(Vars{y}, Vars{leaf}, options);
}

template <class Forward, class Backward>
void is_always(
    Verdict verdict, const char* what, const Forward& f, const Backward& g, const Doubles& x, Shape out = {0}) {
    for (const Form form : forms)
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
            const GradcheckReport report = check(form, f, g, x, seed, out);
            BOOST_TEST((report.verdict == verdict), what << (form == Form::rule ? ", rule" : ", lambdas") << ", seed "
                                                         << seed << ": " << to_string(report));
        }
}

/// Not wrong, whatever else.
template <class Forward, class Backward>
void never_fails(const char* what, const Forward& f, const Backward& g, const Doubles& x, Shape out = {0}) {
    for (const Form form : forms)
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
            const GradcheckReport report = check(form, f, g, x, seed, out);
            BOOST_TEST((report.verdict != Verdict::fail), what << (form == Form::rule ? ", rule" : ", lambdas")
                                                               << ", seed " << seed << ": " << to_string(report));
            if (seed == 0)
                BOOST_TEST_MESSAGE(what << (form == Form::rule ? ", rule: " : ", lambdas: ") << name(report.verdict)
                                        << ' ' << report.why);
        }
}

/// One function after the other of the elements: y_i = f(x_i), with the slope d(x_i).
template <class F> auto each(F f) {
    return [=](const auto* x, std::size_t n, auto* y) {
        for (std::size_t i = 0; i < n; ++i) y[i] = f(x[i]);
    };
}
template <class D> auto slope(D d) {
    return [=](const auto* x, std::size_t n, const auto*, const auto* gy, auto* gx) {
        for (std::size_t i = 0; i < n; ++i) gx[i] = gy[i] * d(x[i]);
    };
}

/// No gradient for anything.
inline constexpr auto nothing = [](const auto*, std::size_t n, const auto*, const auto*, auto* gx) {
    for (std::size_t i = 0; i < n; ++i) gx[i] = std::decay_t<decltype(gx[0])>(0);
};

} // namespace chalkgrad::spoken
