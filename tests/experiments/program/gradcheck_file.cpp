// slow
// `chalkgrad gradcheck --file`: a user's op is compiled and checked; what the compiler says comes back as it is.
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <map>

#include <nlohmann/json.hpp>

#include "call.hpp"

namespace test_gradcheck_file {
BOOST_AUTO_TEST_SUITE(gradcheck_file)

using chalkgrad::testing::call;

namespace {

const std::filesystem::path docs = std::filesystem::path(CHALKGRAD_SOURCE_DIR) / "docs",
                            cases = std::filesystem::path(CHALKGRAD_SOURCE_DIR) / "tests/data/cases/round2";

/// The example with one text in the place of another, as a file of its own.
std::string changed(const std::string& file, const std::string& from, const std::string& to) {
    chalkgrad::write_file(
        file, chalkgrad::testing::replaced(chalkgrad::read_file(docs / "examples/checks/my_op.cpp"), from, to));
    return file;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_right_op_passes) {
    const auto run = call({"gradcheck", "--json", "--file", (docs / "examples/checks/my_op.cpp").string()});
    BOOST_TEST(run.status == 0, run.err);
    const auto json = nlohmann::json::parse(run.out);
    BOOST_TEST(json["passed"] == 2);
    BOOST_TEST(json["ops"][0]["op"] == "signed_square");
}

BOOST_AUTO_TEST_CASE(a_wrong_op_fails_with_the_cause) {
    const chalkgrad::testing::Folder folder;
    const auto run =
        call({"gradcheck", "--file", changed(folder / "wrong_op.cpp", "2. * xt::abs(x)", "3. * xt::abs(x)")});
    BOOST_TEST(run.status == 1);
    BOOST_TEST(run.out.find("off by a constant factor 1.5") != std::string::npos, run.out);
    BOOST_TEST(run.out.find("0 passed, 2 failed") != std::string::npos, run.out);
}

BOOST_AUTO_TEST_CASE(errors_of_the_compiler_come_back_with_their_line) {
    const chalkgrad::testing::Folder folder;
    const auto run = call({"gradcheck", "--file", changed(folder / "broken_op.cpp", "xt::abs(x));", "xt::abs(x);")});
    BOOST_TEST(run.status == 2);
    BOOST_TEST(run.err.find("broken_op.cpp:9:") != std::string::npos, run.err);
    BOOST_TEST(run.err.find("does not compile") != std::string::npos, run.err);

    chalkgrad::write_file(folder / "no_check.cpp", "int unused = 0;\n");
    const auto none = call({"gradcheck", "--file", folder / "no_check.cpp"});
    BOOST_TEST(none.err.find("registers no check") != std::string::npos, none.err);
    BOOST_TEST(none.status == 2);
    BOOST_TEST(call({"gradcheck", "--file", "missing.cpp"}).status == 2);
    BOOST_TEST(call({"gradcheck", "rms_norm", "--file", "missing.cpp"}).status == 2);
}

// A comparison with NaN is false either way.
BOOST_AUTO_TEST_CASE(a_gradient_that_is_no_number_does_not_pass) { // N08
    const auto run = call({"gradcheck", "--json", "--file", (cases / "N08_nan.cpp").string()});
    BOOST_TEST(run.status == 1, run.err);
    std::map<std::string, std::string> verdicts, why;
    const auto document = nlohmann::json::parse(run.out);
    for (const auto& op : document["ops"]) {
        verdicts[op["op"]] = op["verdict"];
        why[op["op"]] = op["why"];
    }
    const std::map<std::string, std::string> expected = {{"right_one", "pass"}, {"nan_everywhere", "fail"},
        {"nan_in_one", "fail"}, {"nan_on_both_sides", "inconclusive"}, {"inside_its_domain", "pass"}};
    BOOST_TEST((verdicts == expected), run.out);
    BOOST_TEST(why["nan_on_both_sides"].find("not finite") != std::string::npos, why["nan_on_both_sides"]);
    BOOST_TEST(why["nan_in_one"].find("the gradient is not finite") != std::string::npos, why["nan_in_one"]);
}

// A gradient in the shape of the output, or a column for a row, is not summed in silence.
BOOST_AUTO_TEST_CASE(a_gradient_of_another_shape_is_named) { // N11
    const chalkgrad::testing::Folder folder;
    const std::string text = chalkgrad::read_file(cases / "N11_shape.cpp");
    const std::pair<const char*, const char*> kinds[] = {
        {"", ""}, {"#define KIND 1\n", "(2, 3)"}, {"#define KIND 2\n", "(3, 1)"}};
    for (const auto& [define, shape] : kinds) {
        chalkgrad::write_file(folder / "shape.cpp", define + text);
        const auto run = call({"gradcheck", "--json", "--file", folder / "shape.cpp"});
        const auto ops = nlohmann::json::parse(run.out)["ops"];
        BOOST_TEST(run.status == (*define == '\0' ? 0 : 1), run.err);
        BOOST_TEST(ops[0]["verdict"] == "pass");
        if (*define == '\0') continue;
        const std::string why = ops[1]["why"];
        BOOST_TEST(ops[1]["verdict"] == "fail");
        for (const char* const words : {"scaled: ", "shape (3)", shape})
            BOOST_TEST(why.find(words) != std::string::npos, why);
    }
}

// N23: $CXX chooses the compiler, and gets no flag of another one.
BOOST_AUTO_TEST_CASE(clang_compiles_it_too) {
    if (std::system("command -v clang++ >/dev/null") != 0) return;
    const chalkgrad::testing::Folder folder;
    for (const char* const compiler : {"g++", "clang++"}) {
        setenv("CXX", compiler, 1);
        const auto run = call({"gradcheck", "--file", (cases / "N11_shape.cpp").string()});
        BOOST_TEST(run.status == 0, compiler << ": " << run.err);
        BOOST_TEST(run.out.find("1 passed, 0 failed") != std::string::npos, run.out);
    }
    const std::string silu = folder / "silu.cpp";
    BOOST_TEST(call({"exercise", "show", "silu", "--starter", "-o", silu}).status == 0);
    const auto starter = call({"exercise", "check", "silu", silu});
    unsetenv("CXX");
    BOOST_TEST(starter.status == 1, starter.err);
    BOOST_TEST(starter.out.find("not solved yet") != std::string::npos, starter.out);
}

BOOST_AUTO_TEST_CASE(the_page_shows_these_files) {
    const std::string page = chalkgrad::read_file(docs / "gradcheck.md");
    for (const char* const file : {"examples/checks/my_op.cpp", "examples/gradcheck.cpp", "examples/gradcheck.txt"})
        BOOST_TEST(page.find(chalkgrad::read_file(docs / file)) != std::string::npos,
            file << " is not in docs/gradcheck.md word for word");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_gradcheck_file
