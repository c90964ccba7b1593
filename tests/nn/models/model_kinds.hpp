// One small runnable model of each kind among the known ones, on a tape.
#pragma once

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>
#include <vector>

#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/nn/models/build.hpp>
#include <chalkgrad/nn/models/config.hpp>

#include "model_data.hpp"

namespace chalkgrad::testing {

inline Array<std::int64_t> ids_of(const nn::ModelDescription& m, std::size_t tokens) {
    Array<std::int64_t> ids(std::vector<std::size_t>{tokens});
    for (std::size_t i = 0; i < tokens; ++i)
        ids(i) = static_cast<std::int64_t>((3 * i + 1) % 5) % std::max<std::int64_t>(m.vocabulary, 1);
    return ids;
}

inline Var<double> image_for(const nn::Model& model, const Tape& tape, Generator& rng) {
    const Shape shape = model.image_shape();
    if (shape.rank() == 0) return {};
    if (tape.shapes_only()) return tape.leaf<double>(shape, nullptr, false, "image");
    return tape.constant(rng.standard_normal(shape), "image");
}

/// What tells kinds apart: a model_type may cover several.
inline std::string kind_of(const nn::ModelDescription& m) {
    return m.model_type + " " + name(m.placement) + " " + std::string(m.attention.qk_norm.axis) + " " +
           std::string(m.ffn.kind);
}

inline std::vector<nn::ModelDescription> reduced_kinds() {
    std::vector<nn::ModelDescription> kinds;
    std::set<std::string> done;
    for (const nlohmann::json& known : known_models()) {
        nn::ModelDescription m = nn::reduced(nn::read_model_config(known["config"].dump()));
        if (done.insert(kind_of(m)).second) kinds.push_back(std::move(m));
    }
    return kinds;
}

struct Running {
    nn::Model model;
    Tape tape;
    nn::Binding<double> on{tape};
    Var<double> y;

    explicit Running(const nn::ModelDescription& m, std::size_t tokens = 6) : model(m) {
        Generator rng(1);
        nn::initialize_for_check(model, rng);
        y = model(on, ids_of(m, tokens), image_for(model, tape, rng)).named("y");
    }
};

/// A parameter that the backward reaches. What DeepSeek-V4's indexer picks is a constant of the recorded program, so
/// its own parameters have no gradient.
inline bool is_reached(const nn::ModelDescription& m, const nn::Binding<double>::Bound& bound) {
    if (!bound.parameter.learned()) return false;
    BOOST_TEST((bound.line.has_grad() || m.model_type == "deepseek_v4"), bound.parameter.name());
    return bound.line.has_grad();
}

} // namespace chalkgrad::testing
