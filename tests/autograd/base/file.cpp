// Files appear whole or not at all.
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>

#include "../../support.hpp"

namespace test_file {
BOOST_AUTO_TEST_SUITE(file)

using namespace chalkgrad;
using namespace chalkgrad::testing;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_CASE(what_is_written_is_read_back) {
    const Folder folder;
    std::string bytes(100'000, 'x');
    bytes[7] = '\0';
    bytes[8] = '\n';
    for (const std::string& content : {std::string(), std::string("a"), bytes}) {
        write_file(folder / "f", content);
        BOOST_TEST((read_file(folder / "f") == content));
    }
    BOOST_TEST(entries(folder) == 1);
}

BOOST_AUTO_TEST_CASE(a_file_is_replaced_with_its_permissions_and_through_a_link) {
    const Folder folder;
    write_file(folder / "f", "old");
    ::chmod((folder / "f").c_str(), 0640);
    fs::create_symlink("f", folder / "link");
    write_file(folder / "link", "new");
    BOOST_TEST(read_file(folder / "f") == "new");
    BOOST_TEST(fs::is_symlink(folder / "link"));
    BOOST_TEST((fs::status(folder / "f").permissions() == static_cast<fs::perms>(0640)));
}

BOOST_AUTO_TEST_CASE(the_umask_holds_for_a_new_file) {
    const Folder folder;
    const mode_t before = ::umask(0027);
    write_file(folder / "f", "x");
    ::umask(before);
    BOOST_TEST((fs::status(folder / "f").permissions() == static_cast<fs::perms>(0640)));
}

BOOST_AUTO_TEST_CASE(a_name_may_be_as_long_as_the_system_allows) {
    const Folder folder;
    write_file(folder.path / std::string(255, 'n'), "x");
    BOOST_TEST(entries(folder) == 1);
    BOOST_CHECK_THROW(write_file(folder.path / std::string(256, 'n'), "x"), Error);
    BOOST_TEST(entries(folder) == 1);
}

BOOST_AUTO_TEST_CASE(refusals_name_the_path_and_leave_nothing) {
    const Folder folder;
    BOOST_TEST(contains(refusal([&] { write_file(folder.path, "x"); }), "is a folder"));
    BOOST_TEST(
        contains(refusal([&] { write_file(folder / "none/f", "x"); }), "none/f' lies in a folder that does not exist"));
    BOOST_TEST(contains(refusal([&] { write_file("", "x"); }), "is no file name"));
    BOOST_TEST(contains(refusal([&] { write_file(folder / "f/", "x"); }), "is no file name"));
    BOOST_TEST(contains(refusal([&] { write_file("/proc/f", "x"); }), "cannot be written"));
    BOOST_TEST(contains(refusal([&] { read_file(folder / "f"); }), "cannot be opened"));
    BOOST_TEST(contains(refusal([&] { read_file(folder.path); }), "is a folder"));
    BOOST_TEST(entries(folder) == 0);
}

BOOST_AUTO_TEST_CASE(a_full_disk_keeps_the_old_file) {
    const Folder folder;
    write_file(folder / "f", "old");
    std::string message;
    {
        const FullDisk full(100);
        message = refusal([&] { write_file(folder / "f", std::string(1000, 'x')); });
    }
    BOOST_TEST(contains(message, "cannot be written"));
    BOOST_TEST(read_file(folder / "f") == "old");
    BOOST_TEST(entries(folder) == 1);
    BOOST_TEST(!files_in_flight());
}

BOOST_AUTO_TEST_CASE(a_device_is_written_and_stays) {
    write_file("/dev/null", "x");
    BOOST_TEST(fs::is_character_file("/dev/null"));
    BOOST_TEST(contains(refusal([] { write_file("/dev/full", "x"); }), "cannot be written"));
    FileSet set;
    set.add("/dev/null", "x");
    BOOST_TEST(contains(refusal([&] { set.publish(); }), "device"));
}

BOOST_AUTO_TEST_CASE(a_set_appears_together) {
    const Folder folder;
    FileSet set;
    set.add(folder / "new/deep/a", "1");
    set.add(folder / "b", "2");
    BOOST_TEST(entries(folder) == 0);
    set.publish();
    BOOST_TEST(read_file(folder / "new/deep/a") == "1");
    BOOST_TEST(read_file(folder / "b") == "2");
    BOOST_TEST(entries(folder) == 4);
    BOOST_TEST(contains(refusal([&] { set.add(folder / "new/../b", "3"); }), "twice"));
}

BOOST_AUTO_TEST_CASE(a_set_that_fails_changes_nothing) {
    const Folder folder;
    write_file(folder / "a", "old");
    fs::create_directory(folder / "taken");
    FileSet blocked;
    blocked.add(folder / "a", "new");
    blocked.add(folder / "fresh/c", "new");
    blocked.add(folder / "taken", "new");
    BOOST_TEST(contains(refusal([&] { blocked.publish(); }), "is a folder"));
    BOOST_TEST(read_file(folder / "a") == "old");
    BOOST_TEST(entries(folder) == 2);

    FileSet large;
    large.add(folder / "a", "new");
    large.add(folder / "fresh/b", std::string(1000, 'x'));
    {
        const FullDisk full(100);
        refusal([&] { large.publish(); });
    }
    BOOST_TEST(read_file(folder / "a") == "old");
    BOOST_TEST(entries(folder) == 2);
}

BOOST_AUTO_TEST_CASE(an_output_folder_is_checked_before_work) {
    const Folder folder;
    write_file(folder / "f", "x");
    check_output_folder("run", folder.path);
    check_output_folder("run", folder / "new/deep");
    check_output_folder("run", ".");
    BOOST_TEST(contains(refusal([&] { check_output_folder("run", folder / "f"); }), "run: "));
    BOOST_TEST(contains(refusal([&] { check_output_folder("run", folder / "f"); }), "is a file, not a folder"));
    BOOST_TEST(contains(refusal([&] { check_output_folder("run", folder / "f/g"); }), "cannot be made"));
    BOOST_TEST(contains(refusal([&] { check_output_folder("run", ""); }), "no folder name"));
    BOOST_TEST(entries(folder) == 1);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_file
