// Reports: verdicts, the contract's JSON, and files that appear all together or not at all.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/autograd/numpy/npy.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>
#include <chalkgrad/experiments/report/report.hpp>

#include "../../support.hpp"

namespace test_report {
BOOST_AUTO_TEST_SUITE(report)

using namespace chalkgrad;
using namespace chalkgrad::testing;
namespace fs = std::filesystem;

namespace {

constexpr double NaN = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

/// The files in it by their path from there.
std::map<std::string, std::string> content(const Folder& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path))
        if (entry.is_regular_file()) files[fs::relative(entry.path(), folder.path).string()] = read_file(entry.path());
    return files;
}

bool passes(double value, double expected, Tolerance tolerance) {
    Report report("r");
    report.number("n", value, expected, tolerance, "");
    return report.holds();
}

/// Two experiments: one with every kind of finding, one that fails its number.
std::vector<Experiment> catalogue() {
    return {{"squares", "6.1", "How do <squares> grow?",
                [](Report& report, const ExperimentOptions& options) {
                    report.seeded_number("seed", double(options.seed_or(5)), 5, Tolerance::absolute(0), "course §6");
                    report.number("two & two", 4, 4, Tolerance::relative(1e-9), "course §1");
                    report.measured("ratio", inf, "grows without bound");
                    report.not_reproduced("BLEU", "needs training");
                    report.table({"values", {"x", "x²"}, {{1, 1.}, {2, 4.}}});
                    report.plot({"curve", "Squares", {"x"}, {"x²"}, {{"x²", {1, 2, 3}, {1, 4, 9}}}});
                    report.heat_map({"map", "Map", "j", "i", "v", 1, 2, {1, 2}, false});
                    report.graph("block", "digraph { x -> y }");
                    report.array("x", {{1, 2, 3}, {4, 5, 6}});
                }},
        {"cubes", "6", "Do cubes fail?",
            [](Report& report, const ExperimentOptions&) {
                report.number("three", 3, 27, Tolerance::relative(1e-3), "course §6");
            }},
        {"later", "11", "", [](Report&, const ExperimentOptions&) {}}};
}

std::vector<std::string> names(const std::vector<const Experiment*>& chosen) {
    std::vector<std::string> list;
    for (const Experiment* const each : chosen) list.push_back(each->name);
    return list;
}

} // namespace

BOOST_AUTO_TEST_CASE(verdicts) {
    BOOST_TEST(passes(1 + 0.9e-9, 1, Tolerance::relative(1e-9)));
    BOOST_TEST(!passes(1 + 1.1e-9, 1, Tolerance::relative(1e-9)));
    BOOST_TEST(passes(-2e6 - 1, -2e6, Tolerance::relative(1e-6)));
    BOOST_TEST(!passes(-2e6 - 1, -2e6, Tolerance::absolute(1e-6)));
    BOOST_TEST(!passes(1e-300, 0, Tolerance::relative(1)));
    BOOST_TEST(passes(1e-300, 0, Tolerance::absolute(1e-12)));
    BOOST_TEST(passes(inf, inf, Tolerance::relative(1e-9)));
    BOOST_TEST(!passes(inf, -inf, Tolerance::relative(1e-9)));
    BOOST_TEST(!passes(1, inf, Tolerance::relative(1e-9)));
    BOOST_TEST(passes(NaN, NaN, Tolerance::relative(1e-9)));
    BOOST_TEST(!passes(NaN, 1, Tolerance::absolute(inf)));
    BOOST_TEST(!passes(1, NaN, Tolerance::absolute(inf)));
    BOOST_TEST(passes(0.6324555, 0.632, Tolerance::decimals(3)));
    BOOST_TEST(!passes(0.6326, 0.632, Tolerance::decimals(3)));
    BOOST_TEST(!passes(1 + 1e-15, 1, Tolerance::exact()));
}

BOOST_AUTO_TEST_CASE(json_is_that_of_the_contract) {
    const std::vector<Experiment> all = catalogue();
    const nlohmann::json json = to_json(run_experiments({&all[0], &all[1]}, {}, {}));
    const nlohmann::json& squares = json.at("experiments").at(0);
    BOOST_TEST(squares.at("name") == "squares");
    BOOST_TEST(squares.at("section") == "6.1");
    BOOST_TEST(squares.at("seconds").is_number());
    BOOST_TEST(squares.at("files").empty());
    BOOST_TEST(
        squares.at("numbers").at(1).dump() ==
        R"({"expected":4.0,"name":"two & two","source":"course §1","tolerance":1e-09,"tolerance_kind":"relative","value":4.0,"verdict":"pass"})");
    BOOST_TEST(squares.at("measured").dump() == R"([{"claim":"grows without bound","name":"ratio","value":"inf"}])");
    BOOST_TEST(squares.at("not_reproduced").dump() == R"([{"name":"BLEU","why":"needs training"}])");
    BOOST_TEST(json.at("experiments").at(1).at("numbers").at(0).at("verdict") == "fail");
}

