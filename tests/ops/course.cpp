// The strict entry points: the course's numbers, and everything that its listings refuse.
#include <chalkgrad/autograd/half.hpp>
#include <chalkgrad/ops/course.hpp>

#include <fstream>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "call.hpp"

using namespace chalkgrad;
using namespace chalkgrad::testing;
using Json = nlohmann::json;
namespace strict = chalkgrad::course; // the suite is called course too

namespace {

double number(const Json& value) {
    if (!value.is_string()) return value.get<double>();
    return value == "nan" ? __builtin_nan("") : value == "inf" ? HUGE_VAL : throw std::runtime_error(value.dump());
}

/// The array of that name, given by its values or its shape, or of ones in a shape of our own.
Array<double> array(const Json& arguments, const std::string& name, const std::vector<std::size_t>& otherwise) {
    if (arguments.contains(name + "_values")) {
        const Json& values = arguments[name + "_values"];
        Array<double> x(std::vector<std::size_t>{values.size()});
        for (std::size_t i = 0; i < values.size(); ++i) x(i) = number(values[i]);
        return x;
    }
    return Array<double>(arguments.value(name + "_shape", otherwise), 1.0);
}

void call_as_listed(const std::string& op, const Json& a) {
    const auto value = [&](const char* name, double otherwise) { return a.contains(name) ? number(a[name]) : otherwise; };
    const auto limit = [&](const char* name) { return a.contains(name) ? std::optional(number(a[name])) : std::nullopt; };
    if (op == "rms_norm") {
        if (a.value("x_dtype", "") == "int64")
            strict::rms_norm(Array<std::int64_t>{1, 2, 3});
        else if (const Array<double> x = array(a, "x", {2, 3}); a.contains("gamma_shape") || a.contains("gamma_values"))
            strict::rms_norm(x, array(a, "gamma", {}), value("eps", 1e-6));
        else
            strict::rms_norm(x, value("eps", 1e-6));
    } else if (op == "swiglu_act") {
        strict::swiglu_act(array(a, "gate", {2, 3}), array(a, "up", {2, 3}),
                           {value("alpha", 1), limit("gate_limit"), limit("up_limit"), value("shift_up", 0)});
    } else if (op == "gpt_oss_swiglu") {
        strict::gpt_oss_swiglu(array(a, "gate", {2, 3}), array(a, "up", {2, 3}), value("alpha", 1.702), value("limit", 7));
    } else {
        BOOST_ERROR("unknown op " << op);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(course)

BOOST_AUTO_TEST_CASE(all_that_the_listings_refuse) {
    std::ifstream file(CHALKGRAD_TEST_DATA "/golden/refusals.json");
    const Json cases = Json::parse(file)["cases"];
    BOOST_TEST(cases.size() == 22u);
    for (const Json& c : cases) {
        BOOST_TEST_CONTEXT(c.dump()) {
            const std::string op = c["op"];
            BOOST_CHECK_EXCEPTION(call_as_listed(op, c["args"]), Error,
                                  [&](const Error& e) { return std::string(e.what()).starts_with(op + ": "); });
        }
    }
}

BOOST_AUTO_TEST_CASE(the_same_calls_with_good_numbers_pass) {
    for (const char* const op : {"rms_norm", "swiglu_act", "gpt_oss_swiglu"})
        BOOST_CHECK_NO_THROW(call_as_listed(op, Json::object()));
}

BOOST_AUTO_TEST_CASE(more_that_is_not_finite) {
    const double nan = __builtin_nan("");
    BOOST_CHECK_THROW(strict::rms_norm(Array<float>{1, HUGE_VALF}), Error);
    BOOST_CHECK_THROW(strict::swiglu_act(Array<double>{1, 2}, Array<double>{nan, 1}), Error);
    BOOST_CHECK_THROW(strict::gpt_oss_swiglu(Array<double>{-HUGE_VAL}, Array<double>{1}), Error);
    BOOST_CHECK_THROW(strict::gpt_oss_swiglu(Array<double>{1}, Array<double>{nan}), Error);
}

BOOST_AUTO_TEST_CASE(the_course_s_numbers) {
    const Array<double> x = {2, -1, 3, 0};
    const Array<double> y = strict::rms_norm(x);
    check_all(std::vector<double>(y.begin(), y.end()), std::vector{1.069, -0.535, 1.604, 0.0}, 5e-4);
    const Array<double> doubled = strict::rms_norm(x, Array<double>(2.0));
    check_near(doubled(2), 2 * y(2), 1e-15);
    const Array<half> large = strict::rms_norm(converted<half>(Array<double>{1000, 1000, 1000}));
    for (const half v : large) BOOST_TEST(static_cast<float>(v) == 1.0f);
    const Array<double> z = {9}, product = strict::gpt_oss_swiglu(z, z);
    check_near(product(0), 55.999625026426536, 1e-14);
    BOOST_TEST(strict::swiglu_act(z, z, gpt_oss_gate)(0) == product(0));
    BOOST_TEST(strict::gpt_oss_swiglu(Array<float>{9}, Array<float>{9})(0) == static_cast<float>(product(0)));
}

BOOST_AUTO_TEST_SUITE_END()
