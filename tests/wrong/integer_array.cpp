// says: make Array<double>(x) of integers
#include <chalkgrad/autograd/tape/tape.hpp>

using namespace chalkgrad;

int main() {
    Tape tape;
    const auto x = tape.variable(xt::xarray<int>{1, 2, 3}, "x");
}
