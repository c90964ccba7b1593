// Plots and tables: whole pictures with equal bytes, labels taken literally, numbers that read back.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/experiments/report/json.hpp>
#include <chalkgrad/experiments/report/plot.hpp>
#include <nlohmann/json.hpp>

#include "../../support.hpp"

namespace test_plot {
BOOST_AUTO_TEST_SUITE(plot)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

constexpr double NaN = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

Plot example() {
    return {"growth", "Growth", {"step"}, {"RMS", true},
        {{"none", {0, 1, 2}, {1, 1e3, 1e6}}, {"pre", {0, 1, 2}, {1, 2, 3}}}};
}

HeatMap example_map() { return {"map", "Map", "column", "row", "value", 2, 3, {1, -2, 3, 4, 5, 6}, true}; }

} // namespace

BOOST_AUTO_TEST_CASE(every_format_is_whole_and_repeats_to_the_byte) {
    for (const auto& [format, start, end] : {std::tuple("svg", "<?xml", "</svg>"), std::tuple("pdf", "%PDF-", "%%EOF"),
             std::tuple("png", "\x89PNG\r\n", "IEND")}) {
        const std::string curves = chalkgrad::render(example(), format), map = chalkgrad::render(example_map(), format);
        for (const std::string& picture : {curves, map}) {
            BOOST_TEST(picture.starts_with(start), format);
            BOOST_TEST(contains(picture.substr(picture.size() - 16), end), format);
        }
        BOOST_TEST((chalkgrad::render(example(), format) == curves), format);
        BOOST_TEST((chalkgrad::render(example_map(), format) == map), format);
    }
    BOOST_TEST(contains(chalkgrad::render(example(), "pdf"), "/CreationDate (D:20000101000000"));
}

BOOST_AUTO_TEST_CASE(labels_are_taken_literally) {
    const std::string hostile = "it's \"q\" {x} a_b^c @m `id` \\n $x %d #c γ <b> &amp;\nset output 'stolen'\xFF";
    const std::string shown =
        "<text>it's \"q\" {x} a_b^c @m `id` \\n $x %d #c γ &lt;b> &amp;amp; set output 'stolen'\uFFFD</text>";
    Plot plot = example();
    plot.x.label = plot.y.label = plot.series[0].name = hostile;
    BOOST_TEST(count(chalkgrad::render(plot, "svg"), shown) == 3);
    HeatMap map = example_map();
    map.x_label = map.y_label = map.value_label = hostile;
    BOOST_TEST(count(chalkgrad::render(map, "svg"), shown) == 3);

    plot.title = map.title = "a_b^{c} '@' `id` <b>\nset output 'stolen'";
    for (const std::string& svg : {chalkgrad::render(plot, "svg"), chalkgrad::render(map, "svg")})
        BOOST_TEST(contains(svg, "<text>a_b^{c} '@' `id` &lt;b> set output 'stolen'</text>"));
}

BOOST_AUTO_TEST_CASE(a_long_title_is_broken_between_words) {
    Plot plot = example();
    plot.title = std::string(60, 'a') + " " + std::string(60, 'b');
    const std::string svg = chalkgrad::render(plot, "svg");
    BOOST_TEST(contains(svg, "<text>" + std::string(60, 'a') + "</text>"));
    BOOST_TEST(contains(svg, "<text>" + std::string(60, 'b') + "</text>"));
}

BOOST_AUTO_TEST_CASE(a_title_without_spaces_is_broken_between_letters) {
    Plot plot = example();
    for (const std::string letter : {"Q", "γ", "汉"}) {
        plot.title.clear();
        for (int i = 0; i < 150; ++i) plot.title += letter;
        const std::string svg = chalkgrad::render(plot, "svg");
        BOOST_TEST(count(svg, letter) == 2 * 150); // in the picture, and as its title
        BOOST_TEST(!contains(svg, "\uFFFD"));
        BOOST_TEST(count(svg, "<text>" + letter) > 1);
    }
}

