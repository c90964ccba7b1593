// mish(x) = x tanh(log(1 + eˣ)) (Misra 2019) as two lambdas, as a rule, and as the φ of a block.
#include <chalkgrad/chalkgrad.hpp>
#include <chalkgrad/nn.hpp>
#include <iostream>

using namespace chalkgrad;

// With t = tanh(log(1 + eˣ)):  dy/dx = t + x (1 − t²) σ(x).
template <class T> Var<T> mish_by_lambdas(const Var<T>& x) {
    return custom(
        "mish", [](const auto& x) { return xt::eval(x * xt::tanh(xt::log1p(xt::exp(x)))); },
        [](const auto& x, const auto&, const auto& gy) {
            const auto t = xt::eval(xt::tanh(xt::log1p(xt::exp(x))));
            return xt::eval((t + x * (1. - t * t) / (1. + xt::exp(-x))) * gy);
        },
        x);
}

// The same as a rule: it keeps t, says in reports and drawings what it is, and runs on tapes of shapes.
struct Mish {
    static constexpr const char* name = "mish";
    static constexpr const char* inputs[] = {"x"};
    static constexpr Role role = Role::activation;

    Shape shape(Shapes in) const { return in[0]; }
    std::size_t saved(Shapes in) const { return in[0].size(); } // t
    template <class T> void forward(Ins<T> in, Out<T> y, T* t) const {
        using std::exp, std::log1p, std::tanh;
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = in[0][i] * (t[i] = tanh(log1p(exp(in[0][i]))));
    }
    template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T* t, Outs<T> gx) const {
        using std::exp;
        const In<T> x = in[0];
        for (std::size_t i = 0; i < y.size(); ++i)
            gx[0][i] = (t[i] + x[i] * (1 - t[i] * t[i]) / (1 + exp(-x[i]))) * gy[i];
    }
};
template <class T> Var<T> mish(const Var<T>& x) { return apply(Mish{}, x); }

int main() {
    Generator rng(0);
    const auto point = rng.standard_normal({3, 8});
    for (const bool by_lambdas : {true, false}) {
        const auto f = [=](const auto& x) { return by_lambdas ? mish_by_lambdas(x) : mish(x); };
        Tape tape;
        const auto x = tape.variable(point, "x");
        std::cout << (by_lambdas ? "two lambdas: " : "rule: ") << name(gradcheck({f(x)}, {x}).verdict) << '\n';

        // A function with a name is all that the block asks for.
        const nn::Block block(
            {.d = 8, .attention = {.heads = 2}, .ffn = {.width = 12, .gated = false, .own = {"mish", f}}});
        nn::initialize_for_check(block, rng); // gains off 1: gradcheck asks for it
        nn::Binding<double> on(tape);
        const auto y = block(on, x);
        auto all = on.variables();
        all.push_back(x);
        std::cout << "in a block: " << name(gradcheck({y}, all).verdict) << ", "
                  << topology_of(graph_of(tape, {x.line()}, {y.line()})).placement << '\n';
    }
}
