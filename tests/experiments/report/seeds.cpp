// Runs over seeds: bands as NumPy computes them, the same for any number of threads, one report of many.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/experiments/report/json.hpp>
#include <chalkgrad/experiments/report/seeds.hpp>

#include "../../support.hpp"

namespace test_seeds {
BOOST_AUTO_TEST_SUITE(seeds)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

constexpr uint128 largest_seed = ~uint128{0};

bool near(double a, double b) { return std::abs(a - b) <= 1e-14 * std::abs(b); }

/// One run of an experiment that draws: a curve, a number measured, one judged.
void walk(Report& report, const ExperimentOptions& options) {
    Generator rng = options.rng(5);
    const double end = rng.standard_normal({}).flat(0);
    report.seeded_number("end", end, end, Tolerance::exact(), "course §6");
    report.measured("fixed", 3, "equal for all");
    report.number("one", 1, 1, Tolerance::exact(), "course §1");
    report.plot({"walk", "Walk", {"step"}, {"place"}, {{"w", {0, 1}, {0, end}}}});
}

} // namespace

BOOST_AUTO_TEST_CASE(bands_are_those_of_numpy) {
    const std::vector<Series> runs{{"s", {1, 2}, {3, 1}}, {"s", {1, 2}, {5, 2}}, {"s", {1, 2}, {10, 4}}};
    const Series mean = banded(runs), median = banded(runs, Spread::quantiles);
    BOOST_TEST(near(mean.y[0], 6));
    BOOST_TEST(near(mean.high[0] - mean.y[0], std::sqrt(13.)));   // np.std([3, 5, 10], ddof=1)
    BOOST_TEST(near(mean.y[1] - mean.low[1], std::sqrt(7. / 3))); // np.std([1, 2, 4], ddof=1)
    BOOST_TEST(median.y[0] == 5);
    BOOST_TEST(near(median.low[0], 3.4)); // np.quantile([3, 5, 10], 0.1)
    BOOST_TEST(near(median.high[0], 9));  // np.quantile([3, 5, 10], 0.9)
    const Series one = banded({runs[2]});
    BOOST_TEST((one.y == runs[2].y && one.low == one.y && one.high == one.y));
}

BOOST_AUTO_TEST_CASE(a_run_without_a_number_leaves_a_gap_in_the_curve) {
    constexpr double NaN = std::numeric_limits<double>::quiet_NaN();
    for (const Spread spread : {Spread::deviation, Spread::quantiles}) {
        const Series curve = banded({{"s", {1, 2}, {NaN, 1}}, {"s", {1, 2}, {3, 2}}, {"s", {1, 2}, {4, 3}}}, spread);
        BOOST_TEST((std::isnan(curve.y[0]) && std::isnan(curve.low[0]) && std::isnan(curve.high[0])));
        BOOST_TEST(curve.y[1] == 2);
        chalkgrad::render(Plot{"p", "P", {"x"}, {"y"}, {curve}}, "svg");
    }
}

BOOST_AUTO_TEST_CASE(seeds_run_side_by_side_and_in_order) {
    const auto f = [](uint128 seed) {
        Generator rng{Seed(seed)};
        return Series{"s", {0}, {rng.standard_normal({}).flat(0)}};
    };
    const Series curve = over_seeds(3, 10, f);
    std::vector<Series> runs;
    for (uint128 seed = 3; seed <= 10; ++seed) runs.push_back(f(seed));
    BOOST_TEST((curve.y == banded(runs).y && curve.low == banded(runs).low));
    BOOST_TEST(over_seeds(largest_seed, largest_seed, f).y.size() == 1u);
    BOOST_TEST(contains(refusal([&] { over_seeds(2, 1, f); }), "no seeds from 2 to 1"));
    BOOST_TEST(contains(refusal([&] { banded({}); }), "no run"));
    BOOST_TEST(contains(refusal([&] {
        over_seeds(0, 1, [](uint128 seed) { return Series{"s", {double(seed)}, {0}}; });
    }),
        "'s' have different x"));
    BOOST_TEST(contains(
        refusal([&] { over_seeds(0, 1, [](uint128 seed) { return std::vector<Series>(std::size_t(seed) + 1); }); }),
        "one seed gives 1 curves, another 2"));
    BOOST_CHECK_THROW(over_seeds(0, 3, [](uint128) -> Series { throw Error("no"); }), Error);
}

