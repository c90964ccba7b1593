// Feed-forward networks as modules: what the nonlinearity and the gate are for, packing, and the matched budget.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/check/jacobian.hpp>
#include <chalkgrad/nn/layers/ffn.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>

#include "../../ops/arrays.hpp"

namespace test_ffn {
BOOST_AUTO_TEST_SUITE(ffn)

using namespace chalkgrad;
using namespace chalkgrad::nn;
using namespace chalkgrad::testing;

namespace {

struct Point {
    Array<double> y, jacobian;
};

template <class Module> Point at(const Module& module, const Array<double>& x) {
    Tape tape;
    Binding<double> on(tape);
    const auto leaf = tape.variable(x);
    const auto y = module(on, leaf);
    return {y.value(), jacobian(y, leaf)};
}

double largest_difference(const Array<double>& a, const Array<double>& b) { return xt::amax(xt::abs(a - b))(); }

} // namespace

BOOST_AUTO_TEST_CASE(without_a_nonlinearity_two_matrices_are_one) { // course §8
    const FfnOptions o{.d = 5, .width = 9, .activation = Activation::identity, .gated = false};
    const Ffn ffn(o);
    Generator rng(1);
    initialize(ffn, rng);
    Tape tape;
    const auto product = matmul(tape.constant(ffn.first.weight.value()), tape.constant(ffn.second.weight.value()));
    const Linear one("w", 5, 5, false, "ffn");
    one.weight.assign(product.value());
    const Array<double> x = rng.standard_normal({4, 5});
    const Point two_matrices = at(ffn, x), one_matrix = at(one, x);
    check_array(two_matrices.y, one_matrix.y, 1e-13, 1e-14);
    check_array(two_matrices.jacobian, one_matrix.jacobian, 1e-13, 1e-14);
    // With φ in between there is no such matrix: the Jacobian changes from point to point.
    for (const Activation phi :
        {Activation::relu, Activation::silu, Activation::gelu, Activation::gelu_tanh, Activation::quick_gelu}) {
        FfnOptions bent = o;
        bent.activation = phi;
        const Ffn curved(bent);
        initialize(curved, rng);
        BOOST_TEST(largest_difference(at(curved, x).jacobian, at(curved, -x).jacobian) > 0.1, name(phi));
    }
}

BOOST_AUTO_TEST_CASE(two_projections_multiplied_are_quadratic) { // course §3
    const Ffn product({.d = 5, .width = 9, .activation = Activation::identity});
    Generator rng(2);
    initialize(product, rng);
    const Array<double> x = rng.standard_normal({3, 5}), step = rng.standard_normal({3, 5});
    // f(t x) = t² f(x), exactly where t is a power of two, and its Jacobian grows with t.
    const Point once = at(product, x), four = at(product, 4 * x), back = at(product, -x);
    check_array(four.y, Array<double>(16 * once.y));
    check_array(four.jacobian, Array<double>(4 * once.jacobian));
    check_array(back.y, once.y);
    // A quadratic function's second difference is the same everywhere, and its third is 0.
    const auto f = [&](double t) { return at(product, x + t * step).y; };
    const Array<double> third = f(3) - 3 * f(2) + 3 * f(1) - f(0);
    BOOST_TEST(xt::amax(xt::abs(third))() < 1e-12);
    const Ffn swiglu({.d = 5, .width = 9});
    initialize(swiglu, rng);
    BOOST_TEST(largest_difference(at(swiglu, 4 * x).y, 16 * at(swiglu, x).y) > 0.1);
}

BOOST_AUTO_TEST_CASE(packed_columns_are_the_same_function) {
    const std::size_t d = 3, f = 4;
    const Ffn separate(
        {.d = d, .width = f, .bias = true, .swiglu = {.alpha = 1.702, .gate_limit = 1, .up_limit = 1, .shift_up = 1}});
    Generator rng(3);
    initialize_for_check(separate, rng);
    const Array<double> x = rng.standard_normal({5, d}), expected = at(separate, x).y;
    for (const Packing packing : {Packing::gate_first, Packing::up_first, Packing::interleaved}) {
        FfnOptions o = separate.options;
        o.packing = packing;
        const Ffn packed(o);
        const auto place = [&](bool up, std::size_t j) {
            return packing == Packing::interleaved ? 2 * j + up : (up == (packing == Packing::gate_first)) * f + j;
        };
        const auto pack = [&](const Parameter& gate, const Parameter& up, const Parameter& both, std::size_t rows) {
            Array<double> value(
                both.shape().rank() == 2 ? std::vector<std::size_t>{rows, 2 * f} : std::vector<std::size_t>{2 * f});
            for (std::size_t i = 0; i < rows; ++i)
                for (std::size_t j = 0; j < f; ++j) {
                    value.data()[i * 2 * f + place(false, j)] = gate.value().data()[i * f + j];
                    value.data()[i * 2 * f + place(true, j)] = up.value().data()[i * f + j];
                }
            both.assign(value);
        };
        pack(separate.first.weight, separate.up.weight, packed.first.weight, d);
        pack(separate.first.bias, separate.up.bias, packed.first.bias, 1);
        packed.second.weight.assign(separate.second.weight.value());
        packed.second.bias.assign(separate.second.bias.value());
        check_array(at(packed, x).y, expected, 1e-15, 1e-15);
    }
}

BOOST_AUTO_TEST_CASE(the_matched_budget) { // course §9
    BOOST_TEST(matched_ffn_width(768) == 2048u);
    BOOST_TEST(matched_ffn_width(4096) == 10922u);
    BOOST_TEST(matched_ffn_width(4096, 256) == 11008u); // Llama 1 and 2, 7B
    BOOST_TEST(matched_ffn_width(5120, 256) == 13824u); // 13B
    BOOST_TEST(matched_ffn_width(3) == 8u);
    // 3 d · 8d/3 = 2 d · 4d
    BOOST_TEST(3 * 768 * matched_ffn_width(768) == 2u * 768 * 4 * 768);
    check_refused([] { matched_ffn_width(8, 0); }, "matched_ffn_width", {"0"});
    check_refused([] { matched_ffn_width(std::uint64_t{1} << 62); }, "matched_ffn_width", {"64 bits"});
    check_refused([] { matched_ffn_width(8, ~std::uint64_t{0}); }, "matched_ffn_width", {"64 bits"});
}

BOOST_AUTO_TEST_CASE(what_is_refused) {
    check_refused([] { Ffn({.d = 4, .width = 0}); }, "ffn", {"width is 0"});
    check_refused(
        [] { Ffn({.d = 4, .width = 8, .gated = false, .packing = Packing::gate_first}); }, "ffn", {"packing"});
    check_refused(
        [] { Ffn({.d = 4, .width = 8, .activation = Activation::gelu, .swiglu = {.shift_up = 1}}); }, "ffn", {"silu"});
    check_refused([] { activation_named("gelo"); }, "activation", {"did you mean gelu"});
    for (const char* word : {"identity", "relu", "silu", "gelu", "gelu_tanh", "quick_gelu"})
        BOOST_TEST(name(activation_named(word)) == word);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_ffn
