// One wrong backward at a time in every operand of every line of the catalogue's blocks: blame finds each, and nothing else.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/nn/layers/catalog.hpp>

#include "mutants.hpp"

namespace test_blocks {
BOOST_AUTO_TEST_SUITE(blocks)

using namespace chalkgrad;
using namespace chalkgrad::gallery;

namespace {

/// Calls f(line, operand) for every operand of every line up to y that wants a gradient.
template <class F> void each_operand(const Var<double>& y, F f) {
    detail::TapeState& tape = *y.state();
    for (std::size_t line = 0; line <= y.line(); ++line) {
        const detail::Record& record = tape[static_cast<detail::Index>(line)];
        if (record.op == nullptr || !record.has(detail::Record::needs_grad)) continue;
        for (std::size_t k = 0; k < record.input_count; ++k) {
            const detail::Index operand = tape.inputs(record)[k];
            if (operand != detail::absent && tape[operand].has(detail::Record::needs_grad)) f(line, k);
        }
    }
}

/// The element of operand k that is largest is lost.
WrongVjp largest_lost(std::size_t k) {
    return then([=](const Backward& c) {
        if (!c.gx[k] || c.gx[k].size() == 0) return;
        const auto smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
        *std::max_element(c.gx[k].data, c.gx[k].data + c.gx[k].size(), smaller) *= 0.9;
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(every_line_of_every_block_is_blamed_for_its_own_fault) {
    std::size_t faults = 0;
    for (const nn::BlockEntry& entry : nn::blocks()) {
        const Tape tape;
        const Var<double> y = entry.record(tape, 0).output;
        BOOST_TEST(blame(y).empty(), entry.name);
        each_operand(y, [&](std::size_t line, std::size_t k) {
            for (const WrongVjp& wrong : {scaled(k, 1.01), largest_lost(k)}) {
                const Planted fault(y, line, wrong);
                const std::vector<Blame> found = blame(y);
                const std::string where = entry.name + ", " + y.state()->label(static_cast<detail::Index>(line)) +
                                          ", operand " + std::to_string(k);
                BOOST_TEST(found.size() == 1u, where);
                ++faults;
                if (found.empty()) continue;
                BOOST_TEST(found[0].line == line, where);
                BOOST_TEST(found[0].input == (*y.state())[static_cast<detail::Index>(line)].op->input_name(k), where);
            }
        });
    }
    BOOST_TEST_MESSAGE(faults << " faults, each blamed on its line and operand");
    BOOST_TEST(faults > 1000u);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_blocks
