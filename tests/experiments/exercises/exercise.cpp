// `chalkgrad exercise list` and `show`, and how answers are graded; files are checked by exercise_check.cpp.
#include <boost/test/unit_test.hpp>

#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/check/exercise.hpp>
#include <chalkgrad/experiments/exercises/exercises.hpp>

#include "../program/call.hpp"

namespace test_exercise {
BOOST_AUTO_TEST_SUITE(exercise)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

Array<double> square(const Array<double>& x) { return x * x; }

/// The grade of two functions for the exercise rms_norm's neighbour: silu.
Grade grade_silu(Array<double> (*forward)(const Array<double>&),
    Array<double> (*backward)(const Array<double>&, const Array<double>&, const Array<double>&)) {
    const Exercise& silu = find_exercise("silu");
    return grade(silu, nlohmann::json::parse(chalkgrad::exercise::answer(
                           chalkgrad::exercise::solution_of("silu", forward, backward), exercise_request(silu))));
}

double sigmoid_of(double z) { return 1 / (1 + std::exp(-z)); }
Array<double> silu_forward(const Array<double>& x) {
    Array<double> y = x;
    for (double& v : y) v *= sigmoid_of(v);
    return y;
}
template <int fault>
Array<double> silu_backward(const Array<double>& x, const Array<double>&, const Array<double>& gy) {
    Array<double> gx = gy;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double z = x.data()[i], s = sigmoid_of(z);
        gx.data()[i] *= fault == 1 ? s : fault == 2 ? 0 : s + z * s * (1 - s);
    }
    if (fault == 3) gx.data()[0] = std::nan("");
    if (fault == 4) throw Error("mine: lost");
    if (fault == 5) return Array<double>::from_shape({1});
    return gx;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_table_is_complete) {
    std::set<std::string> names;
    for (const Exercise& e : exercises()) {
        BOOST_TEST_CONTEXT(e.name) {
            BOOST_TEST(names.insert(e.name).second);
            BOOST_TEST(!e.purpose.empty());
            BOOST_TEST(!e.section.empty());
            BOOST_TEST(!e.task.empty());
            BOOST_TEST(e.hints.size() >= 3);
            BOOST_TEST(contains(std::string(e.starter()), "    // Your lines.\n"));
            BOOST_TEST(
                contains(std::string(e.starter()), fmt::format("CHALKGRAD_EXERCISE({}, forward, backward);", e.name)));
            Generator rng{Seed(1)};
            const std::vector<Sample> points = e.points(rng);
            BOOST_TEST(points.size() >= 2);
            for (const Sample& point : points) BOOST_TEST(point.inputs.size() == e.inputs.size());
            for (const TypicalFault& fault : e.faults)
                BOOST_TEST(std::count(e.inputs.begin(), e.inputs.end(), fault.input) == 1, fault.input);
            const auto request = nlohmann::json::parse(exercise_request(e));
            BOOST_TEST(request["points"].size() == points.size());
        }
    }
    BOOST_TEST(names.size() == 12);
}

BOOST_AUTO_TEST_CASE(grades) {
    const Grade right = grade_silu(silu_forward, silu_backward<0>);
    BOOST_TEST(right.right);
    BOOST_TEST(right.gradients[0].wrong == 0);
    BOOST_TEST(right.gradients[0].numbers == 19);
    BOOST_TEST(to_text(right).starts_with("silu: right\n"));

    const Grade wrong = grade_silu(silu_forward, silu_backward<1>);
    BOOST_TEST(!wrong.right);
    BOOST_TEST(wrong.forward.wrong == 0);
    BOOST_TEST(wrong.gradients[0].wrong > 10);
    BOOST_TEST(contains(wrong.gradients[0].says, "product rule"), wrong.gradients[0].says);
    BOOST_TEST(!wrong.untouched);
    const nlohmann::json json = to_json(wrong);
    BOOST_TEST(json["verdict"] == "wrong");
    BOOST_TEST(json["gradients"][0]["worst"]["index"].size() == 2);

    BOOST_TEST(grade_silu(silu_forward, silu_backward<2>).untouched);
    const Grade nan = grade_silu(silu_forward, silu_backward<3>);
    BOOST_TEST(nan.gradients[0].wrong == 2);
    BOOST_TEST(std::isnan(nan.gradients[0].worst.yours));
    for (const Grade& thrown :
        {grade_silu(silu_forward, silu_backward<4>), grade_silu(silu_forward, silu_backward<5>)}) {
        BOOST_TEST(!thrown.right);
        BOOST_TEST(!thrown.untouched);
        BOOST_TEST(thrown.notes.size() == 1);
    }
    BOOST_TEST(contains(grade_silu(silu_forward, silu_backward<4>).notes[0], "mine: lost"));
    BOOST_TEST(contains(grade_silu(silu_forward, silu_backward<5>).notes[0], "gradient of shape (1)"));

    const Grade other = grade_silu(square, silu_backward<0>);
    BOOST_TEST(!other.right);
    BOOST_TEST(other.forward.wrong > 0);
    BOOST_TEST(contains(other.notes.back(), "The forward is given"));
}

