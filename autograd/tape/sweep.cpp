// The reverse sweep: a loop from the last line to the first, no recursion.
#include <chalkgrad/autograd/tape/sweep.hpp>

#include <cstring>

namespace chalkgrad::detail {
namespace {

/// Gradients taken out of the tape for the time of a sweep.
class Stash {
public:
    explicit Stash(TapeState& tape) : tape_(tape) {}
    Stash(const Stash&) = delete;
    Stash& operator=(const Stash&) = delete;
    ~Stash() { put_back(); }

    void take(Index i) {
        Record& record = tape_[i];
        if (record.grad == nullptr) return;
        Item& item = items_.emplace_back();
        item.line = i;
        if (record.grad == record.grad_inside) std::memcpy(item.inside, record.grad_inside, sizeof(item.inside));
        else item.buffer = record.grad;
        record.grad = nullptr;
    }

    /// Adds what was stashed to what the sweep has found.
    void add_back() {
        for (Item& item : items_) {
            Record& record = tape_[item.line];
            if (record.grad == nullptr) continue; // put_back does it
            const void* earlier = item.buffer != nullptr ? item.buffer : item.inside;
            with_work_scalar(record.dtype, [&](auto scalar) {
                using T = decltype(scalar);
                T* sum = static_cast<T*>(record.grad);
                const T* term = static_cast<const T*>(earlier);
                for (std::size_t k = 0; k < record.shape->size(); ++k) sum[k] = term[k] + sum[k];
            });
            if (item.buffer != nullptr) tape_.pool->give(item.buffer, tape_.grad_bytes(record));
            item.line = absent;
        }
        put_back();
    }

    /// Gives up what was stashed.
    void drop() {
        for (Item& item : items_)
            if (item.buffer != nullptr) tape_.pool->give(item.buffer, tape_.grad_bytes(tape_[item.line]));
        items_.clear();
    }

    void put_back() {
        for (Item& item : items_) {
            if (item.line == absent) continue;
            Record& record = tape_[item.line];
            if (record.grad != nullptr) tape_.free_grad(record);
            if (item.buffer != nullptr) {
                record.grad = item.buffer;
            } else {
                std::memcpy(record.grad_inside, item.inside, sizeof(item.inside));
                record.grad = record.grad_inside;
            }
        }
        items_.clear();
    }

private:
    struct Item {
        Index line;
        void* buffer = nullptr;
        alignas(16) std::byte inside[sizeof(Record::grad_inside)];
    };
    TapeState& tape_;
    std::vector<Item> items_;
};

/// Gives up a gradient, which may be the caller's cotangent, read where it is.
void release(TapeState& tape, Record& record, const void* cotangent) {
    if (record.grad == cotangent) record.grad = nullptr;
    else tape.free_grad(record);
}

/// Marks the tape as being swept, and cleans up what an exception leaves.
class Running {
public:
    Running(TapeState& tape, Index y, const void* cotangent) : tape_(tape), y_(y), cotangent_(cotangent) {
        if (tape.sweeping) throw Error("backward: a sweep of this tape is running; a rule must not start another");
        tape.sweeping = true;
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() {
        tape_.sweeping = false;
        ++tape_.grad_version;
        if (done_) return;
        for (Index i = 0; i <= y_; ++i)
            if (tape_[i].grad != nullptr) release(tape_, tape_[i], cotangent_);
    }
    void done() { done_ = true; }

private:
    TapeState& tape_;
    Index y_;
    const void* cotangent_;
    bool done_ = false;
};

/// Sends the cotangent of line y down to line 0; `finished(i)` decides what becomes of a complete gradient.
template <class Finished>
void run(TapeState& tape, Index y, const void* cotangent, Record::Flag wanted, Finished&& finished) {
    Record& last = tape[y];
    const std::size_t bytes = tape.grad_bytes(last);
    if (bytes <= sizeof(Record::grad_inside) || last.has(Record::variable) || last.has(Record::keeps_grad)) {
        tape.allocate_grad(last);
        if (bytes != 0) std::memcpy(last.grad, cotangent, bytes);
    } else { // nobody keeps it and no line adds to it: a copy would cost as much as a pass of the op
        last.grad = const_cast<void*>(cotangent);
    }
    for (Index i = y + 1; i-- > 0;) {
        Record& record = tape[i];
        if (record.grad == nullptr) continue;
        if (record.op != nullptr && record.has(wanted)) tape.run_vjp(i, wanted);
        finished(i, record);
    }
}

} // namespace

void sweep_backward(TapeState& tape, Index y, const void* cotangent, const OnGradient& on_gradient) {
    Stash earlier(tape), replaced(tape); // before Running: if the sweep throws, they put back after its clean-up
    Running running(tape, y, cotangent);
    for (const Index i : tape.variables)
        if (i <= y) earlier.take(i);
    // Gradients of kept intermediates are those of the last sweep alone.
    for (const Index i : tape.kept) replaced.take(i);
    run(tape, y, cotangent, Record::needs_grad, [&](Index i, Record& record) {
        if (on_gradient) on_gradient(i);
        if (!record.has(Record::variable) && !record.has(Record::keeps_grad)) release(tape, record, cotangent);
    });
    running.done();
    earlier.add_back();
    replaced.drop();
}

void sweep_towards(TapeState& tape, Index y, const void* cotangent, const std::vector<Index>& xs,
    const std::function<void(std::size_t)>& on_target, const OnGradient& on_gradient) {
    struct Marks {
        TapeState& tape;
        Index end;
        ~Marks() {
            for (Index i = 0; i < end; ++i)
                tape[i].flags &= static_cast<std::uint8_t>(~(Record::in_sweep | Record::target));
        }
    } marks{tape, y + 1};
    for (const Index x : xs)
        if (x <= y) tape[x].flags |= Record::in_sweep | Record::target;
    for (Index i = 0; i <= y; ++i) {
        Record& record = tape[i];
        if (record.op == nullptr || record.op->blocks_gradient()) continue;
        const Index* in = tape.inputs(record);
        for (std::size_t k = 0; k < record.input_count; ++k)
            if (in[k] != absent && tape[in[k]].has(Record::in_sweep)) {
                record.flags |= Record::in_sweep;
                break;
            }
    }
    if (!tape[y].has(Record::in_sweep)) return;

    Stash kept(tape);
    Running running(tape, y, cotangent);
    for (const Index i : tape.variables)
        if (i <= y) kept.take(i);
    for (const Index i : tape.kept) kept.take(i);
    run(tape, y, cotangent, Record::in_sweep, [&](Index i, Record& record) {
        if (on_gradient) on_gradient(i);
        if (record.has(Record::target))
            for (std::size_t k = 0; k < xs.size(); ++k)
                if (xs[k] == i) on_target(k);
        release(tape, record, cotangent);
    });
    running.done();
}

} // namespace chalkgrad::detail
