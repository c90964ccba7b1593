// What holds for every op of the catalogue: documents, samples, twins, types, instruction sets, refusals.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/kernel/isa.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

#include "../call.hpp"

namespace test_catalog {
BOOST_AUTO_TEST_SUITE(catalog)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

std::vector<Sample> samples_of(const CatalogEntry& op, std::uint64_t seed) {
    Generator rng{Seed(seed)};
    return op.samples(rng);
}

/// A sample whose numbers T can hold, so that a run in T and one in double begin alike.
template <class T> Sample held_by(Sample sample) {
    for (auto* list : {&sample.inputs, &sample.constants})
        for (NamedArray& x : *list) x.values = converted<double>(converted<T>(x.values));
    return sample;
}

/// The value of a call and the gradients of its inputs, as doubles.
struct Run {
    Array<double> y;
    bool is_one_op; ///< else several, each of which rounds
    std::vector<std::pair<std::string, Array<double>>> gradients;
};

/// f(arguments) in T, then backward from a fixed random cotangent: numbers that every type holds, 0 where y is masked.
template <class T, class F> Run run(F f, const char* op, const Sample& sample) {
    const Tape tape;
    std::vector<std::pair<std::string, Var<T>>> inputs;
    for (const NamedArray& x : sample.inputs)
        inputs.emplace_back(x.name, tape.variable(converted<T>(x.values), x.name));
    Arguments<T> arguments(op, tape, inputs, sample.constants, sample.attributes);
    const Var<T> y = f(arguments);
    arguments.finish();
    Run result{converted<double>(y.value()), tape.size() == sample.inputs.size() + sample.constants.size() + 1, {}};
    Generator rng{Seed(99)};
    Array<double> gy = converted<double>(converted<bfloat16>(rng.standard_normal(y.shape())));
    for (std::size_t i = 0; i < gy.size(); ++i)
        if (result.y.data()[i] == -HUGE_VAL) gy.data()[i] = 0;
    y.backward(converted<work_t<T>>(gy));
    for (const auto& [name, x] : inputs)
        result.gradients.emplace_back(
            name, x.has_grad() ? converted<double>(x.grad()) : Array<double>(x.value().shape(), 0.0));
    return result;
}
template <class T> Run run(const CatalogEntry& op, const Sample& sample) {
    return run<T>([&](Arguments<T>& arguments) { return op.call(arguments); }, op.name, sample);
}

double largest(const Array<double>& x) {
    double size = 0;
    for (const double value : x)
        if (std::isfinite(value)) size = std::max(size, std::abs(value));
    return size;
}

/// Every |got − want| ≤ relative · largest |want| + units · |want|; what is not finite is equal.
void check_close(
    const std::string& what, const Array<double>& got, const Array<double>& want, double relative, double units = 0) {
    BOOST_REQUIRE_MESSAGE(got.shape() == want.shape(), what);
    const double scale = largest(want);
    for (std::size_t i = 0; i < want.size(); ++i) {
        const double g = got.data()[i], w = want.data()[i];
        if (std::isfinite(w) && std::isfinite(g))
            BOOST_TEST(std::abs(g - w) <= relative * scale + units * std::abs(w),
                what << ", element " << i << ": " << g << ", not " << w);
        else
            BOOST_TEST(
                (g == w || (std::isnan(g) && std::isnan(w))), what << ", element " << i << ": " << g << ", not " << w);
    }
}
void check_close(const Run& got, const Run& want, double value, double gradient, double units = 0) {
    check_close("value", got.y, want.y, value, units);
    BOOST_REQUIRE_EQUAL(got.gradients.size(), want.gradients.size());
    for (std::size_t i = 0; i < want.gradients.size(); ++i)
        check_close(
            "gradient of " + want.gradients[i].first, got.gradients[i].second, want.gradients[i].second, gradient);
}

/// f(op, sample) for every sample of the catalogue under the seeds from 0.
template <class F> void for_every_sample(std::uint64_t seeds, F f) {
    for (const CatalogEntry& op : chalkgrad::catalog())
        for (std::uint64_t seed = 0; seed < seeds; ++seed)
            for (const Sample& sample : samples_of(op, seed))
                BOOST_TEST_CONTEXT(op.name << "/" << sample.name << ", seed " << seed) f(op, sample);
}

} // namespace

