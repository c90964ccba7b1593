#include <chalkgrad/chalkgrad.hpp>
#include <iostream>

using namespace chalkgrad;

int main() {
    Tape tape;
    const auto x = tape.variable(xt::xarray<double>{2, -1, 3, 0}, "x");
    const auto gamma = tape.variable(xt::xarray<double>{1, 0.5, -2, 3}, "gamma");
    const auto y = rms_norm(x, gamma).named("y");
    std::cout << y << "\n\n";
    y.backward(xt::xarray<double>{0.3, -1, 0.7, 2}); // a cotangent: d(loss)/dy
    std::cout << tape << "\ngradcheck: " << name(gradcheck({y}, {x, gamma}).verdict) << '\n';
}
