// What a line of the tape costs: scalar operations, recorded, swept and rewound in a steady loop.
#include <benchmark/benchmark.h>

#include <chalkgrad/autograd/tape_state.hpp>
#include <chalkgrad/ops/arithmetic.hpp>

namespace {

using namespace chalkgrad;

void scalar_chain(benchmark::State& state) {
    const auto lines = static_cast<std::size_t>(state.range(0));
    Tape tape;
    const auto x = tape.variable(1.0);
    const auto c = tape.constant(1e-6);
    const auto mark = tape.mark();
    std::size_t fresh = 0;
    const auto round = [&] {
        Var<double> y = x;
        for (std::size_t i = 0; i < lines; i += 2) y = add(y, mul(y, c));
        y.backward();
        benchmark::DoNotOptimize(x.has_grad());
        x.zero_grad();
        y = {};
        tape.rewind(mark);
    };
    round();
    fresh = tape.pool().fresh();
    for (auto _ : state) round();
    state.counters["ns_per_line"] =
        benchmark::Counter(static_cast<double>(lines) * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    state.counters["bytes_per_line"] = sizeof(detail::Record) + 2 * sizeof(detail::Index); // the record and two inputs
    state.counters["fresh_buffers"] = static_cast<double>(tape.pool().fresh() - fresh);
}
BENCHMARK(scalar_chain)->Arg(1000)->Arg(100000);

} // namespace

BENCHMARK_MAIN();
