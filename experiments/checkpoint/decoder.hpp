// A checkpoint read token by token: keys and values are kept, so each token costs about the same.
#pragma once // internal

#include <string>
#include <vector>

#include <chalkgrad/nn/checkpoint/checkpoint.hpp>

namespace chalkgrad {

/// Why keys and values of this model cannot be kept; empty where they can.
std::string why_no_cache(const nn::Checkpoint& model);

/// The weights are rounded to T once, and stay on the tape.
template <class T> class Decoder {
public:
    /// Throws Error where why_no_cache() gives a reason.
    explicit Decoder(const nn::Checkpoint& model);
    /// Scores of the token after this one, good until the next call.
    Var<T> step(std::int64_t id);

private:
    struct Kept {
        std::size_t count = 0;
        std::vector<T> keys, values; ///< (heads, count, features)
    };
    Var<T> attend(const nn::GroupedAttention& attention, Kept& kept, const Var<T>& x);

    nn::Checkpoint model_;
    Tape tape_;
    nn::Binding<T> on_;
    Tape::Mark weights_;
    std::vector<Kept> kept_; ///< of each block
    std::size_t position_ = 0;
};

} // namespace chalkgrad
