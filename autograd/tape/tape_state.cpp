// Recording: lines, their buffers, and running one op's forward or backward on them.
#include <chalkgrad/autograd/tape/tape_state.hpp>

#include <algorithm>
#include <list>

#include <chalkgrad/autograd/kernel/convert.hpp>

namespace chalkgrad::detail {
namespace {

constexpr std::size_t inside_bytes = sizeof(Record::value_inside);

/// Values of a storage-only type as floats; the rules never see half or bfloat16.
void widen(Dtype dtype, const void* from, float* to, std::size_t n) {
    if (dtype == Dtype::f16) convert(n, static_cast<const half*>(from), to);
    else convert(n, static_cast<const bfloat16*>(from), to);
}

void narrow(Dtype dtype, const float* from, void* to, std::size_t n) {
    if (dtype == Dtype::f16) convert(n, from, static_cast<half*>(to));
    else convert(n, from, static_cast<bfloat16*>(to));
}

bool storage_only(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16; }

/// A few items on the stack, or any number on the heap.
template <class Item> class SmallVector {
public:
    explicit SmallVector(std::size_t count) {
        if (count > std::size(small_)) large_.resize(count);
        items_ = large_.empty() ? small_ : large_.data();
    }
    Item& operator[](std::size_t i) { return items_[i]; }
    const Item& operator[](std::size_t i) const { return items_[i]; }
    const Item* data() const { return items_; }

private:
    Item small_[4]{};
    std::vector<Item> large_;
    Item* items_;
};

/// What a rule reads, in its working type.
template <class T> class Reading {
public:
    explicit Reading(std::size_t count) : ins_(count), count_(count) {}
    In<T> widen_or_view(const Record& record) {
        if constexpr (std::is_same_v<T, float>)
            if (storage_only(record.dtype)) {
                float* copy = widened_.emplace_back(record.shape->size()).data();
                widen(record.dtype, record.value, copy, record.shape->size());
                return {copy, record.shape};
            }
        return {static_cast<const T*>(record.value), record.shape};
    }
    In<T>& operator[](std::size_t i) { return ins_[i]; }
    operator Ins<T>() const { return {ins_.data(), count_}; }

private:
    SmallVector<In<T>> ins_;
    std::size_t count_;
    std::list<Scratch<float>> widened_;
};

template <class T> Reading<T> read_inputs(const TapeState& tape, const Record& record) {
    Reading<T> reading(record.input_count);
    const Index* inputs = tape.inputs(record);
    for (std::size_t k = 0; k < record.input_count; ++k)
        if (inputs[k] != absent) reading[k] = reading.widen_or_view(tape[inputs[k]]);
    return reading;
}

template <class T> void add_into(void* sum, const void* term, std::size_t n) {
    T* s = static_cast<T*>(sum);
    const T* t = static_cast<const T*>(term);
    for (std::size_t i = 0; i < n; ++i) s[i] = s[i] + t[i];
}

template <class T> void forward_as(TapeState& tape, Record& record) {
    const Reading<T> reading = read_inputs<T>(tape, record);
    T* saved = static_cast<T*>(record.saved);
    if (storage_only(record.dtype)) {
        Scratch<T> wide(record.shape->size());
        record.op->forward(reading, Out<T>{wide.data(), record.shape}, saved);
        if constexpr (std::is_same_v<T, float>) narrow(record.dtype, wide.data(), record.value, record.shape->size());
    } else {
        record.op->forward(reading, Out<T>{static_cast<T*>(record.value), record.shape}, saved);
    }
}

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
            if (asides_[k].add_to != nullptr) add_into<T>(asides_[k].add_to->grad, outs_[k].data, outs_[k].size());
    }

private:
    struct Aside {
        Record* add_to = nullptr;
        bool from_pool = false;
        alignas(16) std::byte inside[inside_bytes];
        Aside() {} // leaves the bytes as they are
    };
    T* aside(std::size_t k, const Record& input) {
        const std::size_t bytes = input.shape->size() * sizeof(T);
        if (bytes <= inside_bytes) return reinterpret_cast<T*>(asides_[k].inside);
        T* const buffer = static_cast<T*>(tape_.pool->take(bytes));
        asides_[k].from_pool = true;
        return buffer;
    }

    TapeState& tape_;
    SmallVector<Out<T>> outs_;
    SmallVector<Aside> asides_;
    std::size_t count_;
};

