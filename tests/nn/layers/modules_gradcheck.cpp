// Every block, FFN and stack of the catalogue: the full Jacobian, parameters included, against long double and dual
// numbers.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/nn/layers/catalog.hpp>

namespace test_modules_gradcheck {
BOOST_AUTO_TEST_SUITE(modules_gradcheck)

using namespace chalkgrad;

BOOST_AUTO_TEST_CASE(every_entry_passes) {
    for (const nn::BlockEntry& entry : nn::blocks()) {
        const Tape tape;
        const nn::Recorded program = entry.record(tape, 0);
        GradcheckOptions options;
        options.blind_spots = false;
        const GradcheckReport report =
            gradcheck(std::vector<Var<double>>{program.output}, program.variables(), options);
        BOOST_TEST((report.verdict == Verdict::pass), entry.name << " " << report);
    }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_modules_gradcheck
