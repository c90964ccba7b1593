// slow
// Every kind of described model at reduced size: the full Jacobian of all its parameters against long double and dual
// numbers.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/check/gradcheck.hpp>

#include "model_kinds.hpp"

namespace test_model_gradcheck {
BOOST_AUTO_TEST_SUITE(model_gradcheck)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

/// Without RoPE a bias of the keys adds one number to all scores of a query, which softmax ignores. Streams that are
/// still equal stay equal whatever mixes them, and how much of them is read is a scale, which the norm ignores up to
/// its eps. Such a gradient is 0, or far below what differences resolve.
bool vanishes(const Array<double>& gradient) {
    return std::all_of(gradient.begin(), gradient.end(), [](double g) { return std::abs(g) < 1e-8; });
}

} // namespace

BOOST_AUTO_TEST_CASE(reduced_models_pass) {
    const std::vector<nn::ModelDescription> kinds = reduced_kinds();
    BOOST_TEST(kinds.size() >= 28u);
    for (const nn::ModelDescription& m : kinds) BOOST_TEST_CONTEXT(kind_of(m)) {
            const Running run(m, m.model_type == "deepseek_v4" ? 6 : 3);
            Generator rng(4);
            run.y.backward(rng.standard_normal(run.y.shape()));
            std::vector<Var<double>> learned;
            for (const auto& bound : run.on.bound()) {
                if (!is_reached(m, bound)) continue;
                const std::string& name = bound.parameter.name();
                if ((name == "bk" || name.starts_with("res") || name.starts_with("pre")) && vanishes(bound.line.grad()))
                    continue;
                learned.push_back(bound.line);
            }
            GradcheckOptions options;
            options.blind_spots = false;
            const GradcheckReport report = gradcheck(std::vector<Var<double>>{run.y}, learned, options);
            BOOST_TEST((report.verdict == Verdict::pass), report);
        }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_model_gradcheck
