// says: an integer is no leaf of a tape: write tape.variable(3.) for a single number
#include <chalkgrad/autograd/tape/tape.hpp>

using namespace chalkgrad;

int main() {
    Tape tape;
    const auto x = tape.variable(3);
}
