// What tests of the tape say: arrays that must be equal, and words that a message must have.
#pragma once

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

namespace chalkgrad::testing {

template <class A, class B> void expect(const A& got, const B& want, double tolerance = 0) {
    BOOST_REQUIRE_EQUAL(got.size(), want.size());
    BOOST_TEST((std::vector<std::size_t>(got.shape().begin(), got.shape().end()) ==
                std::vector<std::size_t>(want.shape().begin(), want.shape().end())));
    for (std::size_t i = 0; i < want.size(); ++i)
        BOOST_TEST(std::abs(got.data()[i] - want.data()[i]) <= tolerance * std::abs(want.data()[i]),
            "element " << i << ": " << got.data()[i] << ", expected " << want.data()[i]);
}

inline bool says(const std::string& message, std::initializer_list<const char*> words) {
    return std::all_of(
        words.begin(), words.end(), [&](const char* word) { return message.find(word) != std::string::npos; });
}

} // namespace chalkgrad::testing
