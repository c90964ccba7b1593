// cross_entropy:  ℓ = Σ_rows (log s − (z_t − m)) / N,  m = max z,  s = Σ e^(z − m), t the row's target; N = 1 for a sum.
#include <chalkgrad/autograd/kernel/kernel.hpp>
#include <chalkgrad/ops/reduce/sum_exp.hpp>

namespace chalkgrad::CHALKGRAD_ISA {

// Of a row of nothing but −inf, log s counts as +inf: its loss is +inf and its P is 0.
template <class T> void row_log_sum(std::size_t v, const T* z, T* m, T* log_s) {
    const T largest = max<T>(v, [=](std::size_t j) FAST { return z[j]; });
    const T shift = largest == -static_cast<T>(__builtin_inf()) ? T(0) : largest;
    const T s = sum_exp<T>(v, [=](std::size_t j) FAST { return z[j] - shift; });
    *m = shift;
    *log_s = s == 0 ? static_cast<T>(__builtin_inf()) : log(s);
}

// Vary z: dℓ = Σ_rows (Σ P dz − dz_c)/N, so  z̄ = g (P − [j = c]),  g = ℓ̄/N.
template <class T> void row_probabilities(std::size_t v, T g, T m, T log_s, const T* z, T* gz) {
    each<T>(v, [=](std::size_t j) FAST { gz[j] = g * exp((z[j] - m) - log_s); });
}

} // namespace chalkgrad::CHALKGRAD_ISA

CHALKGRAD_KERNEL(row_log_sum)
CHALKGRAD_KERNEL(row_probabilities)

#ifndef CHALKGRAD_KERNELS_ONLY
#include <algorithm>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>
#include <chalkgrad/ops/catalog/identities.hpp>
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
        const Shape given(targets->shape().begin(), targets->shape().end());
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
        if (count() == 0)
            throw Error(
                fmt::format("cross_entropy: none of the {} targets counts (ignore_index is {}), so there is no loss",
                    targets->size(), ignore_index));
        return {};
    }
    std::size_t saved(Shapes in) const { return 2 * in[0].rows(); } // m and log s of each row
    void attributes(Attributes& out) const {
        out.set("reduction", std::string(reduction == LossReduction::mean ? "mean" : "sum"));
        out.set("ignore_index", static_cast<double>(ignore_index));
    }

    template <class T> void forward(Ins<T> in, Out<T> y, T* saved) const {
        const In<T> z = in[0];
        const std::size_t v = z.last();
        T loss(0);
        for (std::size_t t = 0; t < z.rows(); ++t) {
            T &m = saved[2 * t], &log_s = saved[2 * t + 1];
            const std::int64_t target = targets->data()[t];
            m = log_s = T(0);
            if (target == ignore_index) continue;
            kernel::row_log_sum<T>(v, z.data + t * v, &m, &log_s);
            loss += log_s - (z[t * v + static_cast<std::size_t>(target)] - m);
        }
        y[0] = loss / divisor<T>();
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T* saved, Outs<T> gx) const {
        const In<T> z = in[0];
        const std::size_t v = z.last();
        const T g = gy[0] / divisor<T>();
        for (std::size_t t = 0; t < z.rows(); ++t) {
            T* gz = gx[0].data + t * v;
            const T m = saved[2 * t], log_s = saved[2 * t + 1];
            const std::int64_t target = targets->data()[t];
            if (target == ignore_index || log_s == std::numeric_limits<T>::infinity()) {
                std::fill_n(gz, v, T(0));
                continue;
            }
            kernel::row_probabilities<T>(v, g, m, log_s, z.data + t * v, gz);
            gz[target] -= g;
        }
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

#define CHALKGRAD_INSTANTIATE(T)                                                                           \
    template Var<T> cross_entropy(const Var<T>&, const Array<std::int64_t>&, LossReduction, std::int64_t); \
    template Var<T> cross_entropy_composed(const Var<T>&, const Array<std::int64_t>&, LossReduction, std::int64_t);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

namespace {

LossReduction reduction_named(const std::string& word) {
    if (word == "mean") return LossReduction::mean;
    if (word == "sum") return LossReduction::sum;
    throw Error(fmt::format("cross_entropy: reduction is '{}'; give mean or sum", word));
}

} // namespace

CatalogEntry cross_entropy_entry() {
    return entry(
        "cross_entropy", "mean or sum of -log softmax(logits)[target]", "§4",
        [](auto& c) {
            return cross_entropy(c.in("logits"), c.whole_numbers("targets"),
                reduction_named(c.word("reduction", "mean")), c.integer("ignore_index", -100));
        },
        [](Generator& rng) {
            const auto draw = [&](const Shape& shape) { return rng.standard_normal(shape); };
            return std::vector<Sample>{
                {"mean", {{"logits", draw({4, 5})}}, {{"targets", {3, 0, 4, 0}}}, {{"reduction", std::string("mean")}}},
                {"sum", {{"logits", draw({3, 11})}}, {{"targets", {10, 2, 2}}}, {{"reduction", std::string("sum")}}},
                {"ignored", {{"logits", draw({4, 3})}}, {{"targets", {1, -100, 2, -100}}},
                    {{"reduction", std::string("mean")}}},
                {"batched", {{"logits", draw({2, 2, 3})}}, {{"targets", {{1, 0}, {2, 7}}}}, {{"ignore_index", 7.0}}},
                {"one_class", {{"logits", draw({2, 1})}}, {{"targets", {0, 0}}}, {}}};
        },
        [](auto& c) {
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
