// Fused ops taken apart: the same numbers from primitive ops, under a scope that says what they are.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

#include <chalkgrad/autograd/graph/topology.hpp>
#include <chalkgrad/autograd/tape/numbers.hpp>
#include <chalkgrad/nn/layers/residual.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>
#include <chalkgrad/ops/catalog/expand.hpp>
#include <chalkgrad/ops/linear/embedding.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>

namespace test_expand {
BOOST_AUTO_TEST_SUITE(expand)

using namespace chalkgrad;

BOOST_AUTO_TEST_CASE(every_op_with_a_twin_has_the_same_numbers_in_parts) {
    std::vector<std::string> whole;
    for (const CatalogEntry& op : catalog()) {
        if (!op.composed) continue;
        Generator rng(3);
        for (const Sample& sample : op.samples(rng)) {
            const Tape tape;
            const Var<double> y = run_sample(op, sample, tape);
            const Expanded parts = chalkgrad::expand(tape);
            if (!parts.kept.empty() && std::find(whole.begin(), whole.end(), op.name) == whole.end())
                whole.emplace_back(op.name);
            const std::vector<double> a = values_of(tape, y.line()), b = values_of(parts.tape, parts.line[y.line()]);
            BOOST_REQUIRE(a.size() == b.size());
            double largest = 0, off = 0;
            for (std::size_t i = 0; i < a.size(); ++i) {
                if (!std::isfinite(a[i])) continue;
                largest = std::max(largest, std::abs(a[i]));
                const double apart = std::abs(a[i] - b[i]);
                if (apart > off || std::isnan(apart)) off = apart; // a NaN stays: nothing is larger
            }
            BOOST_TEST(off <= 1e-12 * largest, op.name << " " << sample.name << ": " << off);
        }
    }
    // Token ids, targets and a fixed A are no lines of the tape.
    const std::vector<std::string> expected = {"embedding", "cross_entropy", "mhc_mix_fixed"};
    BOOST_TEST(whole == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(topology_and_names_survive) {
    for (const nn::Placement placement : nn::placements()) {
        const Tape tape(Tape::Mode::shapes_only);
        const Var<double> x = tape.leaf<double>({4, 8}, nullptr, true, "h");
        const Var<double> y = nn::stand_in_block(placement, x);
        const Expanded parts = chalkgrad::expand(tape);
        BOOST_TEST(parts.tape.size() > tape.size());
        const Topology topology = topology_of(graph_of(parts.tape, {parts.line[x.line()]}));
        BOOST_TEST(topology.placement == nn::name(placement));
        BOOST_TEST(parts.tape.line(parts.line[y.line()]).name == y.name());
        BOOST_TEST(parts.tape.line(parts.line[x.line()]).name == "h");
    }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_expand
