// The list of ops. A new op adds one line here.
#include <chalkgrad/ops/catalog/catalog.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/base/suggest.hpp>
#include <chalkgrad/ops/catalog/sample_points.hpp>

namespace chalkgrad {

// One list declares the entries and collects them.
#define OP(op) op##_entry()
#define CHALKGRAD_OPS                                                                                                  \
    OP(add), OP(sub), OP(mul), OP(div), OP(neg), OP(exp), OP(log), OP(log1p), OP(sqrt), OP(rsqrt), OP(square),         \
        OP(reciprocal), OP(tanh), OP(erf), OP(abs), OP(pow), OP(clamp), OP(minimum), OP(maximum), OP(logaddexp),       \
        OP(sum), OP(mean), OP(var_biased), OP(amax), OP(amin), OP(logsumexp), OP(matmul), OP(reshape), OP(transpose),  \
        OP(concat), OP(stack), OP(slice), OP(where), OP(repeat_kv), OP(embedding), OP(softmax), OP(log_softmax),       \
        OP(cross_entropy), OP(relu), OP(sigmoid), OP(softplus), OP(silu), OP(gelu_erf), OP(gelu_tanh), OP(quick_gelu), \
        OP(softcap), OP(rms_norm), OP(layer_norm), OP(rms_norm_floor), OP(l2_normalize), OP(qk_norm_per_head),         \
        OP(qk_norm_whole), OP(qknorm_scores), OP(swiglu_act), OP(gpt_oss_packed), OP(reglu), OP(geglu), OP(dyt),       \
        OP(dyisru_b), OP(dyisru_softplus), OP(rope), OP(sdpa), OP(sdpa_sinks), OP(sdpa_qknorm), OP(sinkhorn_log),      \
        OP(mhc_mix_fixed), OP(mhc_mix_param), OP(mhc_mix_xdep)

CatalogEntry CHALKGRAD_OPS;

const std::vector<CatalogEntry>& catalog() {
    static const std::vector<CatalogEntry> entries = {CHALKGRAD_OPS};
    return entries;
}

const CatalogEntry& find_op(std::string_view name) {
    return find_named(catalog(), name, "there is no op", "chalkgrad list ops");
}

CatalogEntry CatalogEntry::with_samples(std::function<std::vector<Sample>(Generator& rng)> drawn) && {
    samples = std::move(drawn);
    return std::move(*this);
}
CatalogEntry CatalogEntry::with_samples(
    std::initializer_list<const char*> lines, DrawInput draw, AdjustSamples adjust) && {
    samples = [lines = std::vector<const char*>(lines), draw, adjust](Generator& rng) {
        std::vector<Sample> samples = drawn(rng, lines, draw);
        if (adjust) adjust(samples);
        return samples;
    };
    return std::move(*this);
}
CatalogEntry CatalogEntry::with_twin(Lines<double> of_primitive_ops) && {
    composed = std::move(of_primitive_ops);
    return std::move(*this);
}
CatalogEntry CatalogEntry::with_identities(std::function<std::vector<Identity>(const Sample&)> known) && {
    identities = std::move(known);
    return std::move(*this);
}
CatalogEntry entry(const char* name, const char* formula, const char* section, const char* inputs, MakeRule rule) {
    return {.name = name, .formula = formula, .section = section, .inputs = inputs, .rule = std::move(rule)};
}

Var<double> run_sample(
    const CatalogEntry& op, const Sample& sample, const Tape& tape, std::vector<Var<double>>* inputs) {
    std::vector<std::pair<std::string, Var<double>>> named;
    for (const NamedArray& x : sample.inputs) {
        named.emplace_back(x.name, tape.variable(x.values, x.name));
        if (inputs != nullptr) inputs->push_back(named.back().second);
    }
    Arguments<double> arguments(op.name, tape, std::move(named), sample.constants, sample.attributes);
    return op.call(arguments);
}

const Array<double>* Sample::input(std::string_view wanted) const {
    for (const NamedArray& array : inputs)
        if (array.name == wanted) return &array.values;
    return nullptr;
}

double Sample::number(std::string_view wanted, double otherwise) const {
    const Attribute* value = attributes.find(wanted);
    const double* number = value != nullptr ? std::get_if<double>(value) : nullptr;
    return number != nullptr ? *number : otherwise;
}

} // namespace chalkgrad
