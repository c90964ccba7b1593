// Recording: lines and their buffers. Ops are run on them in run_op.cpp.
#include <chalkgrad/autograd/tape/tape_state.hpp>

#include <algorithm>

#include <chalkgrad/autograd/tape/small_vector.hpp>

namespace chalkgrad {

std::string scope_path(const std::vector<ScopeInfo>& scopes, std::size_t scope) {
    std::string path;
    for (; scope != 0; scope = scopes[scope].parent) path = scopes[scope].name + (path.empty() ? "" : "/") + path;
    return path;
}

namespace detail {

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

void* TapeState::take(std::size_t bytes, void* inside) {
    return bytes <= Record::inside_bytes ? inside : pool->take(bytes);
}

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

Index TapeState::add_copy(
    const TapeState& source, Index i, bool outlives, Dtype dtype, const Index* inputs, bool as_variable) {
    const Record& record = source[i];
    const std::string name = record.has(Record::named) ? source.names.at(i) : "";
    if (record.op == nullptr || as_variable) {
        const Index at = add_leaf(*record.shape, dtype, as_variable || record.has(Record::variable), name);
        if (!shapes_only) convert_numbers(record.dtype, record.value, dtype, (*this)[at].value, record.shape->size());
        return at;
    }
    return add_op(*record.op, outlives, dtype, inputs, record.input_count);
}

void TapeState::allocate_grad(Record& record) { record.grad = take(grad_bytes(record), record.grad_inside); }

void TapeState::free_grad(Record& record) { give(record.grad, grad_bytes(record), record.grad_inside); }

std::size_t TapeState::saved_size(const Record& record) const {
    if (record.op == nullptr) return 0;
    SmallVector<const Shape*> shapes(record.input_count);
    const Index* in = inputs(record);
    for (std::size_t k = 0; k < record.input_count; ++k) shapes[k] = in[k] == absent ? nullptr : (*this)[in[k]].shape;
    return record.op->saved({shapes.data(), record.input_count});
}

void TapeState::free_buffers(Index i) {
    Record& record = (*this)[i];
    if (record.grad != nullptr) free_grad(record);
    if (record.saved != nullptr) pool->give(record.saved, saved_size(record) * bytes(work_dtype(record.dtype)));
    give(record.value, value_bytes(record), record.value_inside);
    if (record.has(Record::named)) names.erase(i);
    if (record.has(Record::cached)) {
        value_cache.erase(i);
        grad_cache.erase(i);
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

std::string TapeState::label(Index i) const {
    const Record& record = (*this)[i];
    std::string text = "line " + std::to_string(i) + " (" + (record.op != nullptr ? record.op->name() : "leaf");
    if (record.has(Record::named)) text += " '" + names.at(i) + "'";
    if (record.scope != 0) text += ", in " + scope_path(record.scope);
    return text + ")";
}

} // namespace detail
} // namespace chalkgrad
