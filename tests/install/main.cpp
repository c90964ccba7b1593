// A user's program: includes chalkgrad as installed, and is linked with a file that includes xtensor alone.
#include <chalkgrad/chalkgrad.hpp>

#include <iostream>

bool xtensor_is_right();

int main() {
    chalkgrad::Tape tape;
    const auto x = tape.variable(xt::xarray<double>{2, -1, 3, 0}, "x");
    if (!xtensor_is_right() || x.value()(2) != 3) {
        std::cout << "wrong numbers\n";
        return 1;
    }
    std::cout << "consumer: all is well\n";
}
