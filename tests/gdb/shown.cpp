// What gdb is asked to print: shown.sh stops it in stop_here().
#include <chalkgrad/autograd/tape/tape.hpp>

using namespace chalkgrad;

void stop_here() {}

int main() {
    const Tape tape;
    const Array<double> numbers{{1, 2, 3}, {4, 5, 6}};
    const auto x = tape.variable(numbers, "x");
    const auto mark = tape.mark();
    const auto w = tape.constant(Array<float>{0.5, 2});
    const Var<double> none;
    const Shape shape = x.shape();
    x.backward(numbers);
    tape.rewind(mark);
    const auto v = tape.variable(3., "v");
    stop_here();
    return static_cast<int>(shape.rank() + v.size());
}