BOOST_AUTO_TEST_CASE(bounds_are_a_band_or_error_bars) {
    const std::string without = chalkgrad::render(example(), "svg");
    Plot plot = example();
    plot.series[1].low = {0.5, 1, -3}; // the last one cannot be shown: down to the axis
    plot.series[1].high = {2, 4, 1e9};
    const std::string band = chalkgrad::render(plot, "svg");
    const auto bands = [](const std::string& svg) { return count(svg, "rgb(213,  94,   0)' fill-opacity = '0.2"); };
    BOOST_TEST(bands(without) == 0);
    BOOST_TEST(bands(band) == 1);
    BOOST_TEST(count(band, ">10<") > count(without, ">10<")); // powers of ten: the axis has grown to 10⁹
    plot.series[1] = {"gap", {0, 1, 2, 3, 4}, {1, 1, 1, 1, 1}, Mark::line, {1, 1, NaN, 1, 1}, {2, 2, 2, 2, 2}};
    BOOST_TEST(bands(chalkgrad::render(plot, "svg")) == 2);
    plot.series[1].mark = Mark::points;
    BOOST_TEST(bands(chalkgrad::render(plot, "svg")) == 0);
    plot.series[1].low.assign(5, NaN);
    for (const Mark mark : {Mark::points, Mark::line}) {
        plot.series[1].mark = mark;
        chalkgrad::render(plot, "svg");
    }
    plot.series[1].low.resize(2);
    BOOST_TEST(contains(refusal([&] { chalkgrad::render(plot, "svg"); }), "5 points, 2 lower and 5 upper bounds"));
}

BOOST_AUTO_TEST_CASE(many_curves_with_long_names_leave_the_axes_their_width) {
    const auto picture = [](std::size_t curves, const std::string& ending) {
        Plot plot = example();
        plot.series.clear();
        for (std::size_t i = 0; i < curves; ++i)
            plot.at(fmt::format("curve {}{}", i, ending)).add(double(i), double(i + 1));
        for (Series& each : plot.series) each.add(30, 1);
        return chalkgrad::render(plot, "svg");
    };
    const auto height = [](const std::string& svg) { return std::stod(svg.substr(svg.find("height=\"") + 8)); };
    const std::string beside = picture(24, ""), below = picture(24, std::string(50, 'w'));
    const auto left_end = [](const std::string& svg, const std::string& text) {
        return std::stod(svg.substr(svg.rfind("translate(", svg.find("<text>" + text)) + 10));
    };
    for (std::size_t i = 0; i < 24; ++i) {
        BOOST_TEST(left_end(beside, fmt::format("curve {}<", i)) == left_end(beside, "curve 0<"), i); // one column
        BOOST_TEST(left_end(below, fmt::format("curve {}w", i)) == left_end(below, "curve 0w"), i);
        BOOST_TEST(contains(beside, fmt::format("<text>curve {}</text>", i)), i);
        BOOST_TEST(contains(below, fmt::format("<text>curve {}w", i)), i);
    }
    BOOST_TEST(height(below) - height(picture(2, std::string(50, 'w'))) >= 22 * 18); // a line for each
    BOOST_TEST(contains(picture(2, std::string(500, 'w')), "w…</text>"));
}

