// SigLIP (Gemma 3) and Llama 4's tower: biased pre-LN blocks with a plain FFN, over image patches.
#include <chalkgrad/nn/models/vision_tensors.hpp>

#include <utility>

namespace chalkgrad::nn {

void add_vision_tensors(const VisionFacts& v, std::int64_t text_width, std::vector<ModelTensor>& to) {
    const std::int64_t d = v.width, f = v.ffn_width;
    const auto part = [&](std::string name, std::string_view component, std::vector<std::int64_t> extents) {
        std::vector<Extent> shape;
        for (const std::int64_t extent : extents) shape.push_back({extent, extent, ""});
        to.push_back({std::move(name), component, std::move(shape)});
    };
    const auto add = [&](const std::string& name, std::vector<std::int64_t> extents) {
        part("vision." + name, "vision", std::move(extents));
    };
    // `copies` layers of the same shape are one tensor with a leading axis.
    const auto linear = [&](const std::string& name, std::int64_t copies, std::int64_t in, std::int64_t out) {
        add(name + ".weight", {copies, in, out});
        add(name + ".bias", {copies, out});
    };
    const auto norm = [&](const std::string& name, std::int64_t copies) {
        add(name + ".gain", {copies, d});
        add(name + ".bias", {copies, d});
    };

    const bool siglip = v.kind == "siglip_vision_model";
    const std::int64_t side = v.image / v.patch;
    add("patches.weight", {v.channels, checked_product(v.patch, v.patch, "a patch"), d});
    if (siglip) add("patches.bias", {d});
    if (!siglip) add("class_token", {d});
    add("positions.weight", {checked_product(side, side, "the patches") + !siglip, d});
    if (!siglip) norm("embedding_norm", 1);
    for (const char* matrix : {"q", "k", "v", "o"}) linear(std::string("layers.attention.") + matrix, v.layers, d, d);
    norm("layers.attention_norm", v.layers);
    norm("layers.ffn_norm", v.layers);
    linear("layers.ffn.up", v.layers, d, f);
    linear("layers.ffn.down", v.layers, f, d);
    norm("final_norm", 1);

    if (siglip) {
        if (v.pooling_head) {
            add("pool.probe", {d});
            for (const char* matrix : {"q", "k", "v", "o"}) linear(std::string("pool.attention.") + matrix, 1, d, d);
            norm("pool.norm", 1);
            linear("pool.ffn.up", 1, d, f);
            linear("pool.ffn.down", 1, f, d);
        }
        part("projector.norm.gain", "projector", {d});
        part("projector.weight", "projector", {d, text_width});
    } else {
        part("projector.shuffle.up.weight", "projector", {v.shuffled, v.projector_in});
        part("projector.shuffle.down.weight", "projector", {v.projector_in, v.projector_out});
        part("projector.weight", "projector", {v.out, text_width});
    }
}

} // namespace chalkgrad::nn
