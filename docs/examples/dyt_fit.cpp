// DyT, γ tanh(α x) + β, is fitted to LayerNorm by gradient descent on one tape: one slope for rows of very different size.
#include <chalkgrad/chalkgrad.hpp>
#include <iomanip>
#include <iostream>

using namespace chalkgrad;

int main() {
    Generator rng(0);
    const Tape tape;
    const Array<double> sizes = xt::exp(rng.standard_normal({256, 1})); // rows of very different size
    const auto x = tape.constant(sizes * rng.standard_normal({256, 16}), "x");
    const auto target = layer_norm(x).named("target");

    struct Learned {
        const char* name;
        Array<double> value;
    } learned[] = {{"alpha", 1.}, {"gamma", xt::ones<double>({16})}, {"beta", xt::zeros<double>({16})}};

    const auto start = tape.mark();
    for (int step = 0; step <= 600; ++step) {
        std::vector<Var<double>> weights;
        for (const Learned& each : learned) weights.push_back(tape.variable(each.value, each.name));
        const auto error = mean(square(dyt(x, weights[0], weights[1], weights[2]) - target));
        error.backward();
        if (step % 200 == 0)
            std::cout << "step " << std::setw(3) << step << std::fixed << std::setprecision(4) << ": error "
                      << error.item() << ", alpha " << learned[0].value() << ", mean gamma "
                      << xt::mean(learned[1].value)() << '\n';
        if (step == 600) std::cout << "gradcheck: " << name(gradcheck({error}, weights).verdict) << '\n';
        for (std::size_t i = 0; i < 3; ++i) learned[i].value -= (i == 0 ? 0.02 : 2.) * weights[i].grad();
        tape.rewind(start); // the lines of this step are dropped, their memory serves the next
    }
}
