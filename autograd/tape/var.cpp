// Var: checks on handles, and the arrays it hands out.
#include <chalkgrad/autograd/tape/var.hpp>

#include <cstring>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/tape/sweep.hpp>
#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {
namespace {

using detail::Index;
using detail::Record;
using detail::TapeState;

/// The cached array of a line, filled anew when its version is old.
template <class T>
const Array<T>& cached_array(
    TapeState& tape, detail::ArrayCache& cache, Index i, std::uint64_t version, const void* numbers) {
    Record& record = tape[i];
    auto [place, fresh] = cache.try_emplace(i);
    detail::CachedArray& entry = place->second;
    if (fresh || entry.version != version) {
        if (fresh) {
            entry.array = std::make_shared<Array<T>>(array_of<T>(*record.shape));
            record.flags |= Record::cached;
        }
        auto& array = *static_cast<Array<T>*>(entry.array.get());
        if (array.size() != 0) std::memcpy(static_cast<void*>(array.data()), numbers, array.size() * sizeof(T));
        entry.version = version;
    }
    return *static_cast<const Array<T>*>(entry.array.get());
}

template <class T> void require_values(const Var<T>& x, Index i, const char* what) {
    if (x.state()->shapes_only)
        throw Error(std::string(what) + ": " + x.state()->label(i) + " has a shape " + to_string(x.shape()) +
                    " but no numbers: its tape is shape-only; record on Tape() instead");
}

/// Whether numbers of one of these lines reach line y at all, past ops that let no gradient through.
bool reaches(const TapeState& tape, const std::vector<Index>& from, Index y) {
    std::vector<char> reached(y + 1, 0);
    for (const Index x : from)
        if (x <= y) reached[x] = 1;
    for (Index i = 0; i <= y; ++i)
        for (std::size_t k = 0; tape[i].op != nullptr && k < tape[i].input_count; ++k)
            if (const Index in = tape.inputs(tape[i])[k]; in != detail::absent) reached[i] |= reached[in];
    return reached[y] != 0;
}

/// Why no gradient leaves line i.
std::string why_none(const TapeState& tape, Index i) {
    return reaches(tape, tape.variables, i)
               ? " depends on variables through stop_gradient() only, which lets no gradient through"
               : " depends on no variable; make the leaf with tape.variable()";
}

/// Where a sweep starts, and with which numbers.
struct SweepStart {
    Index line;
    const void* cotangent;
};

/// Checks y and the cotangent of a sweep; without one it starts from 1.
template <class T> SweepStart sweep_start(const Var<T>& y, const char* what, const Array<work_t<T>>* cotangent) {
    const Index i = y.checked(what);
    require_values(y, i, what);
    if (cotangent == nullptr) {
        if (y.size() != 1)
            throw Error(std::string(what) + ": " + y.state()->label(i) + " has shape " + to_string(y.shape()) +
                        ", not one element; reduce it with sum() or mean(), or give a cotangent of that shape");
        static const work_t<T> one(1);
        return {i, &one};
    }
    const Shape given(cotangent->shape());
    if (given != y.shape())
        throw Error(std::string(what) + ": the cotangent has shape " + to_string(given) + ", " + y.state()->label(i) +
                    " has " + to_string(y.shape()) + "; they must be equal");
    return {i, cotangent->data()};
}

/// Refuses what would pull a gradient from under a sweep: a rule may call anything.
void require_no_sweep(const TapeState& tape, const char* what) {
    if (tape.sweeping) throw Error(std::string(what) + ": a sweep of this tape is running; call it after");
}

} // namespace

template <class T> Index Var<T>::checked(const char* what) const {
    if (state_.get() == nullptr)
        throw Error(
            std::string(what) + ": this Var was never set; make it with tape.variable(), tape.constant() or an op");
    if (!state_->alive(index_, epoch_))
        throw Error(std::string(what) + ": this Var stands for line " + std::to_string(index_) +
                    ", which the tape has dropped in a rewind; keep its value() as an array instead");
    return index_;
}

template <class T> const Shape& Var<T>::shape() const { return *(*state_)[checked("shape")].shape; }

template <class T> const T* Var<T>::data() const {
    const Index i = checked("data");
    require_values(*this, i, "data");
    return static_cast<const T*>((*state_)[i].value);
}

template <class T> const Array<T>& Var<T>::value() const {
    const Index i = checked("value");
    require_values(*this, i, "value");
    return cached_array<T>(*state_, state_->value_cache, i, 0, (*state_)[i].value);
}

template <class T> T Var<T>::item() const {
    if (size() != 1)
        throw Error(
            "item: " + state_->label(index_) + " has shape " + to_string(shape()) + ", not one element; use value()");
    return *data();
}

