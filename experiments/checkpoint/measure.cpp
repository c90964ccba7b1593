// Forward block by block, then back from the loss: each block is recorded again at the stream that it read.
#include <chalkgrad/experiments/checkpoint/measure.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/check/jacobian.hpp>
#include <chalkgrad/nn/checkpoint/names.hpp>
#include <chalkgrad/nn/checkpoint/safetensors.hpp>

namespace chalkgrad {
namespace {

template <class T> Array<double> widened(const Array<T>& x) {
    Array<double> wide(x.shape());
    std::transform(x.begin(), x.end(), wide.begin(), [](T value) { return static_cast<double>(value); });
    return wide;
}

double norm_of(const Array<double>& x) {
    double squares = 0;
    for (const double value : x) squares += value * value;
    return std::sqrt(squares);
}

/// Of a row, log Σ exp.
double log_total(const double* scores, std::size_t count) {
    const double largest = *std::max_element(scores, scores + count);
    double total = 0;
    for (std::size_t j = 0; j < count; ++j) total += std::exp(scores[j] - largest);
    return largest + std::log(total);
}

/// d loss/d scores.
Array<double> loss_gradient(const Array<double>& scores, const Array<std::int64_t>& ids) {
    Array<double> g(scores.shape(), 0);
    const std::size_t tokens = ids.size(), count = scores.shape()[1];
    for (std::size_t t = 0; t + 1 < tokens; ++t) {
        const double* const row = scores.data() + t * count;
        const double total = log_total(row, count);
        for (std::size_t j = 0; j < count; ++j) g(t, j) = std::exp(row[j] - total) / static_cast<double>(tokens - 1);
        g(t, static_cast<std::size_t>(ids(t + 1))) -= 1 / static_cast<double>(tokens - 1);
    }
    return g;
}

LayerMeasure stream_measure(const Array<double>& x) {
    LayerMeasure layer;
    layer.rms = norm_of(x) / std::sqrt(static_cast<double>(x.size()));
    std::size_t at = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        if (std::abs(x.data()[i]) > std::abs(x.data()[at])) at = i;
    layer.largest_over_rms = std::abs(x.data()[at]) / layer.rms;
    layer.channel_of_largest = at % x.shape()[1];
    return layer;
}

/// weights (heads, T, T)
std::vector<HeadMeasure> head_measures(const Array<double>& weights) {
    const std::size_t heads = weights.shape()[0], tokens = weights.shape()[1];
    std::vector<HeadMeasure> list(heads);
    for (std::size_t h = 0; h < heads; ++h) {
        double entropy = 0, first = 0;
        for (std::size_t t = 0; t < tokens; ++t) {
            for (std::size_t j = 0; j < tokens; ++j)
                if (const double w = weights(h, t, j); w > 0) entropy -= w * std::log(w);
            if (t > 0) first += weights(h, t, 0);
        }
        list[h].entropy = entropy / static_cast<double>(tokens);
        if (tokens > 1) list[h].mass_on_first = first / static_cast<double>(tokens - 1);
    }
    return list;
}

/// Names of a file's tensors for our dotted ones.
class FileNames {
public:
    explicit FileNames(const nn::Checkpoint& model) : table_(nn::tensor_names(model.model.description.model_type)) {
        for (const nn::FileTensor& tensor : nn::read_safetensors_folder(model.folder)) stored_.push_back(tensor.name);
    }