BOOST_AUTO_TEST_CASE(a_number_of_the_reference_seed_is_not_judged_under_another) {
    const std::vector<Experiment> all = catalogue();
    const auto own = run_experiments({&all[0]}, {7}, {});
    BOOST_TEST(own[0].report.numbers().size() == 1);
    BOOST_TEST(own[0].report.measured()[0].value == 7);
    BOOST_TEST(own[0].report.holds());
    BOOST_TEST(run_experiments({&all[0]}, {}, {})[0].report.numbers().size() == 2);
}

BOOST_AUTO_TEST_CASE(a_seed_may_have_128_bits) {
    const std::vector<Experiment> all = catalogue();
    const uint128 large = uint128{1} << 127;
    BOOST_TEST(run_experiments({&all[0]}, {large}, {})[0].report.measured()[0].value == std::ldexp(1., 127));
}

BOOST_AUTO_TEST_CASE(the_end_of_a_run_names_what_failed) {
    const std::vector<Experiment> all = catalogue();
    BOOST_TEST(summary(run_experiments({&all[0], &all[1]}, {}, {})) ==
               "1 of 2 experiments hold (3 numbers checked).\nThese numbers failed:\n  cubes: three\n");
    BOOST_TEST(summary(run_experiments({&all[0]}, {}, {})) == "1 of 1 experiments hold (2 numbers checked).\n");
}

BOOST_AUTO_TEST_CASE(one_experiment_of_a_users_own) {
    const Folder folder;
    const Finished found = run_experiment(catalogue()[1], folder.path / "report");
    BOOST_TEST(
        (std::ostringstream() << found.report).str() == "FAIL  three: 3, expected 27 within 0.001 of it (course §6)\n");
    BOOST_TEST(content(folder).count("report/index.html") == 1);
    BOOST_TEST(content(folder).count("report/cubes.json") == 1);
}

BOOST_AUTO_TEST_CASE(files_appear_repeat_to_the_byte_and_leave_others_alone) {
    const std::vector<Experiment> all = catalogue();
    const Folder folder;
    write_file(folder.path / "mine.txt", "mine");
    const OutputFolder out{folder.path / "new/report", true};
    fs::create_directories(out.path);
    write_file(out.path / "squares.csv", "of an earlier run");
    write_file(out.path / "notes.csv", "mine too");
    const auto finished = run_experiments({&all[0], &all[1]}, {}, out);
    const auto before = content(folder);

    for (const char* const file : {"squares.json", "squares.csv", "squares-values.csv", "squares-values.json",
             "squares-curve.csv", "squares-curve.json", "squares-curve.svg", "squares-curve.pdf", "squares-curve.png",
             "squares-map.csv", "squares-map.json", "squares-map.svg", "squares-map.pdf", "squares-map.png",
             "squares-block.dot", "squares-block.svg", "squares-block.pdf", "squares-block.png", "squares-x.npy",
             "cubes.json", "cubes.csv", "index.html"})
        BOOST_TEST(before.count(fmt::format("new/report/{}", file)) == 1, file);
    BOOST_TEST(before.size() == 22 + 2);
    BOOST_TEST(before.at("mine.txt") == "mine");
    BOOST_TEST(before.at("new/report/notes.csv") == "mine too");
    BOOST_TEST(before.at("new/report/squares-values.csv") == "x,x²\n1,1\n2,4\n");
    BOOST_TEST(contains(
        before.at("new/report/squares.csv"), "two & two,4,4,1.0000000000000001e-09,relative,course §1,pass\n"));
    BOOST_TEST(finished[0].files.size() == 19);
    const Array<double> array = load_npy(out.path / "squares-x.npy");
    BOOST_TEST((array == Array<double>{{1, 2, 3}, {4, 5, 6}}));
    BOOST_TEST(contains(before.at("new/report/index.html"), "<a href=\"squares-x.npy\">squares-x.npy</a>"));
    BOOST_TEST((finished[0].files[0] == out.path / "squares.csv"));

    run_experiments({&all[0], &all[1]}, {}, out);
    BOOST_TEST((content(folder) == before));
}