template <class T> const Array<work_t<T>>& Var<T>::grad() const {
    const Index i = checked("grad");
    const Record& record = (*state_)[i];
    if (record.grad == nullptr) {
        std::string message = "grad: not computed for " + state_->label(i);
        if (!record.has(Record::needs_grad)) message += ": it" + why_none(*state_, i);
        else if (!record.has(Record::variable) && !record.has(Record::keeps_grad))
            message += ": intermediates do not keep theirs; call keep_grad() before backward()";
        else message += ": call backward() on something that depends on it";
        throw Error(message);
    }
    return cached_array<work_t<T>>(*state_, state_->grad_cache, i, state_->grad_version, record.grad);
}

template <class T> bool Var<T>::has_grad() const { return (*state_)[checked("has_grad")].grad != nullptr; }

template <class T> const Var<T>& Var<T>::keep_grad() const {
    const Index i = checked("keep_grad");
    require_no_sweep(*state_, "keep_grad");
    Record& record = (*state_)[i];
    if (!record.has(Record::needs_grad))
        throw Error("keep_grad: " + state_->label(i) + " depends on no variable, so it has no gradient");
    if (!record.has(Record::variable) && !record.has(Record::keeps_grad)) {
        record.flags |= Record::keeps_grad;
        auto& kept = state_->kept;
        kept.insert(std::upper_bound(kept.begin(), kept.end(), i), i); // in order: rewind drops from the end
    }
    return *this;
}

template <class T> void Var<T>::zero_grad() const {
    Record& record = (*state_)[checked("zero_grad")];
    require_no_sweep(*state_, "zero_grad");
    if (record.grad != nullptr) state_->free_grad(record);
    ++state_->grad_version;
}

template <class T> bool Var<T>::needs_grad() const { return (*state_)[checked("needs_grad")].has(Record::needs_grad); }

template <class T> std::string Var<T>::name() const {
    const Index i = checked("name");
    return (*state_)[i].has(Record::named) ? state_->names.at(i) : std::string();
}

template <class T> const Var<T>& Var<T>::named(std::string_view name) const {
    const Index i = checked("named");
    state_->names.insert_or_assign(i, std::string(name));
    (*state_)[i].flags |= Record::named;
    return *this;
}

template <class T> std::size_t Var<T>::line() const { return checked("line"); }

template <class T> Tape Var<T>::tape() const {
    checked("tape");
    return Tape(state_);
}

namespace {

template <class T> void sweep_from(const Var<T>& y, const Array<work_t<T>>* cotangent) {
    const auto [line, numbers] = sweep_start(y, "backward", cotangent);
    if (!y.needs_grad()) throw Error("backward: " + y.state()->label(line) + why_none(*y.state(), line));
    detail::sweep_backward(*y.state(), line, numbers);
}

template <class T>
std::vector<Array<work_t<T>>> gradients(
    const Var<T>& y, const std::vector<Var<T>>& xs, const Array<work_t<T>>* cotangent) {
    using W = work_t<T>;
    std::vector<Array<W>> result(xs.size());
    std::vector<char> found(xs.size(), 0);
    const auto [i, numbers] = sweep_start(y, "grad", cotangent);
    TapeState& tape = *y.state();
    std::vector<Index> lines;
    for (const Var<T>& x : xs) {
        const Index line = x.checked("grad");
        if (x.state() != &tape)
            throw Error("grad: " + x.state()->label(line) + " is on another tape than " + tape.label(i) +
                        "; record both on one");
        lines.push_back(line);
    }
    detail::sweep_towards(tape, i, numbers, lines, [&](std::size_t k) {
        const Record& record = tape[lines[k]];
        result[k] = array_of<W>(*record.shape);
        if (result[k].size() != 0)
            std::memcpy(static_cast<void*>(result[k].data()), record.grad, result[k].size() * sizeof(W));
        found[k] = 1;
    });
    for (std::size_t k = 0; k < xs.size(); ++k)
        if (!found[k])
            throw Error("grad: " + tape.label(i) +
                        (reaches(tape, {lines[k]}, i)
                                ? " depends on " + tape.label(lines[k]) +
                                      " through stop_gradient() only, which lets no gradient through"
                                : " does not depend on " + tape.label(lines[k]) + "; there is no gradient"));
    return result;
}

} // namespace

template <class T> void Var<T>::backward() const { sweep_from<T>(*this, nullptr); }

template <class T> void Var<T>::backward(const Array<work_t<T>>& cotangent) const { sweep_from<T>(*this, &cotangent); }

template <class T> std::vector<Array<work_t<T>>> grad(const Var<T>& y, const std::vector<Var<T>>& xs) {
    return gradients<T>(y, xs, nullptr);
}

template <class T>
std::vector<Array<work_t<T>>> grad(const Var<T>& y, const std::vector<Var<T>>& xs, const Array<work_t<T>>& cotangent) {
    return gradients<T>(y, xs, &cotangent);
}

#define CHALKGRAD_INSTANTIATE(T)                                                            \
    template class Var<T>;                                                                  \
    template std::vector<Array<work_t<T>>> grad(const Var<T>&, const std::vector<Var<T>>&); \
    template std::vector<Array<work_t<T>>> grad(const Var<T>&, const std::vector<Var<T>>&, const Array<work_t<T>>&);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

} // namespace chalkgrad
