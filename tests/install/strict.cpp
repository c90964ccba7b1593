// A user's program under strict warnings, with every convenience header: an op of lambdas, a block, gradients of all its weights.
#include <chalkgrad/chalkgrad.hpp>
#include <chalkgrad/experiments.hpp>
#include <chalkgrad/gradcheck.hpp>
#include <chalkgrad/nn.hpp>
#include <chalkgrad/testing.hpp>
#include <chalkgrad/version.hpp>

#include <iostream>

using namespace chalkgrad;

int main() {
    Generator rng(0);
    const nn::Ffn ffn({.d = 4, .width = 6});
    nn::initialize(ffn, rng);
    const Tape tape;
    nn::Binding<double> on(tape);
    const auto h = ffn(on, tape.variable(rng.standard_normal({3, 4}), "x"));
    const auto y = custom(
        "cube", []<class T>(const Array<T>& x) { return Array<T>(x * x * x); },
        []<class T>(const Array<T>& x, const Array<T>&, const Array<T>& gy) { return Array<T>(3. * x * x * gy); }, h);
    const auto report = gradcheck({y}, on.variables());
    std::cout << "chalkgrad " << CHALKGRAD_VERSION << ", " << nn::ledger_of(ffn).distinct << " weights, "
              << name(report.verdict) << '\n'
              << y << hessian(sum(y), on.variables()).shape() << '\n';
    return report ? 0 : 1;
}