BOOST_AUTO_TEST_CASE(every_op_is_described_and_derived) {
    std::set<std::string> names;
    for (const CatalogEntry& op : chalkgrad::catalog()) BOOST_TEST_CONTEXT(op.name) {
            BOOST_TEST(names.insert(op.name).second);
            for (const std::string line : {op.formula, op.section}) {
                BOOST_TEST(!line.empty());
                BOOST_TEST(line.find('\n') == std::string::npos);
            }
            std::ifstream page(
                std::filesystem::path(CHALKGRAD_SOURCE_DIR) / "docs/derivations" / (std::string(op.name) + ".md"));
            BOOST_TEST(page.is_open());
            std::string line;
            int lines = 0;
            while (std::getline(page, line)) ++lines;
            BOOST_TEST(lines >= 40);
        }
    BOOST_TEST(&find_op("rms_norm") == &*std::find_if(chalkgrad::catalog().begin(), chalkgrad::catalog().end(),
                                           [](const CatalogEntry& op) { return op.name == std::string("rms_norm"); }));
    BOOST_CHECK_EXCEPTION(find_op("rmsnorm"), Error,
        [](const Error& e) { return std::string(e.what()).find("did you mean rms_norm") != std::string::npos; });
}

BOOST_AUTO_TEST_CASE(samples_have_the_same_names_and_shapes_for_every_seed) {
    for (const CatalogEntry& op : chalkgrad::catalog()) BOOST_TEST_CONTEXT(op.name) {
            const std::vector<Sample> first = samples_of(op, 0), second = samples_of(op, 1);
            BOOST_TEST(!first.empty());
            BOOST_REQUIRE_EQUAL(first.size(), second.size());
            std::set<std::string> names;
            bool differs = false;
            for (std::size_t k = 0; k < first.size(); ++k) {
                BOOST_TEST(names.insert(first[k].name).second, first[k].name);
                BOOST_TEST(first[k].name == second[k].name);
                BOOST_REQUIRE_EQUAL(first[k].inputs.size(), second[k].inputs.size());
                for (std::size_t i = 0; i < first[k].inputs.size(); ++i) {
                    BOOST_TEST((first[k].inputs[i].values.shape() == second[k].inputs[i].values.shape()));
                    differs = differs || first[k].inputs[i].values != second[k].inputs[i].values;
                }
            }
            BOOST_TEST(differs, "the samples are not random");
        }
}

BOOST_AUTO_TEST_CASE(fused_ops_agree_with_the_same_mathematics_from_primitive_ones) {
    std::set<std::string> twins;
    for_every_sample(4, [&](const CatalogEntry& op, const Sample& sample) {
        if (!op.composed) return;
        twins.insert(op.name);
        check_close(run<double>(op, sample), run<double>(op.composed, op.name, sample), 1e-12, 1e-12);
    });
    for (const char* const op : {"rms_norm", "rms_norm_floor", "layer_norm", "l2_normalize", "softmax", "log_softmax",
             "cross_entropy", "swiglu_act", "gpt_oss_packed", "reglu", "geglu", "silu", "gelu_erf", "gelu_tanh",
             "softcap", "dyt", "dyisru_b", "dyisru_softplus", "sdpa", "sdpa_sinks", "sinkhorn_log", "qk_norm_per_head",
             "qk_norm_whole", "qknorm_scores", "logsumexp", "var_biased"})
        BOOST_TEST(twins.count(op) == 1u, op << " has no twin");
}

BOOST_AUTO_TEST_CASE(float_agrees_with_double) {
    for_every_sample(2, [](const CatalogEntry& op, const Sample& sample) {
        const Sample held = held_by<float>(sample);
        check_close(run<float>(op, held), run<double>(op, held), 4e-6, 4e-5);
    });
}

BOOST_AUTO_TEST_CASE(narrow_types_are_widened_first_and_rounded_once) {
    const auto check = []<class T>(T, const CatalogEntry& op, const Sample& sample, double unit, double most) {
        const Sample held = held_by<T>(sample);
        for (const NamedArray& x : held.inputs) // beyond the type's range: another sample
            if (std::any_of(x.values.begin(), x.values.end(), [](double v) { return std::isinf(v); })) return;
        const Run got = run<T>(op, held);
        Run want = run<double>(op, held);
        for (double& y : want.y)
            if (std::isfinite(y) && std::abs(y) > most) y = std::copysign(HUGE_VAL, y);
        // Half a unit from the only rounding, what float loses, and the smallest subnormal.
        const Attribute* const cast = sample.attributes.find("cast");
        const bool rounds_again = !got.is_one_op || (cast != nullptr && to_string(*cast) == "before_weight");
        const double lost = 4e-6 + (rounds_again ? 4 * unit : 0) + 0x1p-24 / std::max(largest(want.y), 0x1p-24);
        check_close(got, want, lost, 8 * unit, 0.51 * unit);
    };
    for_every_sample(1, [&](const CatalogEntry& op, const Sample& sample) {
        check(half(), op, sample, 0x1p-10, 65519);
        check(bfloat16(), op, sample, 0x1p-7, 3.39e38);
    });
}

