// Named initialisations: what the first numbers of a parameter are drawn from, and DeepNorm's two constants.
#pragma once

#include <cstddef>

#include <chalkgrad/autograd/numpy/random.hpp>

namespace chalkgrad::nn {

/// A distribution for the first numbers of a parameter.
struct Init {
    enum class Kind { constant, normal, uniform };
    Kind kind = Kind::constant;
    double value = 0; ///< the constant, the standard deviation, or the limit of ±limit

    Array<double> draw(const Shape& shape, Generator& rng) const;
};

/// Every number the same.
Init constant(double value);
/// N(0, sd²).
Init normal(double sd);
/// N(0, 1/d), d the number of inputs that are summed: a row of variance 1 stays at variance 1 (course §4).
Init fan_in(std::size_t d);
/// Variance 2 gain²/(in + out), normal or uniform (Glorot and Bengio 2010). DeepNorm's β is a gain.
Init xavier_normal(std::size_t in, std::size_t out, double gain = 1);
Init xavier_uniform(std::size_t in, std::size_t out, double gain = 1);
/// N(0, 1/(2 layers d)) for the last matrix of each residual branch: 2·layers branches add up to variance 1 (GPT-2).
Init depth_scaled(std::size_t d, std::size_t layers);

/// DeepNorm (Wang et al. 2022): α weighs the residual, N(α h + F(h)); β is the Xavier gain of the value, output and FFN matrices.
struct DeepNorm {
    double alpha, beta;
};
/// A stack of one kind, encoder or decoder: α = (2N)^¼, β = (8N)^−¼.
DeepNorm deepnorm(std::size_t layers);
/// The two stacks of an encoder–decoder with N and M layers: 0.81 (N⁴M)^(1/16), 0.87 (N⁴M)^(−1/16), and (3M)^¼, (12M)^(−¼).
DeepNorm deepnorm_encoder(std::size_t encoder_layers, std::size_t decoder_layers);
DeepNorm deepnorm_decoder(std::size_t decoder_layers);

/// Henry et al. (2020): the first τ of normalised queries and keys, log₂(L² − L), L a long sequence's length. Needs L >= 2.
double henry_tau(double length);

} // namespace chalkgrad::nn
