// `chalkgrad run FILE.cpp`: compiled once, run with its arguments and status, and its errors told at the user's own line.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "call.hpp"

namespace test_run_file {
BOOST_AUTO_TEST_SUITE(run_file)

using chalkgrad::testing::call;
using chalkgrad::testing::check_refused;
using chalkgrad::testing::contains;

namespace {

/// A folder with a program in two files, and a place where programs and precompiled headers are kept for all tests.
struct Project {
    Project() {
        setenv("XDG_CACHE_HOME", (cache / "cache").c_str(), 1);
        write("scale.hpp", "inline constexpr double scale = 2;\n");
    }
    ~Project() { unsetenv("XDG_CACHE_HOME"); }

    std::string write(const std::string& name, const std::string& text) const {
        chalkgrad::write_file(folder / name, text);
        return folder / name;
    }
    std::string main(const std::string& more = "") const {
        return write("my experiment.cpp", R"(#include "scale.hpp"
#include <chalkgrad/chalkgrad.hpp>
#include <iostream>
using namespace chalkgrad;
int main(int argc, char** argv) {
    const Tape tape;
    const auto x = tape.variable(Array<double>{1, 2, 3}, "x");
    sum(square(x) * scale).backward();
)" + more + R"(    for (int i = 1; i < argc; ++i) std::cout << argv[i] << ' ';
    std::cout << x.grad() << '\n';
    return argc;
}
)");
    }

    chalkgrad::testing::Folder folder;
    static inline chalkgrad::testing::Folder cache;
};

} // namespace

BOOST_AUTO_TEST_CASE(arguments_and_status_are_passed_on) {
    const Project project;
    const auto run = call({"run", project.main(), "--seed", "3", "--help"});
    BOOST_TEST(run.status == 4, run.err);
    BOOST_TEST(run.out == "--seed 3 --help [4, 8, 12]\n");
    BOOST_TEST(run.err.empty(), run.err);
}

BOOST_AUTO_TEST_CASE(compiled_again_only_when_something_changed) {
    const Project project;
    BOOST_TEST(call({"run", project.main()}).status == 1);
    setenv("CXX", "/no/compiler", 1);
    BOOST_TEST(call({"run", project.main()}).status == 2); // another compiler's program is another one
    unsetenv("CXX");
    const auto start = std::chrono::steady_clock::now();
    BOOST_TEST(call({"run", project.main()}).out == "[4, 8, 12]\n");
    BOOST_TEST(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < 0.5);
    project.write("scale.hpp", "inline constexpr double scale = 3;\n");
    BOOST_TEST(call({"run", project.main()}).out == "[6, 12, 18]\n");
    BOOST_TEST(call({"run", project.main("    std::cout << \"new \";\n")}).out == "new [6, 12, 18]\n");
}

BOOST_AUTO_TEST_CASE(the_first_error_at_its_own_line) {
    const Project project;
    const auto run = call({"run",
        project.main(
            "    custom(\"sq\", [](auto x) { return x * x; }, [](auto x, auto, auto gy) { return gy * x; }, x);\n")});
    BOOST_TEST(run.status == 2);
    BOOST_TEST(
        contains(run.err, "my experiment.cpp:9: error: static assertion failed: custom: forward must return an array"));
    BOOST_TEST(contains(run.err, "    9 |     custom(\"sq\""));
    BOOST_TEST(chalkgrad::testing::count(run.err, "\n") == 3);
    const std::size_t at = run.err.find(Project::cache / "cache");
    BOOST_REQUIRE(at != std::string::npos);
    BOOST_TEST(contains(chalkgrad::read_file(run.err.substr(at, run.err.size() - at - 1)), "static assertion failed"));
}

BOOST_AUTO_TEST_CASE(refused) {
    const Project project;
    check_refused({"run", "nowhere.cpp"}, "there is no file nowhere.cpp");
    check_refused({"run", "--out", "folder", project.main()}, "a file stands first");
    setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
    check_refused({"run", project.main()}, "set XDG_CACHE_HOME to one that can be written");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_run_file
