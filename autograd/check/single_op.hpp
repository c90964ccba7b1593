// One op of a tape with its own copies of everything, to be run by itself at the values it was recorded with.
#pragma once // internal

#include <vector>

#include <chalkgrad/autograd/tape/tape_state.hpp>

namespace chalkgrad::detail {

/// In scalar T; the record is of a double tape and outlives this.
template <class T> class SingleOp {
public:
    SingleOp(const TapeState& tape, const Record& record) : record_(record), y_(record.shape->size()) {
        const Index* in = tape.inputs(record);
        shapes_.resize(record.input_count, nullptr);
        values_.resize(record.input_count);
        ins_.resize(record.input_count);
        for (std::size_t k = 0; k < record.input_count; ++k) {
            if (in[k] == absent) continue;
            const Record& input = tape[in[k]];
            const double* from = static_cast<const double*>(input.value);
            values_[k].assign(from, from + input.shape->size());
            shapes_[k] = input.shape;
            ins_[k] = {values_[k].data(), shapes_[k]};
        }
        saved_.resize(record.op->saved({shapes_.data(), shapes_.size()}));
    }
    std::vector<T>& input(std::size_t k) { return values_[k]; }
    double length_scale() const { return record_.op->length_scale({ins_.data(), ins_.size()}); } // T is double

    /// The output, written over numbers that are all `before`.
    const std::vector<T>& forward(T before = T(0)) {
        y_.assign(y_.size(), before);
        record_.op->forward({ins_.data(), ins_.size()}, {y_.data(), record_.shape}, saved_.data());
        return y_;
    }
    /// The gradient of operand k for the cotangent gy, written over numbers that are all `before`; run forward() first.
    std::vector<T> vjp(std::size_t k, const std::vector<T>& gy, T before = T(0)) {
        std::vector<T> gradient(values_[k].size(), before);
        std::vector<std::vector<T>> unwanted;
        std::vector<Out<T>> outs = room_for_unwanted(unwanted);
        outs[k] = {gradient.data(), shapes_[k]};
        record_.op->vjp({ins_.data(), ins_.size()}, {y_.data(), record_.shape}, {gy.data(), record_.shape},
            saved_.data(), {outs.data(), outs.size()});
        return gradient;
    }

    /// The gradients of all operands of `wanted` in one call, one behind the other.
    std::vector<T> vjp_all(const std::vector<std::size_t>& wanted, const std::vector<T>& gy) {
        std::vector<std::vector<T>> gradients(values_.size()), unwanted;
        std::vector<Out<T>> outs = room_for_unwanted(unwanted);
        for (const std::size_t k : wanted) {
            gradients[k].resize(values_[k].size());
            outs[k] = {gradients[k].data(), shapes_[k]};
        }
        record_.op->vjp({ins_.data(), ins_.size()}, {y_.data(), record_.shape}, {gy.data(), record_.shape},
            saved_.data(), {outs.data(), outs.size()});
        std::vector<T> all;
        for (const std::size_t k : wanted) all.insert(all.end(), gradients[k].begin(), gradients[k].end());
        return all;
    }
    /// Gives operand k the numbers of operand j, as a copy or as the same array: f(x, x).
    void repeat(std::size_t j, std::size_t k, bool same_array) {
        values_[k] = values_[j];
        ins_[k].data = values_[same_array ? j : k].data();
    }

private:
    /// As the tape does: room for gradients that nobody wants, unless the op looks for itself.
    std::vector<Out<T>> room_for_unwanted(std::vector<std::vector<T>>& room) const {
        std::vector<Out<T>> outs(values_.size());
        if (record_.op->skips_unwanted()) return outs;
        for (const std::vector<T>& input : values_) room.emplace_back(input.size());
        for (std::size_t k = 0; k < outs.size(); ++k)
            if (ins_[k]) outs[k] = {room[k].data(), shapes_[k], false};
        return outs;
    }
    const Record& record_;
    std::vector<std::vector<T>> values_;
    std::vector<const Shape*> shapes_;
    std::vector<In<T>> ins_;
    std::vector<T> y_, saved_;
};

} // namespace chalkgrad::detail
