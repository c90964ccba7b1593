// Causal attention three times: as the formula, as the fused op, and as NumPy computed it. The numbers drawn are NumPy's.
#include <chalkgrad/chalkgrad.hpp>
#include <iostream>

using namespace chalkgrad;

double apart(const Array<double>& a, const Array<double>& b) { return xt::amax(xt::abs(a - b))(); }

int main() {
    Generator rng(0);
    const Tape tape;
    const auto q = tape.variable(rng.standard_normal({5, 4}), "q");
    const auto k = tape.variable(rng.standard_normal({5, 4}), "k");
    const auto v = tape.variable(rng.standard_normal({5, 4}), "v");

    Array<double> later = xt::zeros<double>({5, 5}); // a query sees no key after it
    for (std::size_t i = 0; i < 5; ++i)
        for (std::size_t j = i + 1; j < 5; ++j) later(i, j) = -std::numeric_limits<double>::infinity();
    const auto scores = matmul(q, transpose(k)) / 2; // √4
    const auto y = matmul(softmax(scores, -1, tape.constant(later)), v).named("y");
    const auto fused = sdpa(q, k, v, {.causal = true}).named("fused");

    // From NumPy, with the lines in docs/tasks.md.
    const Array<double> numpys{0.2778047970361115, 0.8126854684582762, -0.49828526195974565, -0.16659413278286914};
    const Array<double> last = slice(y, {4}).value();
    std::cout << "last row: " << last << "\nwithin 1e-15 of NumPy's: " << std::boolalpha
              << (apart(last, numpys) < 1e-15) << '\n';

    const Array<double> w = rng.standard_normal({5, 4});
    const auto by_formula = vjp(y, {q, k, v}, w), by_op = vjp(fused, {q, k, v}, w);
    for (std::size_t i = 0; i < 3; ++i)
        std::cout << "gradient of "
                  << "qkv"[i] << ", formula and op within 1e-14: " << (apart(by_formula[i], by_op[i]) < 1e-14) << '\n';
    std::cout << "gradcheck: " << name(gradcheck({y, fused}, {q, k, v}).verdict) << '\n';
}
