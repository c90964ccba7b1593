// Running one line's op, forward or backward: what the rule reads and writes, in the scalar it computes in.
#include <algorithm>
#include <limits>
#include <list>

#include <chalkgrad/autograd/tape/single_op.hpp>
#include <chalkgrad/autograd/tape/small_vector.hpp>
#include <chalkgrad/autograd/tape/tape_state.hpp>
#include <chalkgrad/autograd/tape/wider.hpp>

namespace chalkgrad::detail {
namespace {

bool storage_only(Dtype dtype) { return work_dtype(dtype) != dtype; }

/// What the rule of a line reads, in its working type: rules never see half or bfloat16.
template <class T> class Reading {
public:
    Reading(const TapeState& tape, const Record& record) : ins_(record.input_count), count_(record.input_count) {
        const Index* inputs = tape.inputs(record);
        for (std::size_t k = 0; k < count_; ++k)
            if (inputs[k] != absent) ins_[k] = widen_or_view(tape[inputs[k]]);
    }
    In<T> widen_or_view(const Record& record) {
        if constexpr (std::is_same_v<T, float>)
            if (storage_only(record.dtype)) {
                float* copy = widened_.emplace_back(record.shape->size()).data();
                convert_numbers(record.dtype, record.value, Dtype::f32, copy, record.shape->size());
                return {copy, record.shape};
            }
        return {static_cast<const T*>(record.value), record.shape};
    }
    operator Ins<T>() const { return {ins_.data(), count_}; }

private:
    SmallVector<In<T>> ins_;
    std::size_t count_;
    std::list<Scratch<float>> widened_;
};

/// Where an op's backward puts the gradients of its inputs: in place where an input has none yet, else in a buffer of its own
/// that is added afterwards, or thrown away where nobody wants it.
template <class T> class GradientRoom {
public:
    GradientRoom(TapeState& tape, std::size_t inputs) : tape_(tape), outs_(inputs), asides_(inputs), count_(inputs) {}
    GradientRoom(const GradientRoom&) = delete;
    GradientRoom& operator=(const GradientRoom&) = delete;
    ~GradientRoom() {
        for (std::size_t k = 0; k < count_; ++k)
            if (asides_[k].from_pool) tape_.pool->give(outs_[k].data, outs_[k].size() * sizeof(T));
    }
    /// Takes what `record` needs; false if nobody wants any of its gradients.
    bool take(const Record& record, Record::Flag wanted) {
        const Index* inputs = tape_.inputs(record);
        const auto is_wanted = [&](Index input) { return input != absent && tape_[input].has(wanted); };
        if (std::none_of(inputs, inputs + count_, is_wanted)) return false;
        for (std::size_t k = 0; k < count_; ++k) {
            if (inputs[k] == absent) continue;
            Record& input = tape_[inputs[k]];
            if (!input.has(wanted)) {
                if (!record.op->skips_unwanted()) outs_[k] = {aside(k, input), input.shape, false};
            } else if (input.grad == nullptr) {
                tape_.allocate_grad(input);
                outs_[k] = {static_cast<T*>(input.grad), input.shape};
            } else {
                outs_[k] = {aside(k, input), input.shape};
                asides_[k].add_to = &input;
            }
        }
        return true;
    }
    operator Outs<T>() const { return {outs_.data(), count_}; }
    void add_up() {
        for (std::size_t k = 0; k < count_; ++k)
            if (asides_[k].add_to != nullptr)
                add_numbers(dtype_of<T>, asides_[k].add_to->grad, outs_[k].data, outs_[k].size());
    }

private:
    struct Aside {
        Record* add_to = nullptr;
        bool from_pool = false;
        alignas(16) std::byte inside[Record::inside_bytes];
        Aside() {} // leaves the bytes as they are
    };
    T* aside(std::size_t k, const Record& input) {
        const std::size_t bytes = input.shape->size() * sizeof(T);
        if (bytes <= Record::inside_bytes) return reinterpret_cast<T*>(asides_[k].inside);
        T* const buffer = static_cast<T*>(tape_.pool->take(bytes));
        asides_[k].from_pool = true;
        return buffer;
    }

    TapeState& tape_;
    SmallVector<Out<T>> outs_;
    SmallVector<Aside> asides_;
    std::size_t count_;
};

/// Whether all are numbers: −inf is one that masks have.
template <class T> bool are_numbers(Ins<T> in) {
    return std::all_of(in.items, in.items + in.size(), [](In<T> x) {
        return !x || std::all_of(x.data, x.data + x.size(), [](T v) { return v <= std::numeric_limits<T>::max(); });
    });
}

template <class T> void narrow(auto* from, Out<T> to) {
    std::transform(from, from + to.size(), to.data, [](auto number) { return static_cast<T>(number); });
}

template <class W, class T> void run_forward_in(const Op& op, Ins<T> in, Out<T> y) {
    if (are_numbers(in)) narrow(SingleOp<W>(op, in, *y.shape).forward().data(), y);
}

template <class W, class T> void run_vjp_in(const Op& op, Ins<T> in, const Shape& y, In<T> gy, Outs<T> gx) {
    if (!are_numbers(in) || !are_numbers<T>({&gy, 1})) return;
    SingleOp<W> wide(op, in, y);
    wide.forward();
    std::vector<std::size_t> wanted;
    for (std::size_t k = 0; k < gx.size(); ++k)
        if (gx[k]) wanted.push_back(k);
    const std::vector<W> gradients = wide.vjp(wanted, {gy.data, gy.data + gy.size()});
    const W* from = gradients.data();
    for (const std::size_t k : wanted) {
        narrow(from, gx[k]);
        from += gx[k].size();
    }
}

} // namespace

void forward_in_wider(const Op& op, Ins<float> in, Out<float> y) { run_forward_in<double>(op, in, y); }
void forward_in_wider(const Op& op, Ins<double> in, Out<double> y) { run_forward_in<long double>(op, in, y); }
void vjp_in_wider(const Op& op, Ins<float> in, const Shape& y, In<float> gy, Outs<float> gx) {
    run_vjp_in<double>(op, in, y, gy, gx);
}
void vjp_in_wider(const Op& op, Ins<double> in, const Shape& y, In<double> gy, Outs<double> gx) {
    run_vjp_in<long double>(op, in, y, gy, gx);
}

void add_numbers(Dtype dtype, void* sum, const void* term, std::size_t n) {
    with_work_scalar(dtype, [=](auto scalar) {
        auto* const s = static_cast<decltype(scalar)*>(sum);
        auto* const t = static_cast<const decltype(scalar)*>(term);
        for (std::size_t i = 0; i < n; ++i) s[i] = s[i] + t[i];
    });
}

void TapeState::run_forward(Index i) {
    Record& record = (*this)[i];
    if (record.op->changes_dtype()) {
        const Record& input = (*this)[inputs(record)[0]];
        return convert_numbers(input.dtype, input.value, record.dtype, record.value, record.shape->size());
    }
    with_work_scalar(record.dtype, [&](auto scalar) {
        using T = decltype(scalar);
        const Reading<T> reading(*this, record);
        T* saved = static_cast<T*>(record.saved);
        if (storage_only(record.dtype)) {
            Scratch<T> wide(record.shape->size());
            record.op->forward(reading, Out<T>{wide.data(), record.shape}, saved);
            convert_numbers(dtype_of<T>, wide.data(), record.dtype, record.value, record.shape->size());
        } else {
            record.op->forward(reading, Out<T>{static_cast<T*>(record.value), record.shape}, saved);
        }
    });
}

void TapeState::run_vjp(Index i, Record::Flag wanted) {
    Record& record = (*this)[i];
    if (record.op->changes_dtype()) {
        Record& input = (*this)[inputs(record)[0]];
        if (!input.has(wanted)) return;
        const Dtype from = work_dtype(record.dtype), to = work_dtype(input.dtype);
        const std::size_t n = record.shape->size();
        if (input.grad == nullptr) {
            allocate_grad(input);
            convert_numbers(from, record.grad, to, input.grad, n);
        } else {
            Scratch<std::byte> term(n * bytes(to));
            convert_numbers(from, record.grad, to, term.data(), n);
            add_numbers(to, input.grad, term.data(), n);
        }
        return;
    }
    with_work_scalar(record.dtype, [&](auto scalar) {
        using T = decltype(scalar);
        GradientRoom<T> gradients(*this, record.input_count);
        if (!gradients.take(record, wanted)) return; // the sweep ends here: rules are not asked for nothing
        Reading<T> reading(*this, record);
        const In<T> y = reading.widen_or_view(record), gy{static_cast<const T*>(record.grad), record.shape};
        record.op->vjp(reading, y, gy, static_cast<const T*>(record.saved), gradients);
        gradients.add_up();
    });
}

} // namespace chalkgrad::detail
