#include <chalkgrad/chalkgrad.hpp>
#include <chalkgrad/nn.hpp>
#include <iostream>

using namespace chalkgrad;

// Gradient descent on one tape: a step records its lines, and rewind() drops them; their buffers serve the next step.
void train() {
    Generator rng(0);
    const Tape tape;
    const auto x = tape.constant(rng.standard_normal({64, 4}), "x");
    const auto target = tanh(matmul(x, tape.constant(rng.standard_normal({4}), "truth")));
    Array<double> w = xt::zeros<double>({4});
    const auto start = tape.mark();
    for (int step = 0; step <= 200; ++step) {
        const auto weights = tape.variable(w, "w");
        const auto loss = mean(square(tanh(matmul(x, weights)) - target));
        loss.backward();
        w -= 0.5 * weights.grad();
        if (step % 50 == 0)
            std::cout << "step " << step << ": loss " << loss.item() << ", " << tape.size() << " lines, "
                      << tape.pool().bytes() << " bytes\n";
        tape.rewind(start); // weights and loss are no handles any more
    }
}

// What an intermediate says.
void intermediates() {
    const Tape tape;
    const auto x = tape.variable(Array<double>{1, 2, 3}, "x");
    const auto h = square(x).named("h");
    const auto y = sum(h * x);
    h.keep_grad(); // else its gradient is given back once the sweep has passed
    y.backward();
    std::cout << "kept: dy/dh = " << h.grad() << ", dy/dx = " << x.grad() << '\n';
    std::cout << "grad(): dy/dh = " << grad(y, {h})[0] << '\n'; // touches no gradient that is kept
    std::cout << "jacobian: dh/dx =\n" << jacobian(h, x) << "\nwith h held: dy/dx = " << jacobian(y, {h, x})[1] << '\n';
    const auto held = sum(stop_gradient(h) * x);
    std::cout << "h stopped: dy/dx = " << grad(held, {x})[0] << '\n';
}

// All parameters of a module at once.
void module_curvature() {
    Generator rng(1);
    const nn::Ffn ffn({.d = 3, .width = 2});
    nn::initialize(ffn, rng);
    const Tape tape;
    nn::Binding<double> on(tape);
    const auto loss = mean(square(ffn(on, tape.constant(rng.standard_normal({5, 3})))));
    const auto weights = on.variables();
    const Array<double> h = hessian(loss, weights); // one matrix for all their numbers
    std::vector<Array<double>> along;
    for (const auto& w : weights) along.push_back(rng.standard_normal(w.shape()));
    std::cout << weights.size() << " weights, Hessian of shape " << h.shape() << ", largest singular value "
              << singular_values(h)[0] << "\nslope along a direction: " << jvp(loss, weights, along) << ", curvature: ";
    double curvature = 0;
    const auto product = hvp(loss, weights, along);
    for (std::size_t k = 0; k < along.size(); ++k) curvature += xt::sum(product[k] * along[k])();
    std::cout << curvature << '\n';
}

int main() {
    train();
    intermediates();
    module_curvature();
}
