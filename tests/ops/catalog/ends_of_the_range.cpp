// Every op at the ends of the range of double and float, ±largest, ±least normal and ±subnormal numbers, against long double.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <chalkgrad/autograd/tape/replay.hpp>
#include <chalkgrad/ops/attention/sdpa.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>
#include <chalkgrad/ops/reduce/softmax.hpp>

#include "../../isa.hpp"

namespace test_ends_of_the_range {
BOOST_AUTO_TEST_SUITE(ends_of_the_range)

using namespace chalkgrad;

namespace {

/// A value and the gradients of the inputs.
template <class T> using Numbers = std::vector<std::vector<T>>;

/// The program that leads to y, run anew in T; the cotangent is 1 and −1 in turn.
template <class T> Numbers<T> run(const Var<double>& y, const std::vector<Var<double>>& inputs) {
    Replay<T> replay({y});
    replay.run();
    std::vector<T> cotangent(y.shape().size());
    for (std::size_t i = 0; i < cotangent.size(); ++i) cotangent[i] = i % 2 == 0 ? T(1) : T(-1);
    Numbers<T> result{{replay.values(y.line()), replay.values(y.line()) + cotangent.size()}};
    replay.backward(y.line(), cotangent.data());
    for (const Var<double>& x : inputs) {
        const T* gradient = replay.gradient(x.line());
        if (gradient == nullptr) result.emplace_back();
        else result.emplace_back(gradient, gradient + x.shape().size());
    }
    return result;
}

/// Whether `got` is `want` as a T has it. `rounding`: how far off a number may be whatever its size.
template <class T> bool agree(const std::vector<T>& got, const std::vector<long double>& want, long double rounding) {
    using Limits = std::numeric_limits<T>;
    long double largest = 0;
    for (const long double w : want)
        if (std::abs(w) <= Limits::max()) largest = std::max(largest, std::abs(w));
    const long double allowed = 1000 * Limits::epsilon() * largest + 100 * Limits::denorm_min() + rounding;
    for (std::size_t i = 0; i < want.size(); ++i) {
        const long double w = want[i], g = got[i];
        const bool may_overflow = std::abs(w) > 0.999L * Limits::max() && std::abs(g) >= Limits::max() &&
                                  std::signbit(g) == std::signbit(w); // a logarithm stops short of −inf
        const bool right = std::isnan(w) ? std::isnan(g) : std::abs(g - w) <= allowed;
        if (!right && !may_overflow) return false;
    }
    return true;
}

/// The sample with one input's numbers in these proportions and as large as `size`, all of them numbers of a T.
template <class T> Sample at_size(Sample sample, std::size_t input, T size) {
    for (NamedArray& x : sample.inputs) {
        double largest = 0;
        for (const double v : x.values) largest = std::max(largest, std::abs(v));
        for (double& v : x.values)
            v = &x == &sample.inputs[input] ? static_cast<T>(v / largest * static_cast<double>(size))
                                            : static_cast<T>(v);
    }
    return sample;
}

/// Sums of products: a term, or what is added up first, overflows, though the sum may not.
const std::set<std::string> not_at_the_largest = {"div", "matmul", "mhc_mix_fixed", "mhc_mix_param", "mul"};
/// The same where a gain or a factor is so large: the backward sums γ ȳ. sdpa_qknorm: what lies between its lines overflows.
const std::set<std::string> only_x_at_the_largest = {"dyisru_b", "dyisru_softplus", "dyt", "layer_norm",
    "qk_norm_per_head", "qk_norm_whole", "qknorm_scores", "rms_norm", "sdpa_qknorm"};
/// Potentials are differences of logits. Rounding moves such large ones by more than 1, and with them every weight.
const std::set<std::string> only_finite = {"mhc_mix_xdep", "sinkhorn_log"};
/// A quotient by these is out of the range itself, and the sum of several is inf − inf.
const std::set<std::string> not_small = {"div"};
/// Weights that sum to 1 cancel, in units of the largest number that they weigh.
const std::set<std::string> of_weights = {"softmax", "log_softmax", "logsumexp", "sdpa", "sdpa_sinks", "sdpa_qknorm"};

template <class T> bool is_excepted(const std::string& op, std::size_t input, T size) {
    if (size < 1) return not_small.contains(op);
    return size == std::numeric_limits<T>::max() &&
           (not_at_the_largest.contains(op) || (input > 0 && only_x_at_the_largest.contains(op)));
}

template <class T> void check_all_ops() {
    using Limits = std::numeric_limits<T>;
    const std::pair<const char*, T> sizes[] = {{"largest", Limits::max()}, {"large", Limits::max() / 1024},
        {"least normal", Limits::min()}, {"subnormal", Limits::min() / 16}};
    for (const CatalogEntry& op : chalkgrad::catalog()) {
        Generator rng(3);
        for (const Sample& sample : op.samples(rng))
            for (std::size_t which = 0; which < sample.inputs.size(); ++which)
                for (const auto& [name, size] : sizes) {
                    if (is_excepted(op.name, which, size)) continue;
                    std::vector<Var<double>> inputs;
                    const Var<double> y = run_sample(op, at_size(sample, which, size), Tape(), &inputs);
                    const Numbers<T> got = run<T>(y, inputs);
                    const auto what = [&, &name = name](std::size_t k) {
                        return std::string(op.name) + ", " + sample.name + ", " + sample.inputs[which].name + " " +
                               name + ": " + (k == 0 ? "the value" : "gradient of " + sample.inputs[k - 1].name);
                    };
                    if (size > 1 && only_finite.contains(op.name)) {
                        for (const T v : got[0]) BOOST_TEST(std::isfinite(v), what(0));
                        continue;
                    }
                    const Numbers<long double> want = run<long double>(y, inputs);
                    const long double rounding =
                        of_weights.contains(op.name) ? 10 * Limits::epsilon() * std::max(T(1), size) : 0;
                    for (std::size_t k = 0; k < want.size(); ++k) BOOST_TEST(agree(got[k], want[k], rounding), what(k));
                }
    }
}

template <class T> void check_results_that_fit() {
    constexpr T most = std::numeric_limits<T>::max(), inf = std::numeric_limits<T>::infinity();
    const Tape tape;
    const auto x = [&](std::initializer_list<T> numbers) { return tape.variable(Array<T>(numbers)); };
    BOOST_TEST(sum(x({most, most, -most})).item() == most);
    BOOST_TEST(mean(x({most, most, most})).item() == most);
    BOOST_TEST(var_biased(x({most, most, most})).item() == 0);
    BOOST_TEST(sum(x({most, most})).item() == inf);
    BOOST_TEST(mean(x({inf, 1})).item() == inf);
    BOOST_TEST(std::isnan(mean(x({inf, -inf, most, most})).item()));
    // The one key that a query sees has all the weight, whatever its score.
    const auto row = [&](T a, T b) { return tape.variable(Array<T>{{a, b}}); };
    const auto q = row(most, most), k = row(-2, -2), v = row(3, 4), y = sdpa(q, k, v);
    BOOST_TEST((y.value() == Array<T>{{3, 4}}));
    y.backward(Array<T>{{1, 2}});
    BOOST_TEST((v.grad() == Array<T>{{1, 2}}));
    BOOST_TEST((k.grad() == Array<T>{{0, 0}}));
    // −inf hides; a logarithm that is only too low does not.
    const auto z = x({most, -most, -inf}), log_p = log_softmax(z);
    BOOST_TEST((log_p.value() == Array<T>{0, -most, -inf}));
    log_p.backward(Array<T>{1, 2, 4});
    BOOST_TEST((z.grad() == Array<T>{-2, 2, 0}));
}

} // namespace

BOOST_AUTO_TEST_CASE(results_that_fit) {
    check_results_that_fit<double>();
    check_results_that_fit<float>();
}
BOOST_AUTO_TEST_CASE(double_at_its_ends) { chalkgrad::testing::on_every_isa(check_all_ops<double>); }
BOOST_AUTO_TEST_CASE(float_at_its_ends) { chalkgrad::testing::on_every_isa(check_all_ops<float>); }

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_ends_of_the_range
