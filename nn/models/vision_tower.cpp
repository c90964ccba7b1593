// Image encoders beside a language model: SigLIP with averaging (Gemma 3), Llama 4's with pixel shuffle.
#include <chalkgrad/nn/models/build.hpp>

#include <chalkgrad/nn/core/ops.hpp>

namespace chalkgrad::nn {
namespace {

std::ptrdiff_t root(std::int64_t square) {
    return static_cast<std::ptrdiff_t>(std::lround(std::sqrt(static_cast<double>(square))));
}

/// (side², d) as (side/k, k, side/k, k, d): squares of k × k neighbours.
template <class T> Var<T> in_squares(const Var<T>& x, std::ptrdiff_t side, std::ptrdiff_t k) {
    if (k < 1 || side % k != 0)
        throw Error(
            fmt::format("vision: {} patches a side do not divide into squares of {}; check the sizes", side, k));
    return reshape(x, {side / k, k, side / k, k, static_cast<std::ptrdiff_t>(x.shape().last())});
}

} // namespace

VisionTower::VisionTower(const VisionFacts& its_facts, std::size_t text_width) : facts(its_facts) {
    const bool siglip = facts.kind == "siglip_vision_model";
    const std::size_t d = size(facts.width), f = size(facts.ffn_width);
    const Shape image = image_shape();
    const NormOptions norm = layer_norm_options(facts.eps);
    patches = Linear("w_patches", image[1], d, siglip, "vision");
    positions = Embedding("positions", image[0] + !siglip, d, "vision");
    if (!siglip) {
        class_token = Parameter("class_token", {1, d}, "vision", normal(0.02));
        first_norm = Norm("first_norm", d, norm, "vision");
    }
    BlockOptions block = vision_block_options(d, size(facts.heads), f);
    block.norm = norm;
    block.ffn.activation = activation_of(facts.activation);
    stack = Stack(size(facts.layers), block, norm);
    if (!siglip) {
        shuffle_up = Linear("w_shuffle_up", size(facts.shuffled), size(facts.projector_in), false, "projector");
        shuffle_down =
            Linear("w_shuffle_down", size(facts.projector_in), size(facts.projector_out), false, "projector");
        projector = Linear("w_projector", size(facts.out), text_width, false, "projector");
        return;
    }
    if (facts.pooling_head) {
        probe = Parameter("probe", {1, d}, "vision", normal(0.02));
        pool.emplace(block.attention);
        pool_norm = Norm("pool_norm", d, norm, "vision");
        pool_ffn.emplace(
            FfnOptions{.d = d, .width = f, .activation = activation_of(facts.activation), .gated = false, .bias = true},
            "vision");
    }
    projector_norm = Norm("projector_norm", d, {.gain = NormGain::one_plus_weight}, "projector");
    projector = Linear("w_projector", d, text_width, false, "projector");
}

Shape VisionTower::image_shape() const {
    const std::size_t side = size(facts.image / facts.patch), patch = size(facts.patch);
    return {side * side, Shape{patch, patch, size(facts.channels)}.size()};
}

template <class T> Var<T> VisionTower::operator()(Binding<T>& on, const Var<T>& image) const {
    const Scope scope = on.scope("vision");
    const auto side = static_cast<std::ptrdiff_t>(facts.image / facts.patch);
    Var<T> h = patches(on, image);
    if (class_token) h = concat({h, on(class_token)}, 0);
    h = first_norm(on, h + on(positions.table));
    h = stack(on, h);
    if (!shuffle_up) {
        if (pool) {
            // One state for the whole image. The language model reads the patches, so this is added to all of them.
            const Var<T> seen = (*pool)(on, on(probe), {}, h);
            h = h + (seen + (*pool_ffn)(on, pool_norm(on, seen)));
        }
        const Var<T> squares = in_squares(h, side, side / root(facts.tokens));
        const Var<T> pooled = reshape(mean(squares, {1, 3}), {-1, static_cast<std::ptrdiff_t>(facts.width)});
        return projector(on, projector_norm(on, pooled));
    }
    const Var<T> squares = in_squares(slice(h, "0:-1"), side, root(facts.shuffled / facts.width));
    const Var<T> shuffled =
        reshape(transpose(squares, {0, 2, 1, 3, 4}), {-1, static_cast<std::ptrdiff_t>(facts.shuffled)});
    return projector(on, gelu_erf(shuffle_down(on, gelu_erf(shuffle_up(on, shuffled)))));
}

void VisionTower::visit(const Visitor& v) const {
    v(patches);
    v(class_token);
    v(positions);
    v("first_norm", first_norm);
    v(stack);
    v(probe);
    if (pool) v("pool", *pool);
    v("pool_norm", pool_norm);
    if (pool_ffn) v("pool_ffn", *pool_ffn);
    v("projector_norm", projector_norm);
    for (const Linear* map : {&shuffle_up, &shuffle_down, &projector}) v(*map);
}

CHALKGRAD_INSTANCES(VisionTower::operator())

} // namespace chalkgrad::nn
