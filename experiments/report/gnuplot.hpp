// One run of gnuplot: a script in, a picture out.
#pragma once

#include <string>
#include <string_view>

namespace chalkgrad {

/// Runs `script` in a gnuplot of its own, which reads no start-up file, and returns what it draws on standard output.
/// Throws Error when gnuplot is not installed, with the package's name, and with gnuplot's words when it fails or the
/// picture is not a whole svg, pdf or png (`format`).
std::string run_gnuplot(std::string_view script, std::string_view format);

} // namespace chalkgrad
