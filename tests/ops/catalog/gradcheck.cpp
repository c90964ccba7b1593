// Every sample of the catalogue against differences in long double, dual numbers and the transpose identity.
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include <chalkgrad/autograd/check/gradcheck.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

namespace test_gradcheck {
BOOST_AUTO_TEST_SUITE(gradcheck)

using namespace chalkgrad;

namespace {

GradcheckReport check(const CatalogEntry& op, const Sample& sample, bool blind_spots) {
    Tape tape;
    std::vector<Var<double>> inputs;
    const Var<double> y = run_sample(op, sample, tape, &inputs);
    GradcheckOptions options;
    options.blind_spots = blind_spots;
    if (op.identities) options.identities = op.identities(sample);
    return chalkgrad::gradcheck(std::vector<Var<double>>{y}, inputs, options);
}

} // namespace

BOOST_AUTO_TEST_CASE(every_sample_passes) {
    std::vector<double> errors;
    for (const std::uint64_t seed : {0, 1, 2})
        for (const CatalogEntry& op : catalog()) {
            Generator rng{Seed(seed)};
            for (const Sample& sample : op.samples(rng)) {
                const GradcheckReport report = check(op, sample, false);
                BOOST_TEST((report.verdict == Verdict::pass),
                    op.name << " " << sample.name << " seed " << seed << " " << report);
                BOOST_TEST(report.difference <= 1e-10, op.name << " " << sample.name << " " << report.difference);
                BOOST_TEST(report.dual <= 1e-13, op.name << " " << sample.name << " " << report.dual);
                BOOST_TEST(report.transpose <= 1e-13, op.name << " " << sample.name << " " << report.transpose);
                BOOST_TEST(report.identity.value_or(0) <= 1e-13,
                    op.name << " " << sample.name << " " << report.identity.value_or(0));
                BOOST_TEST(report.second_order <= 1e-9, op.name << " " << sample.name << " " << report.second_order);
                errors.push_back(report.difference);
            }
        }
    std::nth_element(errors.begin(), errors.begin() + errors.size() / 2, errors.end());
    BOOST_TEST(errors[errors.size() / 2] <= 1e-12);
}

BOOST_AUTO_TEST_CASE(every_op_has_a_sample_that_shows_its_faults) {
    for (const CatalogEntry& op : catalog()) {
        Generator rng{Seed(0)};
        const auto samples = op.samples(rng);
        BOOST_TEST(std::any_of(samples.begin(), samples.end(),
                       [&](const Sample& s) { return check(op, s, true).verdict == Verdict::pass; }),
            op.name);
    }
}

BOOST_AUTO_TEST_CASE(norms_softmaxes_and_attention_say_what_is_known_of_them) {
    std::size_t known = 0;
    for (const CatalogEntry& op : catalog()) known += static_cast<bool>(op.identities);
    BOOST_TEST(10 * known >= 7 * catalog().size(), known << " of " << catalog().size() << " ops declare identities");
    for (const char* const name : {"softmax", "log_softmax", "layer_norm", "rms_norm", "l2_normalize", "sinkhorn_log",
             "sdpa", "sdpa_sinks", "qk_norm_per_head", "swiglu_act"})
        BOOST_TEST(static_cast<bool>(find_op(name).identities), name);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_gradcheck
