// says: say which array the braces are: tape.variable(Array<double>{1, 2})
#include <chalkgrad/autograd/tape/tape.hpp>

using namespace chalkgrad;

int main() {
    Tape tape;
    const auto x = tape.constant({1., 2.}, "x");
}
