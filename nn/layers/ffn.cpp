// The feed-forward network of a block as a module.
#include <chalkgrad/nn/layers/ffn.hpp>

#include <chalkgrad/nn/core/ops.hpp>
#include <chalkgrad/nn/core/words.hpp>

namespace chalkgrad::nn {
namespace {

struct ActivationWord {
    Activation value;
    const char* name;
};
constexpr ActivationWord activation_words[] = {{Activation::identity, "identity"}, {Activation::relu, "relu"},
    {Activation::silu, "silu"}, {Activation::gelu, "gelu"}, {Activation::gelu_tanh, "gelu_tanh"},
    {Activation::quick_gelu, "quick_gelu"}};

/// Columns start, start + step, … up to stop.
template <class T> Var<T> columns(const Var<T>& x, std::size_t start, std::size_t stop, std::ptrdiff_t step = 1) {
    const Range range{
        .start = static_cast<std::ptrdiff_t>(start), .stop = static_cast<std::ptrdiff_t>(stop), .step = step};
    return slice(x, {Ellipsis{}, range});
}

template <class T> Var<T> phi(Binding<T>& on, const FfnOptions& o, const Var<T>& x) {
    return o.own ? o.own(on, x, Role::activation) : activate(o.activation, x);
}

} // namespace

const char* name(Activation activation) { return word_of("activation", activation_words, activation).name; }
Activation activation_named(std::string_view word) { return value_named("activation", activation_words, word); }

template <class T> Var<T> activate(Activation activation, const Var<T>& x) {
    switch (activation) {
        case Activation::identity:
            return x;
        case Activation::relu:
            return relu(x);
        case Activation::silu:
            return silu(x);
        case Activation::gelu:
            return gelu_erf(x);
        case Activation::gelu_tanh:
            return gelu_tanh(x);
        case Activation::quick_gelu:
            return quick_gelu(x);
    }
    throw Error("activation: unknown value");
}

FfnOptions gpt_oss_ffn_options(std::size_t d, std::size_t width) {
    return {.d = d, .width = width, .bias = true, .packing = Packing::interleaved, .swiglu = gpt_oss_gate};
}

std::uint64_t matched_ffn_width(std::uint64_t d, std::uint64_t multiple) {
    if (multiple == 0) throw Error("matched_ffn_width: multiple is 0; it must be at least 1");
    std::uint64_t eightfold, padded;
    if (__builtin_mul_overflow(d, std::uint64_t{8}, &eightfold) ||
        __builtin_add_overflow(eightfold / 3, multiple - 1, &padded))
        throw Error(fmt::format(
            "matched_ffn_width: d is {} with multiples of {}; the width does not fit in 64 bits", d, multiple));
    return padded / multiple * multiple;
}

template <class T> Var<T> gate(Binding<T>& on, const FfnOptions& o, const Var<T>& g, const Var<T>& u) {
    if (o.own) return phi(on, o, g) * u;
    switch (o.activation) {
        case Activation::silu:
            return swiglu_act(g, u, o.swiglu);
        case Activation::relu:
            return reglu(g, u);
        case Activation::gelu:
            return geglu(g, u);
        default:
            return activate(o.activation, g) * u;
    }
}

template <class T> Var<T> middle(Binding<T>& on, const FfnOptions& o, const Var<T>& h) {
    if (!o.gated) return phi(on, o, h);
    const std::size_t f = o.width;
    switch (o.packing) {
        case Packing::gate_first:
            return gate(on, o, columns(h, 0, f), columns(h, f, 2 * f));
        case Packing::up_first:
            return gate(on, o, columns(h, f, 2 * f), columns(h, 0, f));
        case Packing::interleaved:
            return gate(on, o, columns(h, 0, 2 * f, 2), columns(h, 1, 2 * f, 2));
        case Packing::separate:
            break;
    }
    throw Error("ffn: a gate and an up branch of their own are not packed; call gate()");
}

Ffn::Ffn(const FfnOptions& its_options, const std::string& component) : options(its_options) {
    const auto& o = options;
    if (o.width == 0)
        throw Error("ffn: width is 0; give the number of features in between: .ffn = {.width = matched_ffn_width(d)}");
    if (!o.gated && o.packing != Packing::separate)
        throw Error("ffn: packing is set on an FFN without a gate; it has one matrix only");
    const SwigluOptions& s = o.swiglu;
    if ((s.alpha != 1 || s.gate_limit || s.up_limit || s.shift_up != 0) &&
        !(o.gated && o.activation == Activation::silu && !o.own))
        throw Error("ffn: α, limits and shift of the gate are set; they go with a gate with silu only");
    options.own = o.own.at(o.width);
    if (!o.gated) {
        first = Linear("w1", o.d, o.width, o.bias, component);
        second = Linear("w2", o.width, o.d, o.bias, component);
        return;
    }
    if (o.packing == Packing::separate) {
        first = Linear("w_gate", o.d, o.width, o.bias, component);
        up = Linear("w_up", o.d, o.width, o.bias, component);
    } else {
        first = Linear("w_gate_up", o.d, 2 * o.width, o.bias, component);
    }
    second = Linear("w_down", o.width, o.d, o.bias, component);
}

template <class T> Var<T> Ffn::operator()(Binding<T>& on, const Var<T>& x) const {
    const Var<T> h = first(on, x);
    return second(on, up ? gate(on, options, h, up(on, x)) : middle(on, options, h));
}

void Ffn::visit(const Visitor& v) const {
    for (const Linear* matrix : {&first, &up, &second}) v(*matrix);
    v(options.own);
}

CHALKGRAD_INSTANCES(activate, gate, middle, Ffn::operator())

} // namespace chalkgrad::nn
