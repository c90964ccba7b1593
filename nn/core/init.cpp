// Named initialisations.
#include <chalkgrad/nn/core/init.hpp>

#include <cmath>

#include <fmt/format.h>

namespace chalkgrad::nn {
namespace {

double count(const char* name, const char* what, std::size_t n) {
    if (n == 0) throw Error(fmt::format("{}: {} is 0; it must be at least 1", name, what));
    return static_cast<double>(n);
}

} // namespace

Array<double> Init::draw(const Shape& shape, Generator& rng) const {
    switch (kind) {
        case Kind::normal:
            return rng.normal(0, value, shape);
        case Kind::uniform:
            return rng.uniform(-value, value, shape);
        default:
            return Array<double>(std::vector<std::size_t>(shape.begin(), shape.end()), value);
    }
}

Init constant(double value) { return {Init::Kind::constant, value}; }
Init normal(double sd) { return {Init::Kind::normal, sd}; }
Init fan_in(std::size_t d) { return normal(1 / std::sqrt(count("fan_in", "d", d))); }
Init xavier_normal(std::size_t in, std::size_t out, double gain) {
    return normal(gain * std::sqrt(2 / count("xavier_normal", "in + out", in + out)));
}
Init xavier_uniform(std::size_t in, std::size_t out, double gain) {
    return {Init::Kind::uniform, gain * std::sqrt(6 / count("xavier_uniform", "in + out", in + out))};
}
Init depth_scaled(std::size_t d, std::size_t layers) {
    return normal(1 / std::sqrt(2 * count("depth_scaled", "layers", layers) * count("depth_scaled", "d", d)));
}

DeepNorm deepnorm(std::size_t layers) {
    const double n = count("deepnorm", "layers", layers);
    return {std::pow(2 * n, 0.25), std::pow(8 * n, -0.25)};
}
DeepNorm deepnorm_encoder(std::size_t encoder_layers, std::size_t decoder_layers) {
    const double n = count("deepnorm_encoder", "encoder_layers", encoder_layers);
    const double m = count("deepnorm_encoder", "decoder_layers", decoder_layers);
    const double root = std::pow(n * n * n * n * m, 1.0 / 16);
    return {0.81 * root, 0.87 / root};
}
DeepNorm deepnorm_decoder(std::size_t decoder_layers) {
    const double m = count("deepnorm_decoder", "decoder_layers", decoder_layers);
    return {std::pow(3 * m, 0.25), std::pow(12 * m, -0.25)};
}

double henry_tau(double length) {
    if (!(length >= 2 && std::isfinite(length)))
        throw Error(fmt::format("henry_tau: length is {}; it must be finite and at least 2", length));
    return std::log2(length * length - length);
}

} // namespace chalkgrad::nn
