// What tests of several folders need: a folder of their own, the message of an error, looking into text.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>

#include <chalkgrad/autograd/base/error.hpp>

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

/// How many files and folders lie in it, at any depth.
inline long entries(const Folder& folder) {
    using Walk = std::filesystem::recursive_directory_iterator;
    return std::distance(Walk(folder.path), Walk());
}

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
