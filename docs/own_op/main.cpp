// The op twice: as two lambdas, and as a rule with kernels. Both are checked, and give the same gradient.
#include "energy_scale.hpp"

#include <chalkgrad/gradcheck.hpp>
#include <iostream>

using namespace chalkgrad;

/// The lambdas run in double, long double and dual numbers: the array's type says in which.
Var<double> energy_scale_by_lambdas(const Var<double>& x) {
    const auto mean_product = [](const auto& a, const auto& b) {
        auto sum = a(0) * b(0);
        for (std::size_t j = 1; j < a.size(); ++j) sum += a(j) * b(j);
        return sum / static_cast<double>(a.size());
    };
    return custom(
        "energy_scale", [=]<class T>(const Array<T>& x) { return Array<T>(mean_product(x, x) * x); },
        [=]<class T>(const Array<T>& x, const Array<T>&, const Array<T>& gy) {
            return Array<T>(mean_product(x, x) * gy + 2. * mean_product(x, gy) * x);
        },
        x);
}

int main() {
    Generator rng(0);
    const Tape tape;
    const auto row = tape.variable(rng.standard_normal({37}), "row");
    std::cout << "lambdas: " << name(gradcheck({energy_scale_by_lambdas(row)}, {row}).verdict) << '\n';

    const auto x = tape.variable(rng.standard_normal({6, 37}), "x");
    std::cout << "kernels: " << name(gradcheck({energy_scale(x)}, {x}).verdict) << '\n';

    const auto w = rng.standard_normal({37});
    const Array<double> apart = vjp(energy_scale(row), row, w) - vjp(energy_scale_by_lambdas(row), row, w);
    std::cout << "gradients differ by " << (xt::amax(xt::abs(apart))() < 1e-14 ? "rounding" : "more") << '\n';
}
