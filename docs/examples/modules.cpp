#include <chalkgrad/chalkgrad.hpp>
#include <chalkgrad/nn.hpp>
#include <iostream>

using namespace chalkgrad;
using namespace chalkgrad::nn;

int main() {
    // A block is built from plain options. It has shapes at once, and numbers when asked for.
    const Block block({.d = 8,
        .placement = Placement::peri,
        .attention = {.heads = 4, .kv_heads = 2, .rope = RopeOptions(), .qk_norm = {.axis = QkAxis::per_head}},
        .ffn = {.width = matched_ffn_width(8)}});
    for (const auto& [name, parameter] : parameters_of(block)) std::cout << name << ' ' << parameter.shape() << '\n';
    Generator rng(0);
    initialize(block, rng);

    // A Binding puts parameters on one tape, each once; then the block is called.
    Tape tape;
    Binding<double> on(tape);
    const auto x = tape.variable(rng.standard_normal({3, 8}), "x");
    const auto y = block(on, x).named("y");
    y.backward(rng.standard_normal({3, 8}));
    const auto wq = on(std::get<GroupedAttention>(block.attention).wq.weight);
    std::cout << "d/dwq has shape " << wq.shape() << '\n';
    const Array<double> j = jacobian(y, x);
    std::cout << "d y[0, 0] / d x[1, 0] = " << j(0, 8) << '\n'; // causal: exactly 0
    std::cout << "gradcheck: " << name(gradcheck({y}, {x, wq}).verdict) << "\n\n";

    // A step of gradient descent: new numbers for the parameters, a new tape and a new Binding for the next one.
    for (const auto& [parameter, line] : on.bound()) parameter.assign(parameter.value() - 0.1 * line.grad());

    // Llama 3.1 8B on a tape of shapes: every tensor of all layers, and no number.
    const BlockOptions layer{
        .d = 4096, .attention = {.heads = 32, .kv_heads = 8, .rope = RopeOptions()}, .ffn = {.width = 14336}};
    const LanguageModel llama({.vocabulary = 128256, .blocks = std::vector<BlockOptions>(32, layer)});
    Tape shapes(Tape::Mode::shapes_only);
    Binding<double> bound(shapes);
    const auto logits = llama(bound, Array<std::int64_t>(std::vector<std::size_t>{1, 16}, 0));
    std::cout << ledger_of(llama) << shapes.size() << " lines, scores of shape " << logits.shape() << '\n';
}
