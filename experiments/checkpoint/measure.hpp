// What a checkpoint does to one text: the stream, the loss, gradients, attention, gains.
#pragma once // internal

#include <optional>
#include <string>
#include <vector>

#include <chalkgrad/nn/checkpoint/checkpoint.hpp>

namespace chalkgrad {

struct HeadMeasure {
    double entropy = 0;                  ///< nats, mean over the queries
    std::optional<double> mass_on_first; ///< mean weight of key 0 over queries 1, 2, …; nothing for one token
};

/// Of the stream, as embedded (layer 0) or after a block.
struct LayerMeasure {
    double rms = 0, largest_over_rms = 0; ///< over all tokens and features
    std::size_t channel_of_largest = 0;
    std::optional<double> gradient_norm;   ///< of the loss, by this stream
    std::optional<double> logit_lens_loss; ///< if final norm and head read it here
    std::vector<HeadMeasure> heads;        ///< none where attention has no single matrix of weights
};

struct Named {
    std::string name;                ///< as the file has it; where that packs several, as chalkgrad does
    std::optional<double> norm = {}; ///< of the gradient; nothing for one token
    double mean = 0, min = 0, max = 0;
    bool gain = false;
};

struct Measures {
    std::optional<double> loss; ///< nats a token; nothing for one token
    std::vector<LayerMeasure> layers;
    std::vector<Named> weights; ///< of gains also the numbers
    Array<double> logits;
};

/// Mean negative log-likelihood of each next id, nats; nothing for one id.
std::optional<double> loss_of(const Array<double>& scores, const Array<std::int64_t>& ids);

/// Forward and backward in T, one block at a time.
template <class T> Measures measure(const nn::Checkpoint& model, const Array<std::int64_t>& ids);

/// Singular values of a block's Jacobian at the stream of these ids, largest first.
std::vector<double> block_singular_values(
    const nn::Checkpoint& model, const Array<std::int64_t>& ids, std::size_t block);

} // namespace chalkgrad
