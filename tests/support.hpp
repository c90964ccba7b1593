// What tests of several folders need: a folder of their own, a full disk, other programs in PATH, the message of an error,
// looking into text.
#pragma once

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>

#include <sys/resource.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>

namespace chalkgrad::testing {

/// A folder of its own that is gone afterwards.
struct Folder {
    std::filesystem::path path;
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "chalkgrad-test-XXXXXX").string();
        BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
        path = name;
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { std::filesystem::remove_all(path); }
    std::string operator/(const std::string& name) const { return (path / name).string(); }
};

/// Files and folders in it, at any depth.
inline long entries(const std::filesystem::path& folder) {
    return std::distance(std::filesystem::recursive_directory_iterator(folder), {});
}
inline long entries(const Folder& folder) { return entries(folder.path); }

/// No file of this process and its children may grow beyond `bytes`: what a full disk looks like from inside.
struct FullDisk {
    rlimit before{};
    explicit FullDisk(rlim_t bytes) {
        std::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before);
        const rlimit small{bytes, before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;
    ~FullDisk() {
        setrlimit(RLIMIT_FSIZE, &before);
        std::signal(SIGXFSZ, SIG_DFL);
    }
};

/// PATH is another, as long as this lives.
struct Path {
    std::string before = std::getenv("PATH");
    explicit Path(const std::string& path) { ::setenv("PATH", path.c_str(), 1); }
    Path(const Path&) = delete;
    Path& operator=(const Path&) = delete;
    ~Path() { ::setenv("PATH", before.c_str(), 1); }
};

/// A program of that name is this shell script, as long as this lives.
struct FakeProgram {
    Folder folder;
    Path path{folder.path.string() + ":/bin:/usr/bin"};
    FakeProgram(const std::string& name, const std::string& script) {
        write_file(folder / name, "#!/bin/sh\n" + script);
        std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
    }
};

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline std::size_t count(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

/// The text with `to` where `from` stands first.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    BOOST_TEST_REQUIRE(at != std::string::npos, from);
    return text.replace(at, from.size(), to);
}

/// The message of the Error that `call` throws.
template <class F> std::string refusal(F call) {
    try {
        call();
    } catch (const Error& error) { return error.what(); }
    BOOST_ERROR("no Error was thrown");
    return "";
}

} // namespace chalkgrad::testing
