// From a folder to a model: opened, held against its config, run block by block.
#include <chalkgrad/nn/checkpoint/checkpoint.hpp>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/nn/checkpoint/fill.hpp>
#include <chalkgrad/nn/models/config.hpp>
#include <chalkgrad/nn/models/fields.hpp>

namespace chalkgrad::nn {
namespace {

constexpr std::size_t largest_config = (std::size_t(8) << 20) + 1;

std::string read_config(const std::filesystem::path& folder) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored))
        throw Error(
            fmt::format("checkpoint: '{}' is no folder; name the one that holds config.json and model.safetensors",
                folder.string()));
    const std::filesystem::path path = folder / "config.json";
    if (!std::filesystem::is_regular_file(path, ignored))
        throw Error(
            fmt::format("checkpoint: '{}' has no config.json; a checkpoint is a folder with config.json and "
                        "model.safetensors",
                folder.string()));
    return read_file(path, largest_config);
}

/// A table of few rows of another, with the numbers read as they are needed.
Parameter some_rows(const Parameter& table, const std::vector<std::size_t>& rows) {
    Shape shape = table.shape();
    const Parameter some(table.name(), shape.with(0, rows.size()), table.component(), table.init());
    const std::size_t row = shape.size() / std::max<std::size_t>(shape[0], 1);
    some.read_from([table, rows, row](std::size_t first, std::size_t count, double* to) {
        for (std::size_t i = first; i < first + count; to += row) {
            const Array<double> one = table.rows(rows[i++], 1);
            std::copy(one.data(), one.data() + row, to);
        }
    });
    return some;
}

} // namespace

std::size_t Checkpoint::parameters() const {
    std::size_t count = 0;
    std::set<const void*> seen;
    for (const auto& [name, parameter] : parameters_of(model))
        if (parameter.learned() && seen.insert(parameter.id()).second) count += parameter.shape().size();
    return count;
}

void Checkpoint::check(const Array<std::int64_t>& ids) const {
    if (ids.dimension() != 1 || ids.size() == 0) throw Error("checkpoint: give at least one id, in one row");
    if (context != 0 && ids.size() > context)
        throw Error(
            fmt::format("checkpoint: {} ids, and the model's context is {} tokens; give fewer", ids.size(), context));
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids(i) < 0 || ids(i) >= model.description.vocabulary)
            throw Error(fmt::format("checkpoint: id {} (number {}) is outside the vocabulary, 0 to {}", ids(i), i,
                model.description.vocabulary - 1));
}

template <class T> std::vector<Array<T>> Checkpoint::streams(const Array<std::int64_t>& ids) const {
    check(ids);
    std::vector<Array<T>> list;
    {
        // The rows that are looked up, and no others.
        std::vector<std::size_t> rows(ids.begin(), ids.end());
        std::sort(rows.begin(), rows.end());
        rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
        Array<std::int64_t> places = ids;
        for (std::int64_t& id : places)
            id = std::lower_bound(rows.begin(), rows.end(), static_cast<std::size_t>(id)) - rows.begin();
        Model front = model;
        front.embedding.table = some_rows(model.embedding.table, rows);
        const Tape tape;
        Binding<T> on(tape);
        list.push_back(front.embed(on, places).value());
    }
    for (const Block& block : blocks()) {
        const Tape tape;
        Binding<T> on(tape);
        const Var<T> bias = model.position_bias(on, model.parts[0], ids.size());
        list.push_back(block(on, tape.constant(list.back()), bias).value());
    }
    return list;
}

template <class T> Array<T> Checkpoint::read_out(const Array<T>& stream) const {
    const std::size_t tokens = stream.shape()[0], vocabulary = size(model.description.vocabulary);
    // A tied head is as large as the vocabulary: read in pieces, the table need not be in memory at once.
    constexpr std::size_t most = std::size_t(1) << 24;
    const std::size_t step = model.head ? vocabulary : std::max<std::size_t>(most / size(model.description.width), 1);
    Array<T> scores(std::vector<std::size_t>{tokens, vocabulary});
    for (std::size_t first = 0; first < vocabulary; first += step) {
        const std::size_t count = std::min(step, vocabulary - first);
        Model back = model;
        if (count < vocabulary) {
            std::vector<std::size_t> rows(count);
            for (std::size_t i = 0; i < count; ++i) rows[i] = first + i;
            back.embedding.table = some_rows(model.embedding.table, rows);
            if (model.tied_bias) back.tied_bias = some_rows(model.tied_bias, rows);
        }
        const Tape tape;
        Binding<T> on(tape);
        const Var<T> y = back.score(on, final_norm()(on, tape.constant(stream)));
        for (std::size_t t = 0; t < tokens; ++t)
            std::copy_n(y.data() + t * count, count, scores.data() + t * vocabulary + first);
    }
    return scores;
}

#define CHALKGRAD_RUN(T)                                                                         \
    template std::vector<Array<T>> Checkpoint::streams<T>(const Array<std::int64_t>& ids) const; \
    template Array<T> Checkpoint::read_out(const Array<T>& stream) const;
CHALKGRAD_FOR_SCALARS(CHALKGRAD_RUN)
#undef CHALKGRAD_RUN

namespace {

Checkpoint filled(const ModelDescription& m, const std::string& config, const std::vector<FileTensor>& tensors,
    const std::filesystem::path& folder) {
    if (m.layer_count() > static_cast<std::int64_t>(tensors.size()))
        throw Error(
            fmt::format("checkpoint: '{}' holds {} tensors, and its config.json speaks of {} layers; they do not "
                        "belong together",
                folder.string(), tensors.size(), m.layer_count()));
    Checkpoint checkpoint{folder, Model(m)};
    const ConfigFields fields = ConfigFields::parse(config);
    checkpoint.context = size(fields.count("max_position_embeddings|n_positions", m.positions.rows));
    fill(checkpoint.model, tensors, folder.string(), fields.has("quantization_config"));
    return checkpoint;
}

} // namespace

Checkpoint load_checkpoint(const std::filesystem::path& folder) {
    const std::string config = read_config(folder);
    const ModelDescription m = read_model_config(config);
    tensor_names(m.model_type); // before a file of gigabytes is opened
    return filled(m, config, read_safetensors_folder(folder), folder);
}

Checkpoint load_checkpoint(const std::string& config, std::span<const std::byte> weights) {
    return filled(read_model_config(config), config, read_safetensors(weights, "model.safetensors"), "memory");
}

} // namespace chalkgrad::nn
