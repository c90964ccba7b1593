// slow
// `chalkgrad gradcheck --file`: a user's op is compiled and checked; what the compiler says comes back as it is.
#include <boost/test/unit_test.hpp>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "call.hpp"

namespace test_gradcheck_file {
BOOST_AUTO_TEST_SUITE(gradcheck_file)

using chalkgrad::testing::call;

namespace {

const std::filesystem::path docs = std::filesystem::path(CHALKGRAD_SOURCE_DIR) / "docs";

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

BOOST_AUTO_TEST_CASE(the_page_shows_these_files) {
    const std::string page = chalkgrad::read_file(docs / "gradcheck.md");
    for (const char* const file : {"examples/checks/my_op.cpp", "examples/gradcheck.cpp", "examples/gradcheck.txt"})
        BOOST_TEST(page.find(chalkgrad::read_file(docs / file)) != std::string::npos,
            file << " is not in docs/gradcheck.md word for word");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_gradcheck_file
