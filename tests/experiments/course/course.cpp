// The numbers of the course with all their digits (tests/data/course_numbers.json), beyond the printed ones that the
// report judges.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>

namespace test_course {
BOOST_AUTO_TEST_SUITE(course)

using namespace chalkgrad;

namespace {

/// What the experiment of that name finds, by the number's name.
std::map<std::string, double> found(const std::string& name) {
    std::map<std::string, double> values;
    const Finished finished = std::move(run_experiments(experiments_named(experiments(), {name}), {}, {}).front());
    for (const Report::Number& each : finished.report.numbers()) {
        BOOST_TEST(each.holds, name << ": " << each.name << " is " << each.value << ", not " << each.expected);
        values[each.name] = each.value;
    }
    for (const Report::Measured& each : finished.report.measured()) values[each.name] = each.value;
    return values;
}

const nlohmann::json& numpy() {
    static const nlohmann::json all =
        nlohmann::json::parse(read_file(CHALKGRAD_SOURCE_DIR "/tests/data/course_numbers.json"));
    return all;
}

void check_close(double value, double expected, double relative) {
    BOOST_TEST(std::abs(value - expected) <= relative * std::abs(expected), value << " is not " << expected);
}

} // namespace

BOOST_AUTO_TEST_CASE(norms_of_four_numbers) {
    const auto here = found("two_norms");
    for (int i = 0; i < 4; ++i) {
        const std::string coordinate = ", coordinate " + std::to_string(i + 1);
        check_close(here.at("LayerNorm" + coordinate), numpy()["LN_ex"][i], 1e-15);
        check_close(here.at("RMSNorm" + coordinate), numpy()["RMSNorm_ex"][i], 1e-15);
    }
}

BOOST_AUTO_TEST_CASE(gains_near_zero) {
    const auto here = found("epsilon_gain");
    const auto& gains = numpy()["near_zero_gain rms=1e-3 eps=1e-6,1e-5"];
    check_close(here.at("gain at RMS 0.001, ε = 1e-6"), gains[0], 1e-14);
    check_close(here.at("gain at RMS 0.001, ε = 1e-5"), gains[1], 1e-14);
}

BOOST_AUTO_TEST_CASE(quick_gelu_and_the_fit_of_dyt) {
    check_close(found("activation_gallery").at("largest |z σ(1.702 z) − GELU(z)|, 4,001 points"),
        numpy()["gelu_quick_err max, argmax z, sign"][0], 1e-13);
    const auto fit = found("dyt_fit");
    const auto& numbers = numpy()["dyt_fit alpha, mse, neighbours"];
    check_close(fit.at("its mean squared error"), numbers[1], 1e-12);
    check_close(fit.at("error at the α below"), numbers[2], 1e-12);
    check_close(fit.at("error at the α above"), numbers[3], 1e-12);
}

BOOST_AUTO_TEST_CASE(the_ledger) {
    const auto here = found("llama_ledger");
    const auto& ledger = numpy()["ledger"];
    check_close(here.at("share of the FFN in a block (%)") / 100, ledger["ffn_share"], 1e-15);
    BOOST_TEST(here.at("model, 2 V d + 32 blocks + d") == ledger["total"].get<double>());
}

BOOST_AUTO_TEST_CASE(another_seed_judges_nothing_that_depends_on_draws) {
    for (const char* const name : {"rms_norm_parity", "swiglu_parity", "dyt_fit", "stream_mixing", "sinkhorn_residuals",
             "packed_gates", "two_heads", "direct_path", "moving_mixer", "wrong_axis"}) {
        const auto finished = run_experiments(experiments_named(experiments(), {name}), {uint128{12345}}, {});
        for (const Report::Number& each : finished.front().report.numbers())
            BOOST_TEST(each.holds, name << ": " << each.name << " is " << each.value << ", not " << each.expected);
    }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_course
