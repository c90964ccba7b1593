// One op of a double tape, called by itself at the values it was recorded with, on memory of its own.
#pragma once // internal

#include <algorithm>
#include <vector>

#include <chalkgrad/autograd/tape/tape_state.hpp>

namespace chalkgrad::detail {

class SingleOp {
public:
    SingleOp(const TapeState& tape, const Record& record)
        : record_(record),
          values_(record.input_count),
          shapes_(record.input_count, nullptr),
          ins_(record.input_count),
          y_(record.shape->size()) {
        for (std::size_t k = 0; k < record.input_count; ++k) {
            const Index in = tape.inputs(record)[k];
            if (in == absent) continue;
            const double* from = static_cast<const double*>(tape[in].value);
            shapes_[k] = tape[in].shape;
            values_[k].assign(from, from + shapes_[k]->size());
            ins_[k] = {values_[k].data(), shapes_[k]};
        }
        saved_.resize(record.op->saved({shapes_.data(), shapes_.size()}));
    }

    /// The output, written over numbers that are all `before`.
    const std::vector<double>& forward(double before = 0) {
        y_.assign(y_.size(), before);
        record_.op->forward({ins_.data(), ins_.size()}, {y_.data(), record_.shape}, saved_.data());
        return y_;
    }
    /// The gradients of the operands `wanted` for the cotangent gy in one call, one behind the other, written over numbers that are
    /// all `before`; run forward() first.
    std::vector<double> vjp(const std::vector<std::size_t>& wanted, const std::vector<double>& gy, double before = 0) {
        std::vector<std::vector<double>> room(values_.size());
        std::vector<Out<double>> outs(values_.size());
        for (std::size_t k = 0; k < outs.size(); ++k) {
            const bool is_wanted = std::find(wanted.begin(), wanted.end(), k) != wanted.end();
            if (!ins_[k] || (!is_wanted && record_.op->skips_unwanted())) continue;
            room[k].assign(values_[k].size(), before);
            outs[k] = {room[k].data(), shapes_[k], is_wanted};
        }
        record_.op->vjp({ins_.data(), ins_.size()}, {y_.data(), record_.shape}, {gy.data(), record_.shape},
            saved_.data(), {outs.data(), outs.size()});
        std::vector<double> all;
        for (const std::size_t k : wanted) all.insert(all.end(), room[k].begin(), room[k].end());
        return all;
    }
    /// Gives operand k the numbers of operand j, as a copy or as the same array: f(x, x).
    void repeat(std::size_t j, std::size_t k, bool same_array) {
        values_[k] = values_[j];
        ins_[k].data = values_[same_array ? j : k].data();
    }

private:
    const Record& record_;
    std::vector<std::vector<double>> values_;
    std::vector<const Shape*> shapes_;
    std::vector<In<double>> ins_;
    std::vector<double> y_, saved_;
};

} // namespace chalkgrad::detail