template <class T> void vjp_as(TapeState& tape, const Record& record, Record::Flag wanted) {
    GradientRoom<T> gradients(tape, record.input_count);
    if (!gradients.take(record, wanted)) return; // the sweep ends here: rules are not asked for nothing
    Reading<T> reading = read_inputs<T>(tape, record);
    const In<T> y = reading.widen_or_view(record), gy{static_cast<const T*>(record.grad), record.shape};
    record.op->vjp(reading, y, gy, static_cast<const T*>(record.saved), gradients);
    gradients.add_up();
}

} // namespace

const Op* OpStore::copy(const Op& op) {
    constexpr std::size_t alignment = alignof(std::max_align_t);
    const std::size_t bytes = (op.bytes() + alignment - 1) / alignment * alignment;
    while (chunk_ < chunks_.size() && used_ + bytes > chunks_[chunk_].bytes) ++chunk_, used_ = 0;
    if (chunk_ == chunks_.size()) {
        const std::size_t size = std::max(bytes, chunk_bytes);
        chunks_.push_back({std::make_unique<std::byte[]>(size), size});
        used_ = 0;
    }
    const Op* copied = op.copy_to(chunks_[chunk_].data.get() + used_);
    if (!copied->trivially_destructible()) owned_.push_back(copied);
    used_ += bytes;
    return copied;
}

void OpStore::rewind(Mark mark) {
    while (owned_.size() > mark.owned) {
        owned_.back()->~Op();
        owned_.pop_back();
    }
    chunk_ = mark.chunk;
    used_ = mark.used;
}

TapeState::TapeState(bool shapes_only, std::shared_ptr<Pool> pool)
    : shapes_only(shapes_only), pool(pool ? std::move(pool) : std::make_shared<Pool>()) {}

TapeState::~TapeState() { rewind({}); }

const Shape* TapeState::intern(const Shape& shape) {
    if (last_shape_ != nullptr && *last_shape_ == shape) return last_shape_;
    return last_shape_ = &*shapes_.insert(shape).first;
}

void* TapeState::take(std::size_t bytes, void* inside) { return bytes <= inside_bytes ? inside : pool->take(bytes); }

void TapeState::give(void*& buffer, std::size_t bytes, void* inside) {
    if (buffer != nullptr && buffer != inside) pool->give(buffer, bytes);
    buffer = nullptr;
}

Record& TapeState::append(const Shape& shape, Dtype dtype) {
    constexpr std::size_t most_elements = std::size_t(1) << 44;
    if (size_ == absent) throw Error("tape: full at 2^32 − 1 lines; rewind or clear it");
    if (!shapes_only && shape.size() > most_elements)
        throw Error("tape: an array of shape " + to_string(shape) + " does not fit in memory; use a shape-only tape");
    if ((size_ >> block_bits) == blocks_.size())
        blocks_.push_back(std::make_unique_for_overwrite<Record[]>(block_size));
    Record& record = (*this)[size_];
    record.grad = record.saved = record.value = nullptr;
    record.op = nullptr;
    record.shape = intern(shape);
    record.scope = scope;
    record.epoch = epoch_;
    record.first_input = static_cast<Index>(inputs_.size());
    record.input_count = 0;
    record.dtype = dtype;
    record.flags = 0;
    if (!shapes_only) record.value = take(value_bytes(record), record.value_inside);
    ++size_;
    return record;
}

Index TapeState::add_leaf(const Shape& shape, Dtype dtype, bool variable, std::string_view name) {
    const Index i = size_;
    const Mark before = mark();
    try {
        Record& record = append(shape, dtype);
        if (variable) {
            record.flags = Record::variable | Record::needs_grad;
            variables.push_back(i);
        }
        if (!name.empty()) {
            names.insert_or_assign(i, std::string(name));
            record.flags |= Record::named;
        }
    } catch (...) {
        rewind(before);
        throw;
    }
    return i;
}

Index TapeState::add_op(const Op& op, bool outlives, Dtype dtype, const Index* inputs, std::size_t count) {
    SmallVector<const Shape*> shapes(count);
    bool needs_grad = false;
    for (std::size_t k = 0; k < count; ++k) {
        shapes[k] = nullptr;
        if (inputs[k] == absent) {
            if (k < op.required(count))
                throw Error(std::string(op.name()) + ": input '" + op.input_name(k) +
                            "' was never set; make it with tape.variable() or an op");
            continue;
        }
        const Record& input = (*this)[inputs[k]];
        shapes[k] = input.shape;
        needs_grad = needs_grad || input.has(Record::needs_grad);
    }
    const Shapes in{shapes.data(), count};
    if (count > 0xFFFF) throw Error(std::string(op.name()) + ": more than 65,535 inputs; combine them in steps");
    Shape shape;
    std::size_t saved = 0;
    try {
        shape = op.shape(in);
        saved = op.saved(in);
    } catch (const Error& error) {
        if (scope == 0) throw;
        throw Error(std::string(error.what()) + " [in " + scope_path(scope) + "]");
    }

    const Mark before = mark();
    const Index i = size_;
    try {
        Record& record = append(shape, dtype);
        inputs_.insert(inputs_.end(), inputs, inputs + count);
        record.input_count = static_cast<std::uint16_t>(count);
        record.op = outlives ? &op : ops_.copy(op);
        record.flags = needs_grad && !op.blocks_gradient() ? Record::needs_grad : 0;
        if (!shapes_only) {
            if (saved != 0) record.saved = pool->take(saved * bytes(work_dtype(dtype)));
            run_forward(i);
        }
    } catch (...) {
        rewind(before);
        throw;
    }
    return i;
}

