// Tape, Scope and apply(): what recording looks like from outside.
#include <chalkgrad/autograd/tape/tape.hpp>

#include <cstring>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/autograd/tape/small_vector.hpp>

namespace chalkgrad {

const char* name(Role role) {
    constexpr const char* names[] = {"none", "add", "linear", "norm", "activation", "gate", "attention", "structure"};
    return names[static_cast<std::size_t>(role)];
}

Scope::Scope(detail::StateRef state, std::string_view name, Role role)
    : state_(std::move(state)), outer_(state_->scope) {
    state_->scopes.push_back({std::string(name), role, outer_});
    state_->scope = static_cast<detail::Index>(state_->scopes.size() - 1);
}

Scope::~Scope() {
    if (state_.get() != nullptr) state_->scope = outer_;
}

Tape::Tape(Mode mode, std::shared_ptr<Pool> pool)
    : state_(new detail::TapeState(mode == Mode::shapes_only, std::move(pool))) {}

template <class T>
Var<T> Tape::leaf(const Shape& shape, const T* values, bool wants_grad, std::string_view name) const {
    if (values == nullptr && shape.size() != 0 && !state_->shapes_only)
        throw Error("leaf: no numbers for shape " + to_string(shape) + "; only a shape-only tape does without");
    const detail::Index i = state_->add_leaf(shape, dtype_of<T>, wants_grad, name);
    detail::Record& record = (*state_)[i];
    if (!state_->shapes_only && shape.size() != 0)
        std::memcpy(record.value, static_cast<const void*>(values), shape.size() * sizeof(T));
    return Var<T>(state_, i, record.epoch);
}

template <class T> Var<T> Tape::number(number_t<T> value) const {
    const T converted = static_cast<T>(value);
    return leaf(Shape(), &converted, false);
}

Scope Tape::scope(std::string_view name, Role role) const { return Scope(state_, name, role); }

void Tape::rewind(const Mark& mark) const {
    if (state_->sweeping) throw Error("rewind: a sweep of this tape is running; rewind after it");
    if (mark.records > state_->size())
        throw Error("rewind: the mark lies beyond the end of the tape; it was taken before an earlier rewind");
    state_->rewind(mark);
}

Line Tape::line(std::size_t i) const {
    if (i >= size()) throw Error("line: " + std::to_string(i) + " of a tape of " + std::to_string(size()) + " lines");
    const detail::TapeState& tape = *state_;
    const auto index = static_cast<detail::Index>(i);
    const detail::Record& record = tape[index];
    Line line;
    line.kind = record.op != nullptr                   ? Line::Kind::op
                : record.has(detail::Record::variable) ? Line::Kind::variable
                                                       : Line::Kind::constant;
    line.op = record.op != nullptr ? record.op->name() : "leaf";
    if (record.has(detail::Record::named)) line.name = tape.names.at(index);
    line.shape = *record.shape;
    line.dtype = record.dtype;
    line.scope = record.scope;
    line.role = Role::none;
    line.needs_grad = record.has(detail::Record::needs_grad);
    if (record.op != nullptr) {
        const detail::Index* inputs = tape.inputs(record);
        for (std::size_t k = 0; k < record.input_count; ++k) {
            line.inputs.push_back(inputs[k] == detail::absent ? -1 : static_cast<std::ptrdiff_t>(inputs[k]));
            line.input_names.emplace_back(record.op->input_name(k));
        }
        line.role = record.op->role();
        record.op->attributes(line.attributes);
    }
    return line;
}

void Tape::zero_grad() const {
    if (state_->sweeping) throw Error("zero_grad: a sweep of this tape is running; call it after");
    for (const auto* lines : {&state_->variables, &state_->kept})
        for (const detail::Index i : *lines)
            if ((*state_)[i].grad != nullptr) state_->free_grad((*state_)[i]);
    ++state_->grad_version;
}

namespace detail {

template <class T> Var<T> record(const Op& op, bool outlives, const Var<T>* const* inputs, std::size_t count) {
    std::size_t first = 0;
    while (first < count && !*inputs[first]) ++first;
    if (first == count)
        throw Error(std::string(op.name()) + ": no input was given; make one with tape.variable() or tape.constant()");
    const StateRef& state = inputs[first]->state_ref();
    TapeState& tape = *state;

    SmallVector<Index, 8> lines(count);
    for (std::size_t k = 0; k < count; ++k) {
        lines[k] = absent;
        if (!*inputs[k]) continue;
        lines[k] = inputs[k]->checked(op.name());
        if (inputs[k]->state() != &tape)
            throw Error(std::string(op.name()) + ": inputs '" + op.input_name(first) + "', " +
                        tape.label(lines[first]) + " of shape " + to_string(inputs[first]->shape()) + ", and '" +
                        op.input_name(k) + "', " + inputs[k]->state()->label(lines[k]) + " of shape " +
                        to_string(inputs[k]->shape()) +
                        ", are on two tapes; record both on one, or take value() of one as a constant of the other");
    }
    const Index i = tape.add_op(op, outlives, dtype_of<T>, lines.data(), count);
    return Var<T>(state, i, tape[i].epoch);
}

} // namespace detail

#define CHALKGRAD_INSTANTIATE(T)                                                      \
    template Var<T> Tape::leaf(const Shape&, const T*, bool, std::string_view) const; \
    template Var<T> Tape::number<T>(number_t<T>) const;                               \
    template Var<T> detail::record(const Op&, bool, const Var<T>* const*, std::size_t);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

} // namespace chalkgrad
