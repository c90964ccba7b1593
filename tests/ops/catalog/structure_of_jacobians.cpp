// What gradcheck does not store of a Jacobian is 0 in truth: over the whole catalogue, against both ways to the Jacobian.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/check/jacobian.hpp>
#include <chalkgrad/autograd/check/steps.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

namespace test_structure_of_jacobians {
BOOST_AUTO_TEST_SUITE(structure_of_jacobians)

using namespace chalkgrad;

BOOST_AUTO_TEST_CASE(what_is_outside_the_spans_is_zero) {
    std::size_t spared = 0, all = 0;
    for (const CatalogEntry& op : catalog()) {
        Generator rng(3);
        for (const Sample& sample : op.samples(rng)) {
            std::vector<Var<double>> inputs;
            const std::vector<Var<double>> outputs{run_sample(op, sample, Tape(), &inputs)};
            if (!Replay<Dual<double>>::possible(outputs)) continue;
            const GradcheckOptions options;
            detail::CheckedProgram s(outputs, inputs, options);
            const detail::Jacobians jacobians(s, detail::find_structure(s));
            for (const detail::Block& b : jacobians.blocks) {
                const Var<double>& x = inputs[b.input];
                if (x.line() > outputs[0].line()) continue;
                const Array<double> rows = jacobian(outputs[0], x, By::rows),
                                    columns = jacobian(outputs[0], x, By::columns);
                double largest = 0, hidden = 0;
                for (const double v : columns)
                    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
                for (std::size_t i = 0; i < b.rows; ++i)
                    for (std::size_t j = 0; j < b.columns; ++j) {
                        ++all;
                        if (b.spans[i].holds(j)) continue;
                        ++spared;
                        BOOST_TEST_REQUIRE(rows(i, j) == 0, op.name << ", " << sample.name);
                        hidden = std::max(hidden, std::isfinite(columns(i, j)) ? std::abs(columns(i, j)) : HUGE_VAL);
                    }
                BOOST_TEST(hidden <= 1e-14 * largest, op.name << ", " << sample.name << ", " << x.name());
            }
        }
    }
    BOOST_TEST_MESSAGE(spared << " of " << all << " elements are not stored");
    BOOST_TEST(4 * spared > all);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_structure_of_jacobians