void TapeState::run_forward(Index i) {
    Record& record = (*this)[i];
    if (const DtypeOp* conversion = record.op->conversion()) {
        const Record& input = (*this)[inputs(record)[0]];
        conversion->convert(input.dtype, input.value, record.dtype, record.value, record.shape->size());
        return;
    }
    with_work_scalar(record.dtype, [&](auto scalar) { forward_as<decltype(scalar)>(*this, record); });
}

void TapeState::run_vjp(Index i, Record::Flag wanted) {
    Record& record = (*this)[i];
    if (const DtypeOp* conversion = record.op->conversion()) {
        Record& input = (*this)[inputs(record)[0]];
        if (!input.has(wanted)) return;
        const Dtype from = work_dtype(record.dtype), to = work_dtype(input.dtype);
        const std::size_t n = record.shape->size();
        if (input.grad == nullptr) {
            allocate_grad(input);
            conversion->convert(from, record.grad, to, input.grad, n);
        } else {
            Scratch<std::byte> term(n * bytes(to));
            conversion->convert(from, record.grad, to, term.data(), n);
            with_work_scalar(to, [&](auto scalar) { add_into<decltype(scalar)>(input.grad, term.data(), n); });
        }
        return;
    }
    with_work_scalar(record.dtype, [&](auto scalar) { vjp_as<decltype(scalar)>(*this, record, wanted); });
}

void TapeState::allocate_grad(Record& record) { record.grad = take(grad_bytes(record), record.grad_inside); }

void TapeState::free_grad(Record& record) { give(record.grad, grad_bytes(record), record.grad_inside); }

std::size_t TapeState::saved_bytes(const Record& record) const {
    SmallVector<const Shape*> shapes(record.input_count);
    const Index* in = inputs(record);
    for (std::size_t k = 0; k < record.input_count; ++k) shapes[k] = in[k] == absent ? nullptr : (*this)[in[k]].shape;
    return record.op->saved({shapes.data(), record.input_count}) * bytes(work_dtype(record.dtype));
}

void TapeState::free_buffers(Index i) {
    Record& record = (*this)[i];
    if (record.grad != nullptr) free_grad(record);
    if (record.saved != nullptr) pool->give(record.saved, saved_bytes(record));
    give(record.value, value_bytes(record), record.value_inside);
    if (record.has(Record::named)) names.erase(i);
    if (record.has(Record::cached)) {
        value_cache.entries.erase(i);
        grad_cache.entries.erase(i);
    }
}

TapeState::Mark TapeState::mark() const {
    return {size_, static_cast<Index>(inputs_.size()), static_cast<Index>(scopes.size()), ops_.mark()};
}

void TapeState::rewind(const Mark& mark) {
    if (size_ != mark.records) ++epoch_;
    while (size_ > mark.records) {
        free_buffers(size_ - 1);
        --size_;
    }
    while (!variables.empty() && variables.back() >= size_) variables.pop_back();
    while (!kept.empty() && kept.back() >= size_) kept.pop_back();
    inputs_.resize(mark.input_count);
    ops_.rewind(mark.ops);
    if (scope < mark.scopes) scopes.resize(mark.scopes, scopes.front());
}

std::string TapeState::scope_path(Index s) const {
    std::string path;
    for (; s != 0; s = scopes[s].parent) path = scopes[s].name + (path.empty() ? "" : "/") + path;
    return path;
}

std::string TapeState::label(Index i) const {
    const Record& record = (*this)[i];
    std::string text = "line " + std::to_string(i) + " (" + (record.op != nullptr ? record.op->name() : "leaf");
    if (record.has(Record::named)) text += " '" + names.at(i) + "'";
    if (record.scope != 0) text += ", in " + scope_path(record.scope);
    return text + ")";
}

} // namespace chalkgrad::detail
