// slow
// `chalkgrad exercise check`: solutions pass, wrong ones fail with the cause, starters politely; and files that cannot
// be checked.
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include <nlohmann/json.hpp>

#include <chalkgrad/experiments/exercises/exercises.hpp>
#include <chalkgrad/experiments/report/parallel.hpp>

#include "../program/call.hpp"
#include "exercise_solutions.hpp"

namespace test_exercise_check {
BOOST_AUTO_TEST_SUITE(exercise_check)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

/// The starter with these lines in it.
std::string solved(const std::string& exercise, const std::string& lines) {
    return replaced(std::string(find_exercise(exercise).starter()), "    // Your lines.\n", lines);
}

/// `exercise check` of a file with this text.
Ended check(const std::string& exercise, const std::string& text, bool json = false) {
    const Folder folder;
    const std::string file = folder / "mine.cpp";
    write_file(file, text);
    Words words = {"exercise", "check", exercise, file};
    if (json) words.push_back("--json");
    return call(words);
}

/// One file to check, and what comes of it.
struct Task {
    std::string exercise, text, says;
    int status;
    Ended ended = {};
};

/// All of them; the compiler takes seconds for each, so two at a time.
void run(std::vector<Task>& tasks) {
    parallel_for(
        tasks.size(), [&](std::size_t i) { tasks[i].ended = check(tasks[i].exercise, tasks[i].text); }, 2);
    for (const Task& task : tasks) {
        const std::string all = task.ended.out + task.ended.err;
        BOOST_TEST_CONTEXT(task.exercise << ", expected: " << task.says << "\n" << all) {
            BOOST_TEST(task.ended.status == task.status);
            BOOST_TEST(contains(all, task.says));
        }
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(every_exercise_has_a_solution_that_passes) {
    std::vector<Task> tasks;
    for (const Exercise& e : exercises()) {
        const auto& all = solved_exercises();
        const auto found = std::find_if(all.begin(), all.end(), [&](const auto& s) { return s.name == e.name; });
        BOOST_TEST_REQUIRE((found != all.end()), e.name);
        BOOST_TEST(found->wrong.size() >= 2);
        tasks.push_back({e.name, solved(e.name, found->lines), e.name + ": right\n", 0});
    }
    run(tasks);
    for (const Task& task : tasks) BOOST_TEST(task.ended.err.empty(), task.ended.err);
}

BOOST_AUTO_TEST_CASE(typical_mistakes_are_named) {
    std::vector<Task> tasks;
    for (const SolvedExercise& s : solved_exercises())
        for (const WrongSolution& w : s.wrong)
            tasks.push_back({s.name, solved(s.name, replaced(s.lines, w.from, w.to)), w.says, 1});
    run(tasks);
}

BOOST_AUTO_TEST_CASE(untouched_starters_fail_politely) {
    std::vector<Task> tasks;
    for (const Exercise& e : exercises()) tasks.push_back({e.name, std::string(e.starter()), "not solved yet", 1});
    run(tasks);
    for (const Task& task : tasks) {
        BOOST_TEST(task.ended.err.empty(), task.ended.err); // no warning of the compiler either
        BOOST_TEST(contains(task.ended.out, "show " + task.exercise + " --hint 1"));
    }
}

BOOST_AUTO_TEST_CASE(files_that_are_no_solution) {
    const std::string silu = solved("silu", solved_exercises()[1].lines);
    const auto with = [&](const std::string& line) {
        return replaced(silu, "    Array<double> gx =", "    " + line + "\n    Array<double> gx =");
    };
    std::vector<Task> tasks = {{"silu", replaced(silu, "return gx;", "return gx"), "does not compile", 2},
        {"silu", "int unused = 0;\n", "CHALKGRAD_EXERCISE(silu, forward, backward)", 2},
        {"softmax", silu, "solves 'silu', not 'softmax'; check it with 'chalkgrad exercise check silu", 2},
        {"swiglu", replaced(silu, "CHALKGRAD_EXERCISE(silu", "CHALKGRAD_EXERCISE(swiglu"),
            "take 1 inputs, and swiglu has 2: g, u", 2},
        {"silu", with("for (volatile int i = 0;; i = i + 1) {}"), "did not end within 20 seconds", 2},
        {"silu", with("*(volatile int*)nullptr = 1;"), "crashed", 2},
        {"silu", with("if (x(7, 9) > 0) return x;"), "out of bounds", 1},
        {"silu", with("std::exit(0);"), "left the program before its answer", 2},
        {"silu", with("for (;;) std::puts(\"noise\");"), "more than 16 MB", 2},
        {"silu", with("std::vector<double> all(std::size_t(1) << 40);"), "your code ended with", 1},
        {"silu", replaced(silu, "return gx;", "return Array<double>::from_shape({2});"),
            "gradient of shape (2) for input 'x0'", 1},
        {"silu", replaced(silu, "* sigmoid(x.data()[i]);\n    return y", "* 2;\n    return y"), "The forward is given",
            1},
        {"silu", replaced(silu, "return gx;", "static double calls = 0; return gx * (1 + 1e-12 * ++calls);"),
            "gradcheck says", 1}};
    run(tasks);
}

BOOST_AUTO_TEST_CASE(noise_and_notes) {
    const std::string silu = solved("silu", solved_exercises()[1].lines);
    const Ended noisy = check(
        "silu", replaced(silu, "    Array<double> gx =", "    std::puts(\"noise\");\n    Array<double> gx ="), true);
    BOOST_TEST(noisy.status == 0);
    BOOST_TEST(contains(noisy.err, "Your file prints:\n  noise\n"), noisy.err);
    const auto json = nlohmann::json::parse(noisy.out); // and nothing else on standard output
    BOOST_TEST(json["verdict"] == "right");
    BOOST_TEST(json["gradients"][0]["name"] == "x");
    BOOST_TEST(json["notes"].empty());

    // An op of the library in the place of a derivation: the numbers are right, and the note says what was asked for.
    const std::string text =
        "#include <chalkgrad/chalkgrad.hpp>\n#include <chalkgrad/autograd/check/exercise.hpp>\nusing namespace "
        "chalkgrad;\n"
        "Array<double> mine(const Array<double>& x) { Tape t; return silu(t.constant(x)).value(); }\n"
        "Array<double> slope(const Array<double>& x, const Array<double>&, const Array<double>& gy) {\n"
        "    Tape t; const auto v = t.variable(x); silu(v).backward(gy); return v.grad();\n}\n"
        "CHALKGRAD_EXERCISE(silu, mine, slope);\n";
    const Ended tape = check("silu", text);
    BOOST_TEST(tape.status == 0, tape.out + tape.err);
    BOOST_TEST(contains(tape.out, "write the gradient by hand"), tape.out);
}

BOOST_AUTO_TEST_CASE(the_page_shows_this) {
    const std::string page = read_file(std::filesystem::path(CHALKGRAD_SOURCE_DIR) / "docs/exercises.md");
    const SolvedExercise& silu = solved_exercises()[1];
    const std::string first_try = replaced(silu.lines, silu.wrong[0].from, silu.wrong[0].to).substr(1);
    BOOST_TEST(contains(page, "```cpp\n" + silu.lines.substr(1) + "```"));
    BOOST_TEST(contains(page, "```cpp\n" + replaced(first_try, "(s)", "s") + "```"));
    BOOST_TEST(contains(page, "```text\n" + check("silu", solved("silu", first_try)).out + "```"));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_exercise_check
