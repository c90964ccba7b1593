// One call of an op on arrays of .npy files, in any of the four storage types: each number is rounded at most once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <chalkgrad/autograd/numpy/npy.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

namespace chalkgrad {

struct FileOperand {
    std::string name, what; ///< as the op calls it; what begins messages about it
    NpyArray file;
};

/// What an op is called with. `check`, if given, sees the numbers of each operand before the call.
struct OpArguments {
    std::vector<FileOperand> inputs, constants;
    Attributes attributes;
    std::function<void(const FileOperand&, const Array<double>&)> check = {};
};

struct OpResult {
    std::string name; ///< "y", or of a gradient "x.grad"
    NpyArray file;
    Array<double> values; ///< the same numbers
};

/// An op that was called: its output, and the way back.
struct OpCall {
    OpResult y;
    /// The gradient of each input, in their order; zeros where the output does not depend on it. `what` begins messages
    /// about the cotangent.
    std::function<std::vector<OpResult>(const NpyArray& cotangent, const std::string& what)> backward;
};

/// Calls it with numbers of `dtype`: double, float, half or bfloat16. Inputs are floating-point; a file of uint16 holds
/// the bits of bfloat16 numbers, and is taken for that dtype alone. Throws Error for what the op refuses, for inputs of
/// integers, and for finite numbers beyond the dtype's range.
OpCall call_op(const CatalogEntry& op, Dtype dtype, const OpArguments& given);

/// The numbers as doubles; `bits_are_bfloat16` says what uint16 means. Throws Error for files of integers.
Array<double> to_doubles(const NpyArray& file, bool bits_are_bfloat16, const std::string& what);

} // namespace chalkgrad