BOOST_AUTO_TEST_CASE(both_instruction_sets_agree) {
    const Isa before = isa();
    if (!set_isa(Isa::avx2)) return;
    for_every_sample(1, [](const CatalogEntry& op, const Sample& sample) {
        set_isa(Isa::avx2);
        const Run wide = run<double>(op, sample), wide_float = run<float>(op, sample);
        set_isa(Isa::base);
        check_close(run<double>(op, sample), wide, 1e-13, 1e-12);
        check_close(run<float>(op, sample), wide_float, 4e-6, 4e-5);
    });
    set_isa(before);
}

BOOST_AUTO_TEST_CASE(an_empty_batch_is_legal_where_rows_are_independent) {
    std::set<std::string> legal;
    for (const CatalogEntry& op : chalkgrad::catalog())
        for (Sample sample : samples_of(op, 0)) BOOST_TEST_CONTEXT(op.name << "/" << sample.name) {
                const auto shape = sample.inputs[0].values.shape();
                if (shape.size() < 2) continue;
                auto none = shape;
                none[0] = 0;
                for (auto* list : {&sample.inputs, &sample.constants})
                    for (NamedArray& x : *list)
                        if (x.values.shape() == shape) x.values = Array<double>(none);
                try {
                    const Run empty = run<double>(op, sample);
                    if (empty.y.size() == 0) legal.insert(op.name);
                    for (const auto& [name, gradient] : empty.gradients)
                        if (empty.y.size() == 0) BOOST_TEST(largest(gradient) == 0, name);
                } catch (const Error& error) { // anything else is a fault
                    BOOST_TEST(std::string(error.what()).find(op.name) != std::string::npos, error.what());
                }
            }
    for (const char* const op :
        {"add", "mul", "neg", "exp", "tanh", "relu", "silu", "gelu_erf", "softplus", "clamp", "softcap", "rms_norm",
            "rms_norm_floor", "layer_norm", "l2_normalize", "softmax", "log_softmax", "logsumexp", "swiglu_act",
            "gpt_oss_packed", "reglu", "geglu", "dyt", "dyisru_b", "dyisru_softplus", "sinkhorn_log", "transpose"})
        BOOST_TEST(legal.count(op) == 1u, op);
}

BOOST_AUTO_TEST_CASE(arguments_that_an_op_does_not_know_are_refused) {
    for (const CatalogEntry& op : chalkgrad::catalog()) BOOST_TEST_CONTEXT(op.name) {
            const Sample sample = samples_of(op, 0).front();
            const auto check_refused = [&](const Sample& wrong, const std::string& part) {
                BOOST_CHECK_EXCEPTION(run<double>(op, wrong), Error, [&](const Error& error) {
                    const std::string text = error.what();
                    BOOST_TEST(text.starts_with(op.name + std::string(":")), text);
                    return text.find(part) != std::string::npos;
                });
            };
            Sample attribute = sample, constant = sample, nothing = sample;
            attribute.attributes.set("no_such", 1.0);
            check_refused(attribute, "'no_such'");
            constant.constants.push_back({"no_such", Array<double>{1}});
            check_refused(constant, "'no_such'");
            nothing.inputs.clear();
            check_refused(nothing, "is missing");
        }
}

BOOST_AUTO_TEST_CASE(numbers_that_are_none_are_refused_as_attributes) {
    for_every_sample(1, [](const CatalogEntry& op, const Sample& sample) {
        for (const auto& [key, value] : sample.attributes) {
            if (!std::holds_alternative<double>(value)) continue;
            Sample wrong = sample;
            wrong.attributes.set(key, std::nan(""));
            BOOST_TEST_CONTEXT(key)
            BOOST_CHECK_EXCEPTION(run<double>(op, wrong), Error, [&](const Error& error) {
                const std::string text = error.what(); // of the op, or of one that it is made of
                return text.find(op.name) != std::string::npos && text.find("nan") != std::string::npos;
            });
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_catalog