BOOST_AUTO_TEST_CASE(curves_differ_in_colour_and_in_dash) {
    const std::string svg = chalkgrad::render(example(), "svg");
    BOOST_TEST(contains(svg, "rgb(  0, 114, 178)"));
    BOOST_TEST(contains(svg, "rgb(213,  94,   0)"));
    BOOST_TEST(contains(svg, "stroke-dasharray"));
    BOOST_TEST(contains(svg, "font-family=\"DejaVu Sans,"));
    BOOST_TEST(contains(svg, "<title>Growth</title>"));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_drawn_is_a_gap_and_nothing_at_all_an_error) {
    Plot plot = example();
    plot.series[0].y = {NaN, inf, 1e6};
    plot.series[1].y = {0, -1, NaN};
    chalkgrad::render(plot, "svg");
    plot.series[0].y = {0, -1, -inf};
    BOOST_TEST(contains(refusal([&] { chalkgrad::render(plot, "svg"); }), "nothing to draw"));
    plot.series.clear();
    BOOST_TEST(contains(refusal([&] { chalkgrad::render(plot, "svg"); }), "nothing to draw"));

    HeatMap map = example_map();
    map.values[0] = NaN;
    chalkgrad::render(map, "svg");
    map.values.assign(6, NaN);
    BOOST_TEST(contains(refusal([&] { chalkgrad::render(map, "svg"); }), "nothing to draw"));
}

BOOST_AUTO_TEST_CASE(a_logarithmic_axis_of_one_decade_has_numbers_between_the_powers) {
    const auto picture = [](double low, double high) {
        return chalkgrad::render(
            Plot{"p", "Title", {"abscissa"}, {"ordinate", true}, {{"s", {0.11, 0.12}, {low, high}}}}, "svg");
    };
    const auto has = [](const std::string& svg, const char* number) {
        return contains(svg, fmt::format(">{}<", number)) || contains(svg, fmt::format("> {}<", number));
    };
    const std::string one = picture(0.4, 2.5), two = picture(4, 90), many = picture(0.4, 2500);
    for (const char* number : {"0.5", "1", "2"}) BOOST_TEST(has(one, number), number);
    for (const char* number : {"5", "10", "20", "30", "50"}) BOOST_TEST(has(two, number), number);
    BOOST_TEST(has(many, "1000"));
    BOOST_TEST(!has(many, "20"));
}

BOOST_AUTO_TEST_CASE(extreme_values_still_give_a_picture) {
    for (const bool log : {false, true})
        for (const std::vector<double>& y :
            {std::vector<double>{5}, {1e-307, 9e306}, {3, 3, 3}, {1e308, 1}, {1e-320, 1}, {7e5, 7.1e5}}) {
            Plot plot = example();
            plot.y.log = log;
            plot.series = {{"s", std::vector<double>(y.size(), 1), y, Mark::points}};
            chalkgrad::render(plot, "svg");
        }
    for (const double value : {0., 1e-310, 9e306}) {
        HeatMap map = example_map();
        map.values.assign(6, value);
        for (const bool is_signed : {false, true}) {
            map.is_signed = is_signed;
            chalkgrad::render(map, "svg");
        }
    }
}

BOOST_AUTO_TEST_CASE(wrong_calls_say_what_is_wrong) {
    Plot plot = example();
    plot.series[1].y.pop_back();
    BOOST_TEST(contains(refusal([&] { chalkgrad::render(plot, "svg"); }), "series 'pre' has 3 x and 2 y"));
    BOOST_TEST(contains(refusal([&] { chalkgrad::render(example(), "gif"); }), "unknown format 'gif'"));
    HeatMap map = example_map();
    map.rows = 3;
    BOOST_TEST(contains(refusal([&] { chalkgrad::render(map, "svg"); }), "6 values for 3 rows and 3 columns"));
}

BOOST_AUTO_TEST_CASE(an_absent_or_failing_gnuplot_is_one_clear_error) {
    {
        const Path nothing("/nonexistent");
        BOOST_TEST(contains(refusal([&] { chalkgrad::render(example(), "svg"); }), "install Debian's gnuplot-nox"));
    }
    // One that fails with a word, and one whose picture breaks off.
    for (const auto& [script, said] :
        {std::pair("echo 'no such\nterminal' >&2; echo '</svg>'; exit 3\n", "picture: no such terminal"),
            std::pair("echo '<svg><text>'\n", "no whole svg picture"), std::pair("exit 3", "it ended with status 3")}) {
        const FakeProgram fake("gnuplot", script);
        BOOST_TEST(contains(refusal([&] { chalkgrad::render(example(), "svg"); }), said));
    }
    BOOST_TEST(chalkgrad::render(example(), "svg").starts_with("<?xml"));
}

