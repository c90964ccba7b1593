// The program from outside: exit statuses, one line on standard error, nothing but JSON on standard output with --json.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/experiments/report/experiment.hpp>

#include "call.hpp"

namespace test_program {
BOOST_AUTO_TEST_SUITE(program)

using namespace chalkgrad;
using namespace chalkgrad::testing;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_CASE(wrong_calls_give_one_line_and_status_2) {
    check_refused({}, "give a command: ");
    check_refused({"rnu"}, "no command 'rnu'; did you mean ");
    check_refused({"rnu"}, "run");
    check_refused({""}, "");
    check_refused({"--nonsense"}, "--nonsense");
    check_refused({"run", "--nonsense"}, "see 'chalkgrad run --help'");
    check_refused({"run", "--out"}, "--out");
    check_refused({"run"}, "nothing to run; name experiments");
    check_refused({"run", "no\nsuch"}, "no experiment 'no such'");
    check_refused({"run", "--section", "no such"}, "section 'no such'");
    check_refused({"run", "--all", "--section", "6"}, "choice is not clear");
    const char* const too_large = "340282366920938463463374607431768211456"; // 2^128
    check_refused({"run", "--all", "--seed="}, "--seed");
    for (const char* const seed : {"-1", "x", "1.5", too_large})
        check_refused({"run", "--all", "--seed=" + std::string(seed)}, "from 0 to 2^128 - 1");
    check_refused({"gradcheck", "add", "--seed", "18446744073709551616"}, "from 0 to 2^64 - 1");
    check_refused({"run", "--all", "--out", ""}, "--out names no folder");
    check_refused({"rng", "--seed", "5", "nonsense", "--shape", "2", "--out", "x.npy"}, "nonsense");
    check_refused({"list"}, "WHAT");
    check_refused({"list", "opps"}, "did you mean ops?");
    check_refused({"gradcheck", "rmsnorm"}, "rms_norm");
    check_refused({"gradcheck"}, "--all");
    check_refused({"gradcheck", "add", "--tolerance", "nan"}, "tolerance");
    check_refused({"graph", "peri", "--format", "gif"}, "gif");
    check_refused({"graph", "perry"}, "did you mean peri");
    check_refused({"graph", "peri", "-o", "."}, "is a folder");
    check_refused({"graph", "peri", "--depth", "0"}, "the least is 1");
    check_refused({"graph", "peri", "--depth", "9"}, "use 1 to 2");
    check_refused({"graph", "peri", "--level", "atom"}, "use module, op or composed");
    check_refused({"graph", "peri", "--theme", "pink"}, "use light or dark");
    check_refused({"graph", "pre", "--side-by-side", "post", "--format", "json"}, "JSON holds one graph");
    check_refused({"graph"}, "give a block");
}

BOOST_AUTO_TEST_CASE(help_is_everywhere_with_examples) {
    const Ended top = call({"--help"});
    BOOST_TEST(top.status == 0);
    BOOST_TEST(top.err.empty());
    for (const char* const command : {"list", "gradcheck", "run", "graph", "rng", "eval", "parity"}) {
        BOOST_TEST(contains(top.out, command));
        const Ended help = call({command, "--help"});
        BOOST_TEST(help.status == 0, command);
        BOOST_TEST(help.err.empty(), command);
        BOOST_TEST(contains(help.out, "Examples:"), command);
        BOOST_TEST(contains(help.out, fmt::format("chalkgrad {} ", command)), command);
    }
    BOOST_TEST(call({"--version"}).out.starts_with("chalkgrad "));
}

BOOST_AUTO_TEST_CASE(a_run_prints_text_or_one_json_document) {
    for (const Experiment& experiment : experiments()) {
        const Ended text = call({"run", experiment.name});
        BOOST_TEST(text.status == 0, text.out + text.err);
        BOOST_TEST(text.out.starts_with(experiment.name));
        BOOST_TEST(text.err.empty());
        BOOST_TEST(!contains(text.out, "\x1b")); // no colour where no terminal is

        const Ended json = call({"run", experiment.name, "--json"});
        BOOST_TEST(json.status == 0);
        BOOST_TEST(json.err.empty());
        const nlohmann::json found = nlohmann::json::parse(json.out).at("experiments").at(0);
        for (const char* const key : {"name", "section", "seconds", "numbers", "measured", "not_reproduced", "files"})
            BOOST_TEST(found.contains(key), key);
        break; // one is enough: each has a test of its own
    }
}

BOOST_AUTO_TEST_CASE(files_of_a_run_are_named_and_there) {
    const Folder folder;
    write_file(folder / "file", "x");
    if (experiments().empty()) return;
    const std::string name = experiments()[0].name;
    check_refused({"run", name, "--out", folder / "file"}, "is a file, not a folder");
    check_refused({"run", name, "--out", folder / "file/deeper"}, "cannot be made");

    write_file(folder / "notes.txt", "mine");
    const Ended json = call({"run", name, "--json", "--out", folder.path.string()});
    BOOST_TEST(json.status == 0, json.err);
    const nlohmann::json files = nlohmann::json::parse(json.out).at("experiments").at(0).at("files");
    BOOST_TEST(files.size() >= 2);
    for (const auto& file : files) BOOST_TEST(fs::is_regular_file(file.get<std::string>()), file);
    BOOST_TEST(read_file(folder / "notes.txt") == "mine");
    BOOST_TEST(entries(folder) == long(files.size()) + 2);
}

BOOST_AUTO_TEST_CASE(rng_writes_its_file) {
    const Folder folder;
    const Ended drawn = call({"rng", "--seed", "5", "standard_normal", "--shape", "3,5", "--out", folder / "x.npy"});
    BOOST_TEST(drawn.status == 0, drawn.err);
    BOOST_TEST(read_file(folder / "x.npy").size() == 128 + 15 * 8);
    const Ended uniform = call({"rng", "--seed", "8", "uniform", "--low", "-4", "--high", "4", "--shape", "3", "8",
        "--out", folder / "u.npy"});
    BOOST_TEST(uniform.status == 0, uniform.err);
    BOOST_TEST(read_file(folder / "u.npy").size() == 128 + 24 * 8);
    const Ended normal =
        call({"rng", "--seed-words", "1,2,3", "normal", "-1", "0.5", "--shape", "2", "--out", folder / "n.npy"});
    BOOST_TEST(normal.status == 0, normal.err);
    check_refused({"rng", "--seed", "5", "random", "--out", folder / "none/x.npy"}, "none/x.npy");
    check_refused({"rng", "--seed", "5", "random", "--out", folder.path.string()}, "is a folder");
    check_refused({"rng", "--seed", "5", "random"}, "--out");
    BOOST_TEST(entries(folder) == 3);
}

BOOST_AUTO_TEST_CASE(an_interrupt_leaves_a_whole_file_or_none) {
    const Folder folder;
    const Words words{"rng", "--seed", "5", "random", "--shape", "2000000", "--out", folder / "x.npy"};
    const auto check = [&] {
        for (const auto& entry : fs::directory_iterator(folder.path)) {
            BOOST_TEST(entry.path().filename() == "x.npy");
            BOOST_TEST(fs::file_size(entry) == 128 + 16'000'000);
        }
    };
    for (int round = 0; round < 4; ++round) {
        // While the temporary grows: the program finishes the file first.
        pid_t child = start(words, "/dev/null", "/dev/null");
        const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (entries(folder) == 0 && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
        kill(child, SIGINT);
        const int status = wait_for(child);
        BOOST_TEST((status == 0 || status == -SIGINT));
        BOOST_TEST(fs::exists(folder / "x.npy"));
        check();
        fs::remove(folder / "x.npy");

        // Before: it ends at once.
        child = start(words, "/dev/null", "/dev/null");
        std::this_thread::sleep_for(std::chrono::milliseconds(round));
        kill(child, SIGINT);
        wait_for(child);
        check();
        fs::remove(folder / "x.npy");
    }
}

BOOST_AUTO_TEST_CASE(a_run_that_cannot_draw_or_write_leaves_nothing) {
    const Folder folder;
    const Words run{"run", "root_mean_square", "--out", folder / "new"};
    {
        const Path path(folder.path);
        check_refused(run, "install Debian's gnuplot-nox");
    }
    BOOST_TEST(entries(folder) == 0);

    {
        const FullDisk full(20'000); // a png is larger
        check_refused(run, "free some space");
    }
    BOOST_TEST(entries(folder) == 0);
}

BOOST_AUTO_TEST_CASE(an_interrupted_run_leaves_all_its_files_or_none) {
    const Folder folder;
    const Words run{"run", "root_mean_square", "two_norms", "--out", folder / "new"};
    const auto start_of = std::chrono::steady_clock::now();
    BOOST_TEST(call(run).status == 0);
    const auto whole = std::chrono::steady_clock::now() - start_of;
    const long files = entries(folder / "new");
    for (int tenth = 1; tenth <= 10; ++tenth) {
        fs::remove_all(folder / "new");
        const pid_t child = start(run, "/dev/null", "/dev/null");
        std::this_thread::sleep_for(whole * tenth / 10);
        kill(child, SIGINT);
        const int status = wait_for(child);
        BOOST_TEST((status == 0 || status == -SIGINT));
        if (!fs::exists(folder / "new")) continue;
        BOOST_TEST(entries(folder / "new") == files);
    }
}

BOOST_AUTO_TEST_CASE(a_full_standard_output_is_an_error) {
    const Folder folder;
    for (const Words& words : {Words{"--help"}, Words{"list", "ops", "--json"}}) {
        BOOST_TEST(wait_for(start(words, "/dev/full", folder / "err")) == 2);
        const std::string err = read_file(folder / "err");
        BOOST_TEST(std::count(err.begin(), err.end(), '\n') == 1, err);
    }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_program
