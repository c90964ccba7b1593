// Which stored tensor, and which part of it, holds each parameter of a model.
#include <chalkgrad/nn/checkpoint/fill.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <set>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/error.hpp>

namespace chalkgrad::nn {
namespace {

struct Stretch {
    std::size_t first, count;
};

/// A parameter, or one of the equal pieces that it is put together from: a matrix (in, out), a row (1, out), or anything as it lies.
struct ParameterPiece {
    FileTensor stored;
    std::vector<Stretch> columns; ///< of the matrix as it is here: which of the stored ones
    std::size_t in = 1, stored_out = 1;
    bool transposed = false; ///< stored as (out, in)

    /// Rows first … first + count − 1.
    void read(std::size_t first, std::size_t count, double* to) const;
};

void ParameterPiece::read(std::size_t first, std::size_t count, double* to) const {
    std::size_t out = 0;
    for (const Stretch& range : columns) out += range.count;
    if (!transposed) {
        for (std::size_t i = first; i < first + count; ++i)
            for (const Stretch& range : columns) {
                stored.read(i * stored_out + range.first, range.count, to);
                to += range.count;
            }
        return;
    }
    // Tiles, so that neither side is walked in long steps.
    constexpr std::size_t most_rows = 256, most_columns = 32;
    double tile[most_columns][most_rows + 1];
    for (std::size_t row = 0; row < count; row += most_rows) {
        const std::size_t rows = std::min(most_rows, count - row);
        double* corner = to + row * out;
        for (const Stretch& range : columns)
            for (std::size_t done = 0; done < range.count; done += most_columns) {
                const std::size_t n = std::min(most_columns, range.count - done);
                for (std::size_t j = 0; j < n; ++j)
                    stored.read((range.first + done + j) * in + first + row, rows, tile[j]);
                for (std::size_t i = 0; i < rows; ++i)
                    for (std::size_t j = 0; j < n; ++j) corner[i * out + j] = tile[j][i];
                corner += n;
            }
    }
}

class Filler {
public:
    Filler(const Model& model, const std::vector<FileTensor>& tensors, const std::string& whose, bool quantized)
        : model_(model), names_(tensor_names(model.description.model_type)), whose_(whose), quantized_(quantized) {
        for (const FileTensor& tensor : tensors) by_name_[tensor.name] = &tensor;
        const std::string first = std::string(row_of("embedding")->theirs) + ".weight";
        const auto found = std::find_if(tensors.begin(), tensors.end(),
            [&](const FileTensor& tensor) { return tensor.name == first || tensor.name.ends_with("." + first); });
        if (found == tensors.end())
            refuse(fmt::format("holds no tensor '{}', with or without a prefix; model_type {} has one", first,
                model.description.model_type));
        prefix_ = found->name.substr(0, found->name.size() - first.size());
    }

    void run() {
        std::vector<std::string> missing;
        for (const auto& [name, parameter] : parameters_of(model_))
            if (const std::string stored = place(name, parameter); !stored.empty()) missing.push_back(stored);
        std::vector<std::string> left;
        for (const auto& [name, tensor] : by_name_)
            if (!used_.contains(name) && !is_buffer(name) && !repeats_table(*tensor)) left.push_back(name);
        if (missing.empty() && left.empty()) return;
        refuse((missing.empty() ? "" : "lacks " + listed(missing)) + (missing.empty() || left.empty() ? "" : ", and ") +
               (left.empty() ? "" : "holds " + listed(left) + ", for which this model has no place") + hint());
    }

private:
    [[noreturn]] void refuse(const std::string& what) const {
        throw Error(fmt::format("checkpoint: '{}' {}", whose_, what));
    }
    std::string hint() const {
        return quantized_ ? "; config.json has a quantization_config, and quantized weights are not read: save them as "
                            "bfloat16"
                          : "; do config.json and the weights belong together?";
    }
    static std::string listed(const std::vector<std::string>& names) {
        std::string text = fmt::format("'{}'", names[0]);
        for (std::size_t i = 1; i < std::min<std::size_t>(names.size(), 3); ++i)
            text += fmt::format(", '{}'", names[i]);
        return names.size() > 3 ? text + fmt::format(" and {} more", names.size() - 3) : text;
    }