BOOST_AUTO_TEST_CASE(a_table_is_quoted_csv_with_numbers_that_read_back) {
    const Table table{"t", {"name", "x, y"},
        {{"a \"b\"", 0.1}, {"two\nlines", 3}, {"nan", NaN}, {"", -inf}, {"big", std::uint64_t{1} << 40}}};
    BOOST_TEST(
        to_csv(table) ==
        "name,\"x, y\"\n\"a \"\"b\"\"\",0.10000000000000001\n\"two\nlines\",3\nnan,nan\n,-inf\nbig,1099511627776\n");
    BOOST_TEST(
        to_json(table).dump() ==
        R"({"columns":["name","x, y"],"name":"t","rows":[["a \"b\"",0.1],["two\nlines",3],["nan","nan"],["","-inf"],["big",1099511627776]]})");
    const Table ragged{"r", {"a", "b"}, {{1}}};
    BOOST_TEST(contains(refusal([&] { to_csv(ragged); }), "a row of 1 cells under 2 columns"));
}

BOOST_AUTO_TEST_CASE(the_numbers_of_a_picture_are_written_beside_it) {
    BOOST_TEST(to_csv(to_table(example())) ==
               "series,step,RMS\nnone,0,1\nnone,1,1000\nnone,2,1000000\npre,0,1\npre,1,2\npre,2,3\n");
    BOOST_TEST(to_csv(to_table(example_map())).starts_with("row,column,value\n0,0,1\n0,1,-2\n0,2,3\n1,0,4\n"));
    BOOST_TEST(to_json(example()).at("series").at(1).at("y").dump() == "[1.0,2.0,3.0]");
    Plot plot = example();
    plot.series[1].low = {0, 1, 2};
    plot.series[1].high = {2, 3, inf};
    BOOST_TEST(to_csv(to_table(plot)) ==
               "series,step,RMS,low,high\nnone,0,1,,\nnone,1,1000,,\nnone,2,1000000,,\n"
               "pre,0,1,0,2\npre,1,2,1,3\npre,2,3,2,inf\n");
    BOOST_TEST(!to_json(plot).at("series").at(0).contains("low"));
    BOOST_TEST(to_json(plot).at("series").at(1).at("high").dump() == "[2.0,3.0,\"inf\"]");
    BOOST_TEST(to_json(example_map()).at("rows").dump() == "[[1.0,-2.0,3.0],[4.0,5.0,6.0]]");
    BOOST_TEST(json_text({{"bytes", "\xFF"}, {"x", json_number(NaN)}}) ==
               "{\n  \"bytes\": \"\uFFFD\",\n  \"x\": \"nan\"\n}\n");
}

BOOST_AUTO_TEST_CASE(axes_as_numpy_makes_them) {
    const Array<double> equal = linspace(-1, 2, 7), ratios = geomspace(1e-3, 1e3, 7);
    for (std::size_t i = 0; i < 7; ++i) {
        BOOST_TEST(equal[i] == -1 + 0.5 * double(i));
        BOOST_TEST(std::abs(ratios[i] / std::pow(10., double(i) - 3) - 1) < 1e-14);
    }
    BOOST_TEST(linspace(0.3, 2, 171)[170] == 2); // not one ulp off
    BOOST_TEST(geomspace(1e-7, 10, 81)[80] == 10);
    BOOST_CHECK_THROW(linspace(0, 1, 1), Error);
    BOOST_CHECK_THROW(geomspace(0, 1, 3), Error);
    BOOST_CHECK_THROW(geomspace(-1, -2, 3), Error);
    const Series curve = series("s", equal, ratios, Mark::points);
    BOOST_TEST(curve.x.size() == 7);
    BOOST_TEST(curve.y[6] == 1e3);
    BOOST_TEST((curve.mark == Mark::points));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_plot
