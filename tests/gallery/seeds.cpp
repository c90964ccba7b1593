// slow
// The gallery over many seeds, and the catalogue without faults over many seeds and scales: no false alarm.
#include <boost/test/unit_test.hpp>

#include <optional>

#include <chalkgrad/chalkgrad.hpp>

#include "survey.hpp"

namespace test_seeds {
BOOST_AUTO_TEST_SUITE(seeds)

using namespace chalkgrad;
using namespace chalkgrad::gallery;

namespace {

/// The implicit gradient of Sinkhorn's map is that of its limit. Logits a thousand times the sample's are not there after its rounds, so
/// it is not the gradient of what was computed, and is rightly called wrong.
bool unconverged(const Sample& sample, double scale) {
    const Attribute* gradient = sample.attributes.find("gradient");
    return scale > 1 && gradient != nullptr && to_string(*gradient).find("implicit") != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(each_fault_is_caught_with_every_seed) { survey_all(20); }
BOOST_AUTO_TEST_CASE(each_fault_of_a_users_op_is_caught_with_every_seed) { survey_all(20, Form::custom); }

// Points that saturate or overflow may be inconclusive, and kinks may be met; nothing may be called wrong, neither with all oracles nor of
// ops that run in double only.
BOOST_AUTO_TEST_CASE(right_ops_raise_nothing_at_any_scale) {
    for (const bool double_only : {false, true})
        for (const CatalogEntry& op : catalog())
            for (const double scale : {1e-6, 1e-3, 1.0, 1e3, 1e6}) {
                std::size_t checks = 0, undecided = 0;
                for (std::uint64_t seed = 0; seed < 20; ++seed) {
                    Generator rng{Seed(seed)};
                    for (Sample& sample : op.samples(rng)) {
                        if (unconverged(sample, scale)) continue;
                        for (NamedArray& input : sample.inputs)
                            for (double& x : input.values) x *= scale;
                        std::vector<Var<double>> inputs;
                        const Var<double> y = run_sample(op, sample, Tape(), &inputs);
                        std::optional<Planted> right;
                        if (double_only)
                            right.emplace(
                                y, y.line(), [](const Backward& c) { c.run_right(); }, Form::double_only);
                        GradcheckOptions options;
                        options.seed = seed;
                        options.blind_spots = false;
                        if (op.identities) options.identities = op.identities(sample);
                        const GradcheckReport report = gradcheck(std::vector<Var<double>>{y}, inputs, options);
                        BOOST_TEST((report.verdict != Verdict::fail),
                            op.name << ", " << sample.name << " times " << scale
                                    << (double_only ? ", in double, seed " : ", seed ") << seed << ": "
                                    << to_string(report));
                        ++checks;
                        undecided += report.verdict == Verdict::inconclusive;
                    }
                }
                BOOST_TEST_MESSAGE(op.name << " times " << scale << ": " << checks << " checks, " << undecided
                                           << " inconclusive" << (double_only ? ", in double" : ""));
                if (scale == 1 && !double_only)
                    BOOST_TEST(undecided == 0u,
                        op.name << ": " << undecided << " of " << checks << " inconclusive at its own scale");
            }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_seeds
