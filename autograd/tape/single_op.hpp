// One op called by itself, in any scalar, on memory of its own.
#pragma once // internal

#include <algorithm>
#include <vector>

#include <chalkgrad/autograd/tape/tape_state.hpp>

namespace chalkgrad::detail {

/// What a line of a tape reads whose lines are all of scalar T.
template <class T> std::vector<In<T>> inputs_of(const TapeState& tape, const Record& record) {
    std::vector<In<T>> ins(record.input_count);
    for (std::size_t k = 0; k < ins.size(); ++k)
        if (const Index in = tape.inputs(record)[k]; in != absent)
            ins[k] = {static_cast<const T*>(tape[in].value), tape[in].shape};
    return ins;
}

/// The op in T, at the numbers of `in`.
template <class T> class SingleOp {
public:
    template <class U>
    SingleOp(const Op& op, Ins<U> in, const Shape& shape)
        : op_(op), shape_(shape), values_(in.size()), ins_(in.size()), y_(shape.size()) {
        std::vector<const Shape*> shapes(in.size());
        for (std::size_t k = 0; k < in.size(); ++k) {
            shapes[k] = in[k].shape;
            if (!in[k]) continue;
            values_[k].assign(in[k].data, in[k].data + in[k].size());
            ins_[k] = {values_[k].data(), shapes[k]};
        }
        saved_.resize(op.saved({shapes.data(), shapes.size()}));
    }
    /// The op of a line of a double tape, at the values it was recorded with.
    SingleOp(const TapeState& tape, const Record& record) : SingleOp(tape, record, inputs_of<double>(tape, record)) {}

    /// The output, written over numbers that are all `before`.
    const std::vector<T>& forward(T before = T(0)) {
        y_.assign(y_.size(), before);
        op_.forward({ins_.data(), ins_.size()}, {y_.data(), &shape_}, saved_.data());
        return y_;
    }
    /// The gradients of the operands `wanted` for the cotangent gy in one call, one behind the other, written over numbers that are
    /// all `before`; run forward() first.
    std::vector<T> vjp(const std::vector<std::size_t>& wanted, const std::vector<T>& gy, T before = T(0)) {
        std::vector<std::vector<T>> room(values_.size());
        std::vector<Out<T>> outs(values_.size());
        for (std::size_t k = 0; k < outs.size(); ++k) {
            const bool is_wanted = std::find(wanted.begin(), wanted.end(), k) != wanted.end();
            if (!ins_[k] || (!is_wanted && op_.skips_unwanted())) continue;
            room[k].assign(values_[k].size(), before);
            outs[k] = {room[k].data(), ins_[k].shape, is_wanted};
        }
        op_.vjp({ins_.data(), ins_.size()}, {y_.data(), &shape_}, {gy.data(), &shape_}, saved_.data(),
            {outs.data(), outs.size()});
        std::vector<T> all;
        for (const std::size_t k : wanted) all.insert(all.end(), room[k].begin(), room[k].end());
        return all;
    }
    /// Gives operand k the numbers of operand j, as a copy or as the same array: f(x, x).
    void repeat(std::size_t j, std::size_t k, bool same_array) {
        values_[k] = values_[j];
        ins_[k].data = values_[same_array ? j : k].data();
    }

private:
    SingleOp(const TapeState&, const Record& record, const std::vector<In<double>>& ins)
        : SingleOp(*record.op, Ins<double>{ins.data(), ins.size()}, *record.shape) {}

    const Op& op_;
    const Shape& shape_;
    std::vector<std::vector<T>> values_;
    std::vector<In<T>> ins_;
    std::vector<T> y_, saved_;
};

} // namespace chalkgrad::detail