    const TensorName* row_of(std::string_view ours) const {
        for (const TensorName& name : names_.names)
            if (name.ours == ours) return &name;
        return nullptr;
    }

    /// The tensor of a name without prefix; nullptr where there is none.
    const FileTensor* find(const std::string& theirs) const {
        const auto named = [&](const std::string& name) {
            const auto found = by_name_.find(name);
            return found == by_name_.end() ? nullptr : found->second;
        };
        if (theirs[0] != '/') return named(prefix_ + theirs);
        for (std::string beside = prefix_;;) { // beside the model, or beside what holds it
            if (const auto* tensor = named(beside + theirs.substr(1))) return tensor;
            if (beside.empty()) return nullptr;
            const std::size_t dot = beside.size() < 2 ? std::string::npos : beside.rfind('.', beside.size() - 2);
            beside.resize(dot == std::string::npos ? 0 : dot + 1);
        }
    }

    /// A head that is stored although it is the table of the embedding.
    bool repeats_table(const FileTensor& tensor) const {
        const TensorName* const head = row_of("w_head");
        if (!model_.description.tied || head == nullptr || find(std::string(head->theirs) + ".weight") != &tensor)
            return false;
        const FileTensor& table = *find(std::string(row_of("embedding")->theirs) + ".weight");
        if (!(tensor.type == table.type && tensor.shape == table.shape &&
                std::memcmp(tensor.data, table.data, table.bytes()) == 0))
            refuse(fmt::format(
                "holds '{}', which differs from '{}'; config.json says that they are tied", tensor.name, table.name));
        return true;
    }

    std::string place(const std::string& name, const Parameter& parameter);
    std::string place(const TensorName& row, std::string theirs, const std::string& ours, std::size_t layer,
        const Parameter& parameter);
    std::vector<Stretch> columns(const TensorName& row, std::string_view ours, std::size_t layer, std::size_t out,
        std::size_t& stored_out) const;

