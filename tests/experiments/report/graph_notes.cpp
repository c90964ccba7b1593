// Notes in pictures: formulas of the cotangents that flow, what is kept, and numbers as they are.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include <chalkgrad/autograd/tape/numbers.hpp>
#include <chalkgrad/experiments/report/graph_notes.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>

namespace test_graph_notes {
BOOST_AUTO_TEST_SUITE(graph_notes)

using namespace chalkgrad;

namespace {

std::vector<std::string> texts(const std::vector<Note>& notes) {
    std::vector<std::string> list;
    for (const Note& note : notes) list.push_back(note.text);
    return list;
}

using Texts = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_CASE(formulas_of_what_flows) {
    const Tape tape;
    const Var<double> x = tape.variable(xt::xarray<double>{{1, 2}, {3, 4}}, "x"),
                      gamma = tape.constant(xt::xarray<double>{1, 2}, "gamma");
    const Var<double> y = rms_norm(x, gamma, 1e-6), z = y * tape.variable(xt::xarray<double>{3, 4}, "row");
    const auto notes = backward_notes(tape);
    BOOST_TEST(texts(notes[x.line()]).empty());
    BOOST_TEST(texts(notes[y.line()]) ==
                   (Texts{"x\u0304 = r (h − n ⟨n h⟩), h = γ y\u0304", "keeps r = 1/√(⟨x²⟩ + ε), by row: 2 numbers"}),
        boost::test_tools::per_element());
    // Only the operand that was repeated is summed over its copies.
    BOOST_TEST(texts(notes[z.line()]) == (Texts{"a\u0304 = y\u0304 b", "b\u0304 = unb(y\u0304 a)"}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(numbers_as_they_are) {
    const Tape tape;
    const Var<double> x = tape.variable(xt::xarray<double>{3, 4}, "x"), unused = tape.variable(0.0, "unused");
    const Var<double> nothing = tape.variable(std::nan(""), "nan"), y = x * x;
    const Var<double> bad = tape.constant(xt::xarray<double>{1, HUGE_VAL, 2}, "bad");
    BOOST_TEST(texts(value_notes(tape)[y.line()]) == (Texts{"value rms 12.98", "gradient not computed"}),
        boost::test_tools::per_element());
    keep_all_gradients(tape);
    y.backward(xt::xarray<double>{1, 0});
    const auto notes = value_notes(tape);
    BOOST_TEST(texts(notes[x.line()]) == (Texts{"value rms 3.536", "gradient norm 6, rms 4.243"}),
        boost::test_tools::per_element());
    BOOST_TEST(texts(notes[y.line()]) == (Texts{"value rms 12.98", "gradient norm 1, rms 0.7071"}),
        boost::test_tools::per_element());
    // Not computed is not 0.
    BOOST_TEST(
        texts(notes[unused.line()]) == (Texts{"value 0", "gradient not computed"}), boost::test_tools::per_element());
    BOOST_TEST(texts(notes[nothing.line()])[0] == "value nan");
    BOOST_TEST(texts(notes[bad.line()])[0] == "value 1 of 3 not finite");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_graph_notes
