// cross_entropy:  ℓ = Σ_rows (log s − (z_t − m)) / N,  m = max z,  s = Σ e^(z − m), t the row's target; N = 1 for a sum.
#include <chalkgrad/ops/reduce/sum_exp.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// N ℓ, and m and log s of each row that counts. Of a row of nothing but −inf, log s counts as +inf: its loss is +inf, its P 0.
template <class T>
wide_t<T> cross_entropy_forward(
    std::size_t rows, std::size_t v, const std::int64_t* target, std::int64_t ignored, const T* z, T* m, T* log_s) {
    wide_t<T> loss(0);
    for (std::size_t t = 0; t < rows; ++t, z += v) {
        m[t] = log_s[t] = T(0);
        if (target[t] == ignored) continue;
        const T mt = m[t] = shift_of(v, z), s = sum_exp<T>(v, [=](std::size_t j) FAST { return z[j] - mt; });
        log_s[t] = s == 0 ? T(__builtin_inf()) : log(s);
        loss += log_s[t] - (z[target[t]] - mt);
    }
    return loss;
}

// Vary z: dℓ = Σ_rows (Σ P dz − dz_c)/N, so  z̄ = g (P − [j = c]),  g = ℓ̄/N.
template <class T>
void cross_entropy_gz(std::size_t rows, std::size_t v, const std::int64_t* target, std::int64_t ignored, T g,
    const T* z, const T* m, const T* log_s, T* gz) {
    for (std::size_t t = 0; t < rows; ++t, z += v, gz += v) {
        const T mt = m[t], l = log_s[t];
        if (target[t] == ignored || l == T(__builtin_inf())) {
            each<T>(v, [=](std::size_t j) FAST { gz[j] = 0; });
        } else {
            each<T>(v, [=](std::size_t j) FAST { gz[j] = g * exp((z[j] - mt) - l); });
            gz[target[t]] -= g;
        }
    }
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(cross_entropy_forward, cross_entropy_gz)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <chalkgrad/autograd/tape/wider.hpp>
#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/reduce/cross_entropy.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>
#include <chalkgrad/ops/reduce/softmax.hpp>
#include <chalkgrad/ops/shape/shape_ops.hpp>

namespace chalkgrad {
namespace {

struct CrossEntropy {
    static constexpr const char* name = "cross_entropy";
    static constexpr const char* inputs[] = {"logits"};
    std::shared_ptr<const Array<std::int64_t>> targets;
    LossReduction reduction;
    std::int64_t ignore_index;

    Shape shape(Shapes in) const {
        const Shape& z = in[0];
        const Shape given(targets->shape());
        if (z.rank() == 0 || z.last() == 0)
            throw Error(fmt::format(
                "cross_entropy: logits have shape {}; they must be (..., V) with at least one class", to_string(z)));
        const Shape rows(z.begin(), z.end() - 1);
        if (given != rows)
            throw Error(fmt::format("cross_entropy: targets have shape {} beside logits of shape {}; they must be {}",
                to_string(given), to_string(z), to_string(rows)));
        for (const std::int64_t t : *targets)
            if (t != ignore_index && (t < 0 || t >= static_cast<std::int64_t>(z.last())))
                throw Error(fmt::format(
                    "cross_entropy: target {} is no class: give 0 to {}, or {} for a token that does not count", t,
                    z.last() - 1, ignore_index));
        if (reduction == LossReduction::mean && count() == 0)
            throw Error(fmt::format(
                "cross_entropy: none of the {} targets counts (ignore_index is {}), so there is no mean; a sum is 0",
                targets->size(), ignore_index));
        return {};
    }
    std::size_t saved(Shapes in) const { return 2 * in[0].rows(); } // m, then log s
    void attributes(Attributes& out) const {
        out.set("reduction", std::string(reduction == LossReduction::mean ? "mean" : "sum"));
        out.set("ignore_index", static_cast<double>(ignore_index));
    }

    template <class T> void forward(Ins<T> in, Out<T> y, T* m) const {
        const std::size_t rows = in[0].rows();
        const wide_t<T> loss = kernel::cross_entropy_forward<T>(
            rows, in[0].last(), targets->data(), ignore_index, in[0].data, m, m + rows);
        y[0] = static_cast<T>(loss / divisor<wide_t<T>>());
        if (!all_finite(y.data, 1)) forward_in_wider(*this, in, y);
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T* m, Outs<T> gx) const {
        const std::size_t rows = in[0].rows();
        kernel::cross_entropy_gz<T>(rows, in[0].last(), targets->data(), ignore_index, gy[0] / divisor<T>(), in[0].data,
            m, m + rows, gx[0].data);
    }

private:
    std::size_t count() const {
        return static_cast<std::size_t>(
            std::count_if(targets->begin(), targets->end(), [&](std::int64_t t) { return t != ignore_index; }));
    }
    template <class T> T divisor() const { return T(reduction == LossReduction::mean ? count() : 1); }
};

} // namespace

template <class T>
Var<T> cross_entropy(
    const Var<T>& logits, const Array<std::int64_t>& targets, LossReduction reduction, std::int64_t ignore_index) {
    return apply(CrossEntropy{std::make_shared<const Array<std::int64_t>>(targets), reduction, ignore_index}, logits);
}

template <class T>
Var<T> cross_entropy_composed(
    const Var<T>& logits, const Array<std::int64_t>& targets, LossReduction reduction, std::int64_t ignore_index) {
    const std::size_t v = logits.shape().last();
    Array<bool> chosen(Array<bool>::shape_type(logits.shape().begin(), logits.shape().end()), false);
    std::size_t count = 0;
    for (std::size_t t = 0; t < targets.size(); ++t)
        if (targets.data()[t] != ignore_index) {
            chosen.data()[t * v + static_cast<std::size_t>(targets.data()[t])] = true;
            ++count;
        }
    const Var<T> loss = -sum(where(chosen, log_softmax(logits), logits.tape().template number<T>(0)));
    return reduction == LossReduction::mean ? loss / static_cast<number_t<T>>(count) : loss;
}

CHALKGRAD_INSTANCES(cross_entropy, cross_entropy_composed)

namespace {

LossReduction reduction_named(const std::string& word) {
    if (word == "mean") return LossReduction::mean;
    if (word == "sum") return LossReduction::sum;
    throw Error(fmt::format("cross_entropy: reduction is '{}'; give mean or sum", word));
}

} // namespace

CatalogEntry cross_entropy_entry() {
    return entry("cross_entropy", "mean or sum of -log softmax(logits)[target]", "§4", "logits",
        [](Settings& c) {
            return rule_of(CrossEntropy{std::make_shared<const Array<std::int64_t>>(c.whole_numbers("targets")),
                reduction_named(c.word("reduction", "mean")), c.integer("ignore_index", -100)});
        })
        .with_samples({"mean: logits(4,5) reduction=mean", "sum: logits(3,11) reduction=sum",
                          "ignored: logits(4,3) reduction=mean", "batched: logits(2,2,3) ignore_index=7",
                          "one_class: logits(2,1)"},
            {},
            [](std::vector<Sample>& samples) {
                const Array<double> targets[] = {
                    {3, 0, 4, 0}, {10, 2, 2}, {1, -100, 2, -100}, {{1, 0}, {2, 7}}, {0, 0}};
                for (std::size_t i = 0; i < samples.size(); ++i) samples[i].constants = {{"targets", targets[i]}};
            })
        .with_twin([](auto& c) {
            return cross_entropy_composed(c.in("logits"), c.whole_numbers("targets"),
                reduction_named(c.word("reduction", "mean")), c.integer("ignore_index", -100));
        })
        .with_identities([](const Sample& s) {
            return std::vector<Identity>{
                known_product("J 1 = 0 for the logits of a token", "logits", constant_along(-1, *s.input("logits")))};
        });
}

} // namespace chalkgrad
#endif
