// A user's program: includes chalkgrad as installed, and is linked with a file that includes xtensor alone.
#include <chalkgrad/chalkgrad.hpp>
#include <chalkgrad/gradcheck.hpp>

#include <iostream>

#ifdef FAST
#error "the kernels' vocabulary leaks into users' files"
#endif

bool xtensor_is_right();

int main() {
    chalkgrad::Tape tape;
    const auto x = tape.variable(xt::xarray<double>{2, -1, 3, 0}, "x");
    const auto y = chalkgrad::rms_norm(x);
    y.backward(xt::xarray<double>{0.3, -1, 0.7, 2});
    const auto report = chalkgrad::gradcheck({y}, {x});
    if (!xtensor_is_right() || x.grad().size() != 4 || !report) {
        std::cout << "wrong numbers\n" << report;
        return 1;
    }
    std::cout << "consumer: all is well\n";
}
