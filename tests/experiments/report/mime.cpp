// What a notebook shows, without a notebook: mime bundles found as the kernel finds them, by the argument's namespace.
#include <boost/test/unit_test.hpp>

#include <limits>

#include <nlohmann/json.hpp>

#include <chalkgrad/experiments/report/mime.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>

#include "../../support.hpp"

namespace test_mime {
BOOST_AUTO_TEST_SUITE(mime)

using chalkgrad::testing::contains;

namespace {

/// The call of xeus-cling: unqualified.
template <class T> nlohmann::json shown(const T& value) { return mime_bundle_repr(value); }

} // namespace

using chalkgrad::Tape;
using chalkgrad::Var;

BOOST_AUTO_TEST_CASE(a_var_with_its_gradient) {
    const Tape tape;
    const Var<double> x = tape.variable(xt::xarray<double>{{1, 2}, {3, -4.5}}, "x");
    const Var<double> y = x * x;
    const nlohmann::json before = shown(x);
    BOOST_TEST(!contains(before["text/html"], "gradient"));
    y.backward(xt::xarray<double>{{1, 1}, {1, 1}});
    const nlohmann::json bundle = shown(x);
    BOOST_TEST(contains(bundle["text/plain"], "x (2, 2) double"));
    BOOST_TEST(contains(bundle["text/html"],
        "<caption>x (2, 2) double</caption>\n<tr><td>1</td><td>2</td></tr>\n<tr><td>3</td><td>-4.5</td></tr>"));
    BOOST_TEST(contains(bundle["text/html"],
        "<caption>gradient</caption>\n<tr><td>2</td><td>4</td></tr>\n<tr><td>6</td><td>-9</td></tr>"));
    BOOST_TEST(contains(shown(y)["text/html"], "<caption>line 1 (2, 2) double"));
}

BOOST_AUTO_TEST_CASE(names_are_text_and_long_axes_are_shortened) {
    const Tape tape;
    const Var<float> x = tape.variable(xt::xarray<float>(xt::ones<float>({1, 20})), "<script>alert(1)</script>");
    const std::string html = shown(x)["text/html"];
    BOOST_TEST(!contains(html, "<script"));
    BOOST_TEST(contains(html, "&lt;script&gt;"));
    BOOST_TEST(chalkgrad::testing::count(html, "<td>") == 7); // three, a gap, three
}

BOOST_AUTO_TEST_CASE(empty_unset_shape_only_and_not_finite) {
    const Tape tape;
    BOOST_TEST(contains(shown(Var<double>())["text/plain"], "not set"));
    BOOST_TEST(contains(shown(tape.variable(xt::xarray<double>(xt::zeros<double>({3, 0}))))["text/html"], "(3, 0)"));
    BOOST_TEST(contains(shown(tape.variable(std::numeric_limits<double>::quiet_NaN()))["text/html"], "<td>nan</td>"));
    const Tape shapes(Tape::Mode::shapes_only);
    BOOST_TEST(
        contains(shown(shapes.leaf<double>({4, 5}, nullptr, true, "w"))["text/html"], "w (4, 5) double, shape only"));
    BOOST_TEST(contains(shown(shapes)["text/html"], "<td>shape only</td>"));
}

BOOST_AUTO_TEST_CASE(a_tape_and_its_graph) {
    const Tape tape;
    const Var<double> x = tape.variable(2.0, "x<y");
    const chalkgrad::Scope scope = tape.scope("inside & out");
    const Var<double> y = x + x;
    y.backward();
    const nlohmann::json table = shown(tape);
    BOOST_TEST(
        contains(table["text/html"], "<td>x&lt;y</td><td>variable</td><td></td><td>()</td><td>2</td><td>2</td>"));
    BOOST_TEST(contains(table["text/html"],
        "<td>add</td><td>0 0</td><td>()</td><td>4</td><td>not computed</td><td>inside &amp; out</td>"));
    BOOST_TEST(contains(table["text/plain"], "add"));
    const nlohmann::json picture = shown(chalkgrad::graph_of(tape));
    BOOST_TEST(contains(picture["text/plain"], "digraph"));
    BOOST_TEST(contains(picture["image/svg+xml"], "</svg>"));
    BOOST_TEST(contains(picture["image/svg+xml"], ">+</text>"));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_mime
