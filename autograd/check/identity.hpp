// Identities: what is known of a Jacobian without differentiating anything; a third opinion beside differences and dual numbers.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include <chalkgrad/autograd/base/array.hpp>

namespace chalkgrad {

/// One thing known of J = d(output)/d(input) at the point of a check. Exactly one of three forms:
///  - `direction` and `product`: J direction = product. An invariance has product 0 (an empty array); a norm has a closed form.
///  - `degree`: J x = degree · y, Euler's theorem for an output that is homogeneous in this input (linear: degree 1).
///  - `zero`: elements of J that are exactly 0, such as those across a causal mask or between two tokens.
struct Identity {
    std::string says;             ///< in words or as a formula: "J 1 = 0 in every row"
    std::string input;            ///< name of the variable
    Array<double> direction = {}; ///< of the input's shape
    Array<double> product =
        {}; ///< of the output's shape, all outputs one behind the other; a single number stands for every element
    std::optional<double> degree = {};
    /// Whether d(output[row]) / d(input[column]) must be 0; both count row-major.
    std::function<bool(std::size_t row, std::size_t column)> zero = {};
};

/// J direction = product; without a product it is 0.
inline Identity known_product(
    std::string says, std::string input, Array<double> direction, Array<double> product = {}) {
    return {std::move(says), std::move(input), std::move(direction), std::move(product)};
}
/// J x = degree · y.
inline Identity homogeneous(std::string input, double degree) {
    return {degree == 0 ? "J x = 0" : "J x is a multiple of y", std::move(input), {}, {}, degree};
}
/// J is 0 between an output element of one group and an input element of another; `output_group` and `input_group` give the
/// group (token, head) of an element.
inline Identity block_diagonal(std::string says, std::string input,
    std::function<std::size_t(std::size_t)> output_group, std::function<std::size_t(std::size_t)> input_group) {
    return {std::move(says), std::move(input), {}, {}, {},
        [=](std::size_t row, std::size_t column) { return output_group(row) != input_group(column); }};
}
/// The same for rows of the given lengths: what a norm or an FFN does with one token is nothing to another.
inline Identity block_diagonal_rows(std::string input, std::size_t output_last, std::size_t input_last) {
    return block_diagonal(
        "0 between rows", std::move(input), [=](std::size_t i) { return i / output_last; },
        [=](std::size_t j) { return j / input_last; });
}

} // namespace chalkgrad