BOOST_AUTO_TEST_CASE(list_and_show) {
    const Ended list = call({"exercise", "list"});
    BOOST_TEST(list.status == 0);
    for (const Exercise& e : exercises()) BOOST_TEST(contains(list.out, e.name + " "));
    for (const Words& words : {Words{"exercise", "list", "--json"}, Words{"list", "exercises", "--json"}}) {
        const auto json = nlohmann::json::parse(call(words).out);
        BOOST_TEST(json.size() == exercises().size());
        BOOST_TEST(json[0]["name"] == "linear");
        BOOST_TEST(json[0]["section"] == "§8");
        BOOST_TEST(json[0].contains("purpose"));
    }
    const Exercise& e = find_exercise("rms_norm");
    const Ended show = call({"exercise", "show", "rms_norm"});
    BOOST_TEST(contains(show.out, e.task));
    BOOST_TEST(!contains(show.out, e.hints[0]));
    BOOST_TEST(call({"exercise", "show", "rms_norm", "--hint", "2"}).out == e.hints[1] + "\n");
    BOOST_TEST(call({"exercise", "show", "rms_norm", "--starter"}).out == e.starter());
    const Folder folder;
    const Words write = {"exercise", "show", "rms_norm", "--starter", "-o", folder / "mine.cpp"};
    BOOST_TEST(call(write).status == 0);
    BOOST_TEST(read_file(folder / "mine.cpp") == e.starter());
    const Ended again = call(write); // it may be a student's work by now
    BOOST_TEST(again.status == 2);
    BOOST_TEST(contains(again.err, "is there already"));
}

BOOST_AUTO_TEST_CASE(wrong_calls) {
    check_refused({"exercise"}, "ACTION");
    check_refused({"exercise", "lsit"}, "did you mean list");
    check_refused({"exercise", "show"}, "exercise list");
    check_refused({"exercise", "show", "rmsnorm"}, "did you mean rms_norm");
    check_refused({"exercise", "list", "silu"}, "takes no name");
    check_refused({"exercise", "show", "silu", "--hint", "9"}, "hints 1 to 3");
    check_refused({"exercise", "show", "silu", "--hint", "0"}, "hints 1 to 3");
    check_refused({"exercise", "show", "silu", "--json"}, "--json goes with");
    check_refused({"exercise", "show", "silu", "-o", "x.cpp"}, "--starter");
    check_refused({"exercise", "list", "--hint", "1"}, "go with show");
    check_refused({"exercise", "check", "silu"}, "name the file");
    check_refused({"exercise", "check", "silu", "missing.cpp"}, "there is no file missing.cpp");
    check_refused({"exercise", "check", "slu", "missing.cpp"}, "did you mean silu");
}

BOOST_AUTO_TEST_CASE(the_page_names_them_all) {
    const std::string page = read_file(std::filesystem::path(CHALKGRAD_SOURCE_DIR) / "docs/exercises.md");
    for (const Exercise& e : exercises())
        BOOST_TEST(contains(page, fmt::format("| `{}` | {} |", e.name, e.section)), e.name);
    BOOST_TEST(contains(page, std::string(find_exercise("silu").starter())));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_exercise
