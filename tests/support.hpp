// What tests of several folders need: a folder of their own, other programs in PATH, the message of an error, looking into
// text.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>

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

/// The message of the Error that `call` throws.
template <class F> std::string refusal(F call) {
    try {
        call();
    } catch (const Error& error) { return error.what(); }
    BOOST_ERROR("no Error was thrown");
    return "";
}

} // namespace chalkgrad::testing