    std::string operator()(const std::string& ours) const {
        std::string rest = ours, layer;
        if (rest.starts_with("layers.")) {
            const std::size_t dot = rest.find('.', 7);
            layer = rest.substr(7, dot - 7);
            rest = rest.substr(dot + 1);
        }
        const std::string parent = rest.substr(0, rest.rfind('.'));
        for (const nn::TensorName& name : table_.names) {
            if ((name.ours != rest && name.ours != parent) || name.part != nn::Part::whole || rest.ends_with(".beta"))
                continue;
            std::string theirs(name.theirs.substr(name.theirs.starts_with('/')));
            if (const std::size_t star = theirs.find('*'); star != std::string::npos) theirs.replace(star, 1, layer);
            theirs += name.weight;
            for (const std::string& stored : stored_)
                if (stored == theirs || stored.ends_with("." + theirs)) return stored;
        }
        return ours;
    }

private:
    const nn::TensorNames& table_;
    std::vector<std::string> stored_;
};

} // namespace

namespace detail {

/// Gradients of parameters, added up over the tapes that use them.
class Gradients {
public:
    template <class T> void add(const nn::Binding<T>& on) {
        for (const auto& [parameter, line] : on.bound()) {
            if (!parameter.learned() || !line.has_grad()) continue;
            const auto [place, is_new] = sums_.try_emplace(parameter.id(), widened(line.grad()));
            if (!is_new) place->second += widened(line.grad());
        }
        std::erase_if(sums_, [&](auto& one) { // the table's are needed to the end: embedding and head use it
            return one.first != kept_ && (norms_[one.first] = norm_of(one.second), true);
        });
    }
    explicit Gradients(const void* kept) : kept_(kept) {}
    std::optional<double> norm(const nn::Parameter& parameter) const {
        if (const auto sum = sums_.find(parameter.id()); sum != sums_.end()) return norm_of(sum->second);
        const auto known = norms_.find(parameter.id());
        return known == norms_.end() ? std::optional<double>() : known->second;
    }

private:
    const void* kept_;
    std::unordered_map<const void*, Array<double>> sums_;
    std::unordered_map<const void*, double> norms_;
};

} // namespace detail

std::optional<double> loss_of(const Array<double>& scores, const Array<std::int64_t>& ids) {
    if (ids.size() < 2) return {};
    const std::size_t count = scores.shape()[1];
    double sum = 0;
    for (std::size_t t = 0; t + 1 < ids.size(); ++t)
        sum += log_total(scores.data() + t * count, count) - scores(t, static_cast<std::size_t>(ids(t + 1)));
    return sum / static_cast<double>(ids.size() - 1);
}

template <class T> Measures measure(const nn::Checkpoint& checkpoint, const Array<std::int64_t>& ids) {
    const nn::Model& model = checkpoint.model;
    const std::vector<Array<T>> streams = checkpoint.streams<T>(ids);
    const std::size_t blocks = checkpoint.blocks().size();
    const bool backward = ids.size() > 1;
    Measures made;
    detail::Gradients gradients(model.embedding.table.id());
    Array<work_t<T>> g; // of the stream at hand
    const auto back = [&](nn::Binding<T>& on, const Var<T>& y, const Var<T>& x, const Array<work_t<T>>& gy) {
        y.backward(gy);
        gradients.add(on);
        if (x) g = x.grad();
    };

    for (const Array<T>& stream : streams) {
        made.layers.push_back(stream_measure(widened(stream)));
        made.logits = widened(checkpoint.read_out(stream));
        made.layers.back().logit_lens_loss = loss_of(made.logits, ids);
    }
    made.loss = made.layers.back().logit_lens_loss;
    if (backward) {
        const Tape tape;
        nn::Binding<T> on(tape);
        const Var<T> x = tape.variable(streams.back());
        const Array<double> wide = loss_gradient(made.logits, ids);
        Array<work_t<T>> gy(wide.shape());
        std::transform(wide.begin(), wide.end(), gy.begin(), [](double v) { return static_cast<work_t<T>>(v); });
        back(on, model.score(on, checkpoint.final_norm()(on, x)), x, gy);
        made.layers[blocks].gradient_norm = norm_of(widened(g));
    }
    for (std::size_t l = blocks; l-- > 0;) {
        const nn::Block& block = checkpoint.blocks()[l];
        const bool has_weights = std::holds_alternative<nn::GroupedAttention>(block.attention);
        if (has_weights) {
            const Tape tape;
            nn::Binding<T> on(tape);
            const Var<T> bias = model.position_bias(on, model.parts[0], ids.size());
            made.layers[l + 1].heads =
                head_measures(widened(Array<T>(block.attention_weights(on, tape.constant(streams[l]), bias).value())));
        }
        if (!backward) continue;
        const Tape tape;
        nn::Binding<T> on(tape);
        const Var<T> x = tape.variable(streams[l]);
        back(on, block(on, x, model.position_bias(on, model.parts[0], ids.size())), x, Array<work_t<T>>(g));
        made.layers[l].gradient_norm = norm_of(widened(g));
    }
    if (backward) {
        const Tape tape;
        nn::Binding<T> on(tape);
        back(on, model.embed(on, ids), {}, Array<work_t<T>>(g));
    }

    const FileNames file_name(checkpoint);
    std::vector<const void*> done;
    for (const auto& [name, parameter] : nn::parameters_of(model)) {
        if (!parameter.learned() || std::find(done.begin(), done.end(), parameter.id()) != done.end()) continue;
        done.push_back(parameter.id());
        Named weight{file_name(name), gradients.norm(parameter)};
        if (weight.gain = parameter.name() == "gamma"; weight.gain) {
            const Array<double> gains = parameter.rows(0, parameter.shape()[0]);
            weight.min = *std::min_element(gains.begin(), gains.end());
            weight.max = *std::max_element(gains.begin(), gains.end());
            for (const double gain : gains) weight.mean += gain / static_cast<double>(gains.size());
        }
        made.weights.push_back(weight);
    }
    return made;
}

template Measures measure<double>(const nn::Checkpoint&, const Array<std::int64_t>&);
template Measures measure<float>(const nn::Checkpoint&, const Array<std::int64_t>&);
template Measures measure<half>(const nn::Checkpoint&, const Array<std::int64_t>&);
template Measures measure<bfloat16>(const nn::Checkpoint&, const Array<std::int64_t>&);

std::vector<double> block_singular_values(
    const nn::Checkpoint& model, const Array<std::int64_t>& ids, std::size_t block) {
    const Tape tape;
    nn::Binding<double> on(tape);
    const Var<double> x = tape.variable(model.streams<double>(ids).at(block));
    return singular_values(
        jacobian(model.blocks().at(block)(on, x, model.model.position_bias(on, model.model.parts[0], ids.size())), x));
}

} // namespace chalkgrad
