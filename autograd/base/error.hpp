// The one exception type of the library: bad input, with what is wrong, where, and what to do instead.
#pragma once

#include <stdexcept>
#include <string>

namespace chalkgrad {

/// Thrown for every refused call. The message begins with the op or function, shows the shapes or values concerned,
/// and ends with a way out. The call that threw has changed nothing.
class Error : public std::runtime_error {
public:
    explicit Error(const std::string& message) : std::runtime_error(message) {}
};

} // namespace chalkgrad