    const Model& model_;
    const TensorNames& names_;
    std::string whose_, prefix_;
    bool quantized_;
    std::map<std::string, const FileTensor*> by_name_;
    std::set<std::string> used_;
};

/// Returns the name of the tensor that is missing, or nothing.
std::string Filler::place(const std::string& name, const Parameter& parameter) {
    std::string ours = name, layer;
    if (ours.starts_with("layers.")) {
        const std::size_t end = ours.find('.', 7);
        layer = ours.substr(7, end - 7);
        ours = ours.substr(end + 1);
    }
    // A bias is named with its matrix, gain and bias of a norm with the norm.
    bool is_bias = false;
    const std::size_t last = ours.rfind('.') + 1; // 0 without a dot
    const std::string own = ours.substr(last);
    if (own == "gamma" || own == "beta") {
        is_bias = own == "beta";
        ours.resize(last - 1);
    } else if (own[0] == 'b') {
        is_bias = true;
        ours = ours.substr(0, last) + "w" + own.substr(1);
    }
    std::string missing;
    for (const TensorName& row : names_.names) {
        if (row.ours != ours) continue;
        std::string theirs(row.theirs);
        theirs += is_bias ? row.bias : row.weight;
        if (const std::size_t star = theirs.find('*'); star != std::string::npos) theirs.replace(star, 1, layer);
        std::size_t index = 0;
        std::from_chars(layer.data(), layer.data() + layer.size(), index);
        const std::string absent = place(row, theirs, ours, index, parameter);
        if (absent.empty()) return {};
        if (missing.empty()) missing = absent;
    }
    if (missing.empty())
        refuse(fmt::format("is of model_type {}, of whose checkpoints it is not known where '{}' is",
            model_.description.model_type, name));
    return missing;
}

std::string Filler::place(
    const TensorName& row, std::string theirs, const std::string& ours, std::size_t layer, const Parameter& parameter) {
    Shape shape = parameter.shape();
    const std::size_t mark = theirs.find('#'), count = mark == std::string::npos ? 1 : shape[0];
    if (mark != std::string::npos) shape = Shape(shape.begin() + 1, shape.end());
    const bool matrix = shape.rank() == 2 && parameter.name()[0] == 'w';
    std::vector<ParameterPiece> pieces;
    for (std::size_t k = 0; k < count; ++k) {
        std::string name = theirs;
        if (mark != std::string::npos) name.replace(mark, 1, std::to_string(k));
        const FileTensor* const stored = find(name);
        if (stored == nullptr) return (name[0] == '/' ? "" : prefix_) + name.substr(name[0] == '/');
        ParameterPiece piece{*stored, {}};
        const std::size_t out = shape.last();
        piece.in = shape.size() / std::max<std::size_t>(out, 1);
        piece.columns = columns(row, ours, layer, out, piece.stored_out);
        piece.transposed = matrix && !row.as_stored;
        Shape wanted = shape;
        if (shape.rank() > 0) wanted = shape.with(shape.rank() - 1, piece.stored_out);
        if (piece.transposed) wanted = {piece.stored_out, piece.in};
        if (!(stored->shape == wanted))
            refuse(fmt::format("holds '{}' of shape {}, and its config.json asks for {}", stored->name,
                to_string(stored->shape), to_string(wanted)));
        if (stored->real == FileTensor::Real::other)
            refuse(fmt::format("holds '{}' as {}; F64, F32, F16 and BF16 are read{}", stored->name, stored->type,
                quantized_ ? hint() : ""));
        used_.insert(stored->name);
        pieces.push_back(std::move(piece));
    }
    const Shape its = parameter.shape();
    parameter.read_from(
        [pieces, its, stacked = mark != std::string::npos](std::size_t first, std::size_t count_read, double* to) {
            if (stacked) {
                for (std::size_t k = first; k < first + count_read; ++k, to += pieces[k].in * its.last())
                    pieces[k].read(0, pieces[k].in, to);
            } else if (its.rank() < 2) {
                std::vector<double> row(its.size());
                pieces[0].read(0, 1, row.data());
                std::copy_n(row.data() + first, count_read, to);
            } else {
                const std::size_t rows = pieces[0].in / its[0];
                pieces[0].read(first * rows, count_read * rows, to);
            }
        });
    return {};
}

/// Which columns of the stored matrix are those of queries, keys or values; and how many it has.
std::vector<Stretch> Filler::columns(
    const TensorName& row, std::string_view ours, std::size_t layer, std::size_t out, std::size_t& stored_out) const {
    if (row.part == Part::whole) {
        stored_out = out;
        return {{0, out}};
    }
    const auto& attention = std::get<GroupedAttention>(model_.parts[0].stack.blocks.at(layer).attention).options;
    const std::size_t groups = row.part == Part::grouped ? attention.kv_heads : 1, keys = attention.kv_heads / groups;
    const std::size_t q = attention.heads / groups * attention.head_dim, k = keys * attention.head_dim,
                      v = keys * attention.value_dim;
    const Stretch range = ours.ends_with("wq")   ? Stretch{0, q}
                          : ours.ends_with("wk") ? Stretch{q, k}
                                                 : Stretch{q + k, v};
    stored_out = groups * (q + k + v);
    std::vector<Stretch> ranges;
    for (std::size_t g = 0; g < groups; ++g) ranges.push_back({g * (q + k + v) + range.first, range.count});
    return ranges;
}

} // namespace

void fill(const Model& model, const std::vector<FileTensor>& tensors, const std::string& whose, bool quantized) {
    Filler(model, tensors, whose, quantized).run();
}

} // namespace chalkgrad::nn
