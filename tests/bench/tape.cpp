// What a line of the tape costs: scalar operations, recorded, swept and rewound in a steady loop.
#include <chrono>

#include <chalkgrad/autograd/tape/tape_state.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>

#include "problem.hpp"

namespace bench {

TapeCost tape_cost(std::size_t nodes, int repetitions) {
    using namespace chalkgrad;
    Tape tape;
    const auto x = tape.variable(1.0);
    const auto c = tape.constant(1e-6);
    const auto mark = tape.mark();
    const auto round = [&] {
        Var<double> y = x;
        for (std::size_t i = 0; i < nodes; i += 2) y = add(y, mul(y, c));
        y.backward();
        tape.zero_grad();
        tape.rewind(mark);
    };
    round();
    const std::size_t fresh = tape.pool().fresh();
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < repetitions; ++i) {
        const auto start = std::chrono::steady_clock::now();
        round();
        least =
            std::min(least, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
    }
    // A node is its record and two inputs; its number and its gradient lie inside the record.
    return {least / static_cast<double>(nodes), static_cast<double>(sizeof(detail::Record) + 2 * sizeof(detail::Index)),
        tape.pool().fresh() - fresh};
}

} // namespace bench
