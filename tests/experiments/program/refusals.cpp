// The calls that the course's own listings reject, by eval --strict on files.
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/numpy/npy.hpp>

#include "call.hpp"

namespace test_refusals {
BOOST_AUTO_TEST_SUITE(refusals)

using namespace chalkgrad;
using namespace chalkgrad::testing;
using nlohmann::json;

namespace {

double number(const json& value) {
    if (!value.is_string()) return value.get<double>();
    return value == "nan" ? NAN : value == "inf" ? HUGE_VAL : -HUGE_VAL;
}

/// The operand NAME from NAME_values or NAME_shape; ones of shape (2, 3) if neither is said.
Array<double> operand(const json& arguments, const std::string& name) {
    if (const auto values = arguments.find(name + "_values"); values != arguments.end()) {
        Array<double> x(std::vector<std::size_t>{values->size()});
        std::transform(values->begin(), values->end(), x.begin(), number);
        return x;
    }
    return Array<double>(arguments.value(name + "_shape", std::vector<std::size_t>{2, 3}), 1.0);
}
bool has(const json& arguments, const std::string& name) {
    return arguments.contains(name + "_shape") || arguments.contains(name + "_values");
}
double number_or(const json& arguments, const char* name, double otherwise) {
    return arguments.contains(name) ? number(arguments[name]) : otherwise;
}
std::vector<std::string> words_for(const std::string& op, const json& arguments, const Folder& folder) {
    std::vector<std::string> words{"eval", op == "rms_norm" ? op : "swiglu_act", "--strict", "--out", folder / "out"};
    const auto in = [&](const char* name, const auto& x) {
        save_npy(folder / (name + std::string(".npy")), x);
        words.insert(words.end(), {"--in", fmt::format("{}={}", name, folder / (name + std::string(".npy")))});
    };
    const auto attribute = [&](const char* name, double value) {
        words.insert(words.end(), {"--attr", fmt::format("{}={}", name, value)});
    };
    if (op == "rms_norm") {
        if (arguments.contains("x_dtype")) in("x", Array<std::int64_t>{1, 2});
        else in("x", operand(arguments, "x"));
        if (has(arguments, "gamma")) in("gamma", operand(arguments, "gamma"));
        attribute("eps", number_or(arguments, "eps", 1e-6));
        return words;
    }
    in("g", operand(arguments, "gate"));
    in("u", operand(arguments, "up"));
    for (const char* const name : {"alpha", "shift_up", "gate_limit", "up_limit"})
        if (arguments.contains(name)) attribute(name, number(arguments[name]));
    if (op == "gpt_oss_swiglu" && arguments.contains("limit"))
        for (const char* const name : {"gate_limit", "up_limit"}) attribute(name, number(arguments["limit"]));
    return words;
}

const json& refusals_file() {
    static const json file = json::parse(read_file(std::string(CHALKGRAD_TEST_DATA) + "/golden/refusals.json"));
    return file;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_the_listings_refuse) {
    BOOST_TEST(refusals_file().at("cases").size() == 22u);
    for (const json& refusal : refusals_file().at("cases")) BOOST_TEST_CONTEXT(refusal.dump()) {
            const Folder folder;
            check_refused(words_for(refusal["op"], refusal["args"], folder), "");
            BOOST_TEST(!std::filesystem::exists(folder / "out"));
        }
}

BOOST_AUTO_TEST_CASE(the_same_calls_with_good_numbers_pass) {
    for (const char* const op : {"rms_norm", "swiglu_act", "gpt_oss_swiglu"}) {
        const Folder folder;
        const Ended ended = call(words_for(op, json::object(), folder));
        BOOST_TEST(ended.status == 0, ended.err);
    }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_refusals
