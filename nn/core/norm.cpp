// The norms of a block, as modules.
#include <chalkgrad/nn/core/norm.hpp>

#include <chalkgrad/nn/core/ops.hpp>
#include <chalkgrad/ops/norm/dyt.hpp>
#include <chalkgrad/ops/norm/layer_norm.hpp>

namespace chalkgrad::nn {

NormOptions layer_norm_options(double eps, bool bias) {
    return {.kind = NormKind::layer, .gain = NormGain::weight, .bias = bias, .eps = eps};
}

Norm::Norm(std::string its_name, std::size_t d, const NormOptions& its_options, const std::string& component)
    : Norm(std::move(its_name), 0, d, its_options, component) {}

Norm::Norm(std::string its_name, std::size_t heads, std::size_t d, const NormOptions& its_options,
    const std::string& component)
    : name(std::move(its_name)), options(its_options) {
    if (options.kind == NormKind::none) return;
    if (d == 0) throw Error(fmt::format("norm: '{}' has no features; give it at least 1", name));
    if (options.own) {
        if (heads != 0) throw Error(fmt::format("norm: '{}' is a norm of your own, which has no gains by head", name));
        options.own = options.own.at(d);
        return;
    }
    if (options.kind == NormKind::rms && options.bias)
        throw Error(fmt::format("norm: '{}' is an RMSNorm with a bias; no bias is defined for it (course §5)", name));
    const Shape row = heads == 0 ? Shape{d} : Shape{heads, d};
    if (options.kind == NormKind::dyt) alpha = Parameter("alpha", Shape(), component, constant(options.alpha));
    if (options.gain != NormGain::none)
        gamma = Parameter("gamma", row, component, constant(options.gain == NormGain::weight ? 1 : 0));
    if (options.bias) beta = Parameter("beta", row, component, constant(0));
}

template <class T>
Var<T> Norm::apply(const Var<T>& x, const Var<T>& gain, const Var<T>& bias, const Var<T>& slope) const {
    const bool one_plus = options.gain == NormGain::one_plus_weight;
    if (options.kind == NormKind::rms)
        return rms_norm(x, gain, options.eps, one_plus ? Gain::one_plus_weight : Gain::weight, options.cast);
    const Var<T> factor = gain && one_plus ? 1 + gain : gain;
    if (options.kind == NormKind::layer) return layer_norm(x, factor, bias, options.eps);
    return dyt(x, slope, factor, bias);
}

template <class T> Var<T> Norm::operator()(Binding<T>& on, const Var<T>& x) const {
    if (options.kind == NormKind::none) return x;
    const Scope scope = on.scope(name, options.own ? Role::norm : Role::none);
    if (options.own) return options.own(on, x);
    const Var<T> slope = on(alpha), gain = on(gamma), bias = on(beta);
    const bool by_head = (gain && gain.rank() == 2) || (bias && bias.rank() == 2);
    if (!by_head) return apply(x, gain, bias, slope);
    // (heads, d) stands beside (…, heads, T, d) as (heads, 1, d).
    const auto beside = [](const Var<T>& row) {
        return reshape(
            row, {static_cast<std::ptrdiff_t>(row.shape()[0]), 1, static_cast<std::ptrdiff_t>(row.shape()[1])});
    };
    Var<T> y = apply(x, {}, {}, slope);
    if (gain) y = y * beside(options.gain == NormGain::one_plus_weight ? 1 + gain : gain);
    return bias ? y + beside(bias) : y;
}

void Norm::visit(const Visitor& v) const {
    v(alpha);
    v(gamma);
    v(beta);
    v(options.own);
}

CHALKGRAD_INSTANCES(Norm::operator())

} // namespace chalkgrad::nn