BOOST_AUTO_TEST_CASE(a_run_that_fails_leaves_nothing) {
    const std::vector<Experiment> all = catalogue();
    const Folder folder;
    Experiment broken = all[0];
    broken.name = "broken";
    broken.run = [](Report& report, const ExperimentOptions&) { report.graph("g", "digraph {"); };
    BOOST_TEST(contains(refusal([&] {
        run_experiments({&all[1], &broken}, {}, {folder.path / "new"});
    }),
        "render_dot"));
    BOOST_TEST(!fs::exists(folder.path / "new"));

    write_file(folder.path / "file", "x");
    bool ran = false;
    broken.run = [&](Report&, const ExperimentOptions&) { ran = true; };
    BOOST_TEST(
        contains(refusal([&] { run_experiments({&broken}, {}, {folder.path / "file"}); }), "is a file, not a folder"));
    BOOST_TEST(!ran); // refused before the work
    BOOST_TEST(content(folder).size() == 1);
}

BOOST_AUTO_TEST_CASE(names_of_findings_are_file_names_used_once) {
    Report report("r");
    for (const char* const name : {"", "a/b", "..", ".a", "-a", "a b", "γ"})
        BOOST_TEST(contains(refusal([&] { report.graph(name, ""); }), "cannot name a file"), name);
    report.graph("a", "digraph {}");
    BOOST_TEST(contains(refusal([&] { report.table({"a", {}, {}}); }), "two findings are named 'a'"));
    BOOST_CHECK_THROW(Report("a/b"), Error);
}

BOOST_AUTO_TEST_CASE(experiments_are_chosen_by_name_or_section) {
    const std::vector<Experiment> all = catalogue();
    using List = std::vector<std::string>;
    BOOST_TEST((names(experiments_named(all, {"cubes", "squares", "cubes"})) == List{"cubes", "squares"}));
    BOOST_TEST((names(experiments_of_section(all, "6")) == List{"squares", "cubes"}));
    BOOST_TEST((names(experiments_of_section(all, "6.1")) == List{"squares"}));
    BOOST_TEST((names(experiments_of_section(all, "11")) == List{"later"}));
    BOOST_TEST(refusal([&] {
        experiments_named(all, {"square"});
    }) == "run: there is no experiment 'square'; did you mean squares?; 'chalkgrad list experiments' shows them all");
    BOOST_TEST(refusal([&] { experiments_of_section(all, "1"); }) ==
               "run: no experiment belongs to section '1'; those with some are 6.1, 6, 11");
}

BOOST_AUTO_TEST_CASE(every_registered_experiment_has_a_name_a_section_and_a_question) {
    std::vector<std::string> seen;
    for (const Experiment& each : experiments()) {
        BOOST_TEST(!each.section.empty(), each.name);
        BOOST_TEST(each.question.ends_with('?'), each.name);
        BOOST_TEST(bool(each.run), each.name);
        BOOST_CHECK_NO_THROW(Report(each.name));
        seen.push_back(each.name);
    }
    std::sort(seen.begin(), seen.end());
    BOOST_TEST((std::adjacent_find(seen.begin(), seen.end()) == seen.end()));
}

BOOST_AUTO_TEST_CASE(plots_and_tables_are_filled_after_they_were_handed_over) {
    Report report("r");
    Plot& plot = report.plot({"first", "First", {"x"}, {"y"}});
    Table& table = report.table({"words", {"word"}});
    for (int i = 0; i < 100; ++i) report.plot({fmt::format("other-{}", i), "", {"x"}, {"y"}});
    plot.at("a").add(1, 2);
    plot.at("b", Mark::line).add(3, 4);
    plot.at("a").add(5, 6);
    table.rows.push_back({"late"});
    BOOST_REQUIRE_EQUAL(plot.series.size(), 2u);
    BOOST_TEST(plot.series[0].x == (std::vector<double>{1, 5}), boost::test_tools::per_element());
    BOOST_TEST((plot.series[0].mark == Mark::line_points && plot.series[1].mark == Mark::line));
    BOOST_TEST(report.tables().front().rows.size() == 1u);
    BOOST_TEST(to_csv(to_table(plot)) == "series,x,y\na,1,2\na,5,6\nb,3,4\n");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_report
