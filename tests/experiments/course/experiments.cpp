// The experiments of the catalogue: every number holds, no reference value is left out, and a wrong one is caught.
#include <boost/test/unit_test.hpp>

#include <sched.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/experiments/present/present_page.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/experiments/report/parallel.hpp>

namespace test_experiments {
BOOST_AUTO_TEST_SUITE(experiments)

using namespace chalkgrad;

namespace {

std::vector<Finished> finish(const std::vector<std::string>& names, const ExperimentOptions& options = {}) {
    return run_experiments(experiments_named(chalkgrad::experiments(), names), options, {});
}

/// Every experiment with its own seeds, run once for all tests.
const std::vector<Finished>& all_finished() {
    static const std::vector<Finished> all = [] {
        std::vector<std::string> names;
        for (const Experiment& experiment : chalkgrad::experiments()) names.push_back(experiment.name);
        return finish(names);
    }();
    return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_number_of_every_experiment_holds) {
    for (const Finished& each : all_finished()) {
        BOOST_TEST(!(each.report.numbers().empty() && each.report.not_reproduced().empty()),
            each.experiment.name << " judges nothing");
        for (const Report::Number& n : each.report.numbers())
            BOOST_TEST(n.holds,
                fmt::format("{}: {} is {:.17g}, expected {:.17g}", each.experiment.name, n.name, n.value, n.expected));
    }
}

BOOST_AUTO_TEST_CASE(every_reference_value_is_compared) {
    for (const auto& [experiment, values] : references()) {
        std::set<std::string> found;
        for (const Finished& each : all_finished())
            if (each.experiment.name == experiment) {
                for (const Report::Number& number : each.report.numbers()) found.insert(number.name);
                for (const Report::Measured& measured : each.report.measured()) found.insert(measured.name);
            }
        for (const auto& [name, value] : values)
            BOOST_TEST(found.contains(name), fmt::format("{}: '{}' is not reported", experiment, name));
    }
}

BOOST_AUTO_TEST_CASE(tapes_on_show_can_be_read_and_stepped_through) {
    std::size_t shown = 0;
    for (const Finished& each : all_finished()) {
        const Var<double>& y = each.report.tape();
        if (!y) continue;
        ++shown;
        BOOST_TEST_CONTEXT(each.experiment.name) {
            const Tape tape = y.tape();
            BOOST_TEST(tape.size() <= 30u);
            for (std::size_t i = 0; i < tape.size(); ++i) BOOST_TEST(tape.line(i).shape.size() <= 512u, "line " << i);
            Array<double> cotangent(y.value().shape());
            cotangent.fill(1);
            const nlohmann::json document = stepping_json({each.experiment.name, "", y, {}, cotangent});
            BOOST_TEST(!document["gradients"].empty());
            for (const nlohmann::json& gradient : document["gradients"])
                BOOST_TEST(gradient["gradient"]["not_finite"] == 0, "line " << gradient["line"]);
        }
    }
    BOOST_TEST(shown >= 22u);
}

BOOST_AUTO_TEST_CASE(a_wrong_value_and_a_wrong_name_are_caught) {
    const auto judged = [](double factor) {
        Report report("gate_moments");
        judge(report, "silu", Tolerance::relative(1e-9), {{"E[phi^2]", factor * 0.35577551981735990}});
        return report.holds();
    };
    BOOST_TEST(judged(1));
    BOOST_TEST(!judged(1 + 2e-9));
    BOOST_TEST(!judged(1 - 2e-9));

    Report report("gate_moments");
    BOOST_CHECK_EXCEPTION(reference(report, "silu", "E[phi^3]"), Error, [](const Error& error) {
        return std::string(error.what()).find("gate_moments: there is no reference value 'silu: E[phi^3]'") == 0;
    });
    BOOST_CHECK_THROW(reference(Report("logit_scale"), "silu", "E[phi^2]"), Error);
}

BOOST_AUTO_TEST_CASE(another_seed_is_measured_and_not_judged) {
    const Report own = finish({"logit_scale"}, {.seed = 1})[0].report;
    const Report reference = finish({"logit_scale"})[0].report;
    BOOST_TEST(own.holds());
    BOOST_TEST(own.numbers().size() < reference.numbers().size());
    for (const Report::Measured& measured : own.measured())
        if (measured.name == "plain, c = 1: entropy") {
            BOOST_TEST(std::abs(measured.value - 3.6356) < 0.2); // another draw of the same distribution
            BOOST_TEST(measured.value != 3.6356270080169173);
            return;
        }
    BOOST_ERROR("the entropy was not measured");
}

BOOST_AUTO_TEST_CASE(a_seed_of_128_bits_is_not_cut) {
    constexpr uint128 beyond = uint128{1} << 64;
    const auto distance = [](uint128 seed) {
        const Report report = finish({"rank_collapse"}, {.seed = seed})[0].report;
        for (const Report::Measured& measured : report.measured())
            if (measured.name == "attention alone: distance after layer 2") return measured.value;
        return 0.0;
    };
    const double small = distance(41), large = distance(beyond + 41);
    BOOST_TEST(small == 0.01710876114006619, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(large != small);
    BOOST_TEST(large != distance(beyond + 42));
}

BOOST_AUTO_TEST_CASE(experiments_on_one_core_give_the_same_numbers_to_the_last_bit) {
    const std::vector<std::string> names = {"outlier_block", "variance_growth", "jacobian_product"};
    const auto values = [&] {
        std::vector<double> all;
        for (const Finished& each : finish(names))
            for (const Report::Number& number : each.report.numbers()) all.push_back(number.value);
        return all;
    };
    cpu_set_t before, one;
    BOOST_REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    const std::vector<double> on_all = values();
    BOOST_REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    const std::vector<double> on_one = values();
    sched_setaffinity(0, sizeof before, &before);
    BOOST_TEST(!on_all.empty());
    BOOST_TEST(on_one == on_all, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(means_over_seeds) {
    const auto mean = mean_over_seeds(uint128{1} << 64, 4, [](uint128 seed) {
        return std::vector<double>{double(seed - (uint128{1} << 64)), 1};
    });
    BOOST_TEST(mean == (std::vector<double>{1.5, 1}), boost::test_tools::per_element());
    BOOST_TEST(mean_over_seeds(3, 0, [](uint128) { return std::vector<double>{1}; }).empty());
}

BOOST_AUTO_TEST_CASE(parallel_results_do_not_depend_on_the_number_of_threads) {
    const auto draw = [](std::size_t threads) {
        std::vector<double> sums(37);
        parallel_for(
            sums.size(),
            [&](std::size_t i) { sums[i] += root_mean_square(Generator(Seed(i)).standard_normal({100 * (i + 1)})); },
            threads);
        return sums;
    };
    const std::vector<double> one = draw(1);
    for (const std::size_t threads : {0, 2, 5, 64}) BOOST_TEST(draw(threads) == one, boost::test_tools::per_element());
    parallel_for(0, [](std::size_t) { BOOST_ERROR("there is no index 0"); });
}

BOOST_AUTO_TEST_CASE(parallel_errors_are_those_of_the_lowest_index_and_stop_nothing_else) {
    for (const std::size_t threads : {1, 2, 4}) {
        std::vector<int> done(20);
        const auto body = [&](std::size_t i) {
            done[i] = 1;
            if (i % 7 == 3) throw std::runtime_error(std::to_string(i));
        };
        BOOST_CHECK_EXCEPTION(parallel_for(done.size(), body, threads), std::runtime_error,
            [](const auto& error) { return std::string(error.what()) == "3"; });
        BOOST_TEST(done == std::vector<int>(20, 1), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(measures) {
    BOOST_TEST(chalkgrad::norm(Array<double>{{3, 0}, {0, -4}}) == 5);
    BOOST_TEST(root_mean_square(Array<double>{3, -4, 5, 0}) == std::sqrt(12.5));
    BOOST_TEST(largest(Array<double>{3, -4, 2}) == 4);
    BOOST_TEST(std::isnan(largest(Array<double>{3, std::nan(""), 9})));
    BOOST_TEST(linspace(-1, 3, 5) == (std::vector<double>{-1, 0, 1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(slope({0, 1, 2, 4}, {5, 3, 1, -3}) == -2, boost::test_tools::tolerance(1e-15));
    BOOST_TEST(slope({0, 1, 2}, {0, 1, 0}) == 0, boost::test_tools::tolerance(1e-15));
    BOOST_TEST(fit_power_law({1, 2, 4, 8}, {3, 12, 48, 192}) == 2, boost::test_tools::tolerance(1e-14));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_experiments
