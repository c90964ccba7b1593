// Every op says what its backward is: one formula for each input that has a cotangent, and what it keeps.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>

#include <chalkgrad/ops/catalog/backward_text.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

namespace test_backward_text {
BOOST_AUTO_TEST_SUITE(backward_text)

using namespace chalkgrad;

BOOST_AUTO_TEST_CASE(every_recorded_op_has_a_formula_for_every_input) {
    std::set<std::string> keeping;
    for (const CatalogEntry& op : catalog()) {
        Generator rng(0);
        for (const Sample& sample : op.samples(rng)) {
            const Tape tape;
            run_sample(op, sample, tape);
            for (std::size_t i = 0; i < tape.size(); ++i) {
                const Line line = tape.line(i);
                if (line.kind != Line::Kind::op) continue;
                const BackwardText* const text = chalkgrad::backward_text(line.op);
                BOOST_REQUIRE_MESSAGE(text != nullptr, line.op);
                for (std::size_t k = 0; k < line.inputs.size(); ++k) {
                    if (line.inputs[k] < 0 || !tape.line(static_cast<std::size_t>(line.inputs[k])).needs_grad) continue;
                    BOOST_TEST(std::any_of(text->cotangents.begin(), text->cotangents.end(),
                                   [&](const auto& item) { return item.first == line.input_names[k]; }),
                        line.op << " " << line.input_names[k]);
                }
                const detail::Record& record = (*tape.state())[static_cast<detail::Index>(i)];
                if (record.saved != nullptr) keeping.insert(line.op);
            }
        }
    }
    for (const CatalogEntry& op : catalog())
        if (const BackwardText* const text = chalkgrad::backward_text(op.name))
            BOOST_TEST(keeping.contains(op.name) == !text->saved.empty(), op.name << " keeps: " << text->saved);
    BOOST_TEST(chalkgrad::backward_text("no_such_op") == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_backward_text