BOOST_AUTO_TEST_CASE(ranges_of_seeds_are_read_whole) {
    const std::string most = "340282366920938463463374607431768211455";
    BOOST_TEST((parse_seed(most) == largest_seed));
    BOOST_TEST(decimal(largest_seed) == most);
    BOOST_TEST(decimal(0) == "0");
    BOOST_TEST(SeedRange::parse("3..10").size() == 8u);
    BOOST_TEST(SeedRange::parse(most + ".." + most).size() == 1u);
    for (const char* const text :
        {"", "5", "..", "3..", "..3", "5..3", "-1..3", "1...3", "0..1000000", "a..b", "1..2..3"})
        BOOST_TEST(contains(refusal([&] { SeedRange::parse(text); }), fmt::format("'{}' is no range", text)), text);
    for (const char* const text : {"", "-1", "1.5", "1e3", "340282366920938463463374607431768211456"})
        BOOST_TEST(contains(refusal([&] { parse_seed(text); }), "is no whole number from 0 to 2^128 - 1"), text);
    BOOST_TEST(contains(refusal([&] { parse_seed("18446744073709551616", 64); }), "2^64 - 1"));
}

BOOST_AUTO_TEST_CASE(one_report_of_many_runs) {
    const Experiment experiment{"walk", "", "Where to?", walk};
    const ExperimentOptions options{{}, "mine"};
    const Report all = std::move(run_experiments({&experiment}, options, {}, {}, SeedRange{3, 10}).front().report);
    std::vector<Series> runs;
    for (uint128 seed = 3; seed <= 10; ++seed) {
        Report one("walk", true);
        walk(one, {seed});
        runs.push_back({"", {0}, {one.measured()[0].value}});
    }
    const double deviation = banded(runs).high[0] - banded(runs).y[0];
    BOOST_REQUIRE_EQUAL(all.measured().size(), 2u);
    BOOST_TEST(all.measured()[0].value == banded(runs).y[0]);
    BOOST_TEST(contains(all.measured()[0].claim, fmt::format("± {:.3g}", deviation)));
    BOOST_TEST(contains(all.measured()[0].claim, "over 8 seeds"));
    BOOST_TEST(all.measured()[1].claim == "equal for all");
    BOOST_TEST(all.numbers().size() == 1u);
    const nlohmann::json json = all.to_json();
    BOOST_TEST(json.at("seed").is_null());
    BOOST_TEST(json.at("command") == "mine walk --seeds 3..10");
    BOOST_TEST(json.at("version").is_string());
}

BOOST_AUTO_TEST_CASE(runs_that_report_different_things_are_refused) {
    const auto with = [](auto report) {
        const Experiment experiment{"e", "", "E?", report};
        return refusal([&] { run_experiments({&experiment}, {}, {}, {}, SeedRange{0, 1}); });
    };
    const auto different = "runs with different seeds report different";
    BOOST_TEST(contains(
        with([](Report& report, const ExperimentOptions& options) { report.measured(decimal(*options.seed), 1, ""); }),
        different));
    BOOST_TEST(contains(with([](Report& report, const ExperimentOptions& options) {
        Plot& plot = report.plot({"p", "P", {"x"}, {"y"}});
        for (uint128 i = 0; i <= *options.seed; ++i) plot.at(decimal(i)).add(0, 1);
    }),
        different));
}

BOOST_AUTO_TEST_CASE(a_number_that_one_seed_fails_is_failed) {
    const Experiment experiment{"e", "", "E?", [](Report& report, const ExperimentOptions& options) {
                                    report.number("n", *options.seed == 2 ? 9 : 1, 1, Tolerance::exact(), "");
                                }};
    const auto run = [&](SeedRange seeds) {
        return std::move(run_experiments({&experiment}, {}, {}, {}, seeds).front().report);
    };
    BOOST_TEST(run({0, 1}).holds());
    BOOST_TEST(!run({0, 3}).holds());
    BOOST_TEST(run({0, 3}).numbers()[0].value == 9);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_seeds
