// What the benchmark times: one op at one shape, and the contenders that compute it. Knows neither chalkgrad nor libtorch.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace bench {

/// Numbers in row-major order.
struct Numbers {
    std::vector<std::size_t> shape;
    std::vector<double> values;
};

/// A product (m, k) (k, n), `count` times.
struct Product {
    std::size_t m, k, n, count;
};

/// One workload: y = op(inputs), then the gradients of all inputs from the cotangent of y.
struct Problem {
    std::string op, shape;
    std::vector<Numbers> inputs;
    Numbers cotangent;
    std::size_t moved = 0;         ///< numbers that have to be read or written, forward and backward; 0: see products
    std::vector<Product> products; ///< multiplications that have to be done, where these are the limit
};

/// The workloads, in the order of the table; numbers are drawn anew from a fixed seed.
std::vector<Problem> problems();

/// Somebody who computes a problem.
class Contender {
public:
    virtual ~Contender() = default;
    /// Forward and backward once, in the steady state of a training loop.
    virtual void round() = 0;
    /// y, then the gradients of the inputs; empty if this contender computes nothing.
    virtual std::vector<std::vector<double>> results() { return {}; }
};

std::unique_ptr<Contender> ours(const Problem& problem);
/// libtorch; nullptr where the program was built without it.
std::unique_ptr<Contender> torch(const Problem& problem);
/// "1.13.0", or "absent".
std::string torch_version();
/// What no program on this machine can undercut by much: the compulsory bytes copied, or the compulsory products by OpenBLAS.
std::unique_ptr<Contender> limit(const Problem& problem);

/// What a line of the tape costs, on a long chain of scalar operations in a steady loop.
struct TapeCost {
    double ns_per_node, bytes_per_node;
    std::size_t fresh_buffers; ///< taken from the system after the first round
};
TapeCost tape_cost(std::size_t nodes, int repetitions);

} // namespace bench
