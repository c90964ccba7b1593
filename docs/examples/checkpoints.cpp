#include <chalkgrad/chalkgrad.hpp>
#include <chalkgrad/nn.hpp>
#include <iostream>

using namespace chalkgrad;
using namespace chalkgrad::nn;

int main(int count, char** words) {
    Checkpoint model = load_checkpoint(count > 1 ? words[1] : "tests/data/checkpoints/stories260K");
    std::cout << model.parameters() << " parameters\n";
    const Array<std::int64_t> seen{1, 403, 407, 261, 378, 432, 383}, next{403, 407, 261, 378, 432, 383, 286};
    const auto report = [&](const char* block) {
        const Tape tape;
        std::cout << block << ": the loss is " << cross_entropy(tape.constant(model.logits<double>(seen)), next).item()
                  << ", the stream's RMS";
        for (const Array<double>& x : model.streams<double>(seen)) {
            const auto h = tape.constant(x);
            std::cout << ' ' << sqrt(mean(h * h)).item();
        }
        std::cout << '\n';
    };
    report("as trained");
    for (Block& block : model.blocks()) {
        BlockOptions changed = block.options;
        changed.placement = Placement::post;
        block = rebuilt(block, changed); // the same weights
    }
    report("Post-LN");
}
