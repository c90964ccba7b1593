// The reverse sweep: a loop from the last line to the first, no recursion.
#include <chalkgrad/autograd/tape/sweep.hpp>

#include <cstring>

namespace chalkgrad::detail {
namespace {

void require_no_other(const TapeState& tape) {
    if (tape.sweeping) throw Error("backward: a sweep of this tape is running; a rule must not start another");
}

/// One sweep from line y. Gradients that are kept from earlier ones are set aside while it runs, and put back at its end,
/// or should anything throw; after keep() what this sweep has left stays.
class Sweep {
public:
    Sweep(TapeState& tape, Index y, const void* cotangent) : tape_(tape), y_(y), cotangent_(cotangent) {
        require_no_other(tape);
        std::size_t count = 0;
        each_earlier([&](Index) { ++count; });
        earlier_.reserve(count); // from here on nothing throws
        tape.sweeping = true;
        each_earlier([&](Index i) { set_aside(i); });
    }
    Sweep(const Sweep&) = delete;
    Sweep& operator=(const Sweep&) = delete;
    ~Sweep() {
        tape_.sweeping = false;
        ++tape_.grad_version;
        if (keep_) return;
        for (Index i = 0; i <= y_; ++i)
            if (tape_[i].grad != nullptr) release(tape_[i]);
        for (const Earlier& earlier : earlier_) put_back(earlier);
    }

    /// The lesson: sends the cotangent of line y down to line 0. `finished(i, record)` decides what becomes of a complete
    /// gradient.
    template <class Finished> void run(Record::Flag wanted, Finished&& finished) {
        Record& last = tape_[y_];
        const std::size_t bytes = tape_.grad_bytes(last);
        if (bytes <= Record::inside_bytes || last.has(Record::variable) || last.has(Record::keeps_grad)) {
            tape_.allocate_grad(last);
            if (bytes != 0) std::memcpy(last.grad, cotangent_, bytes);
        } else { // nobody keeps it and no line adds to it: a copy would cost as much as a pass of the op
            last.grad = const_cast<void*>(cotangent_);
        }
        for (Index i = y_ + 1; i-- > 0;) {
            Record& record = tape_[i];
            if (record.grad == nullptr) continue;
            if (record.op != nullptr && record.has(wanted)) tape_.run_vjp(i, wanted);
            finished(i, record);
        }
    }

    /// Gives up a gradient, which may be the caller's cotangent, read where it is.
    void release(Record& record) {
        if (record.grad == cotangent_) record.grad = nullptr;
        else tape_.free_grad(record);
    }

    /// Adds the earlier gradients of variables to those found; those of intermediates are of the last sweep alone.
    void keep() {
        for (const Earlier& earlier : earlier_) {
            Record& record = tape_[earlier.line];
            if (record.has(Record::variable) && record.grad == nullptr) {
                put_back(earlier);
                continue;
            }
            const void* numbers = earlier.buffer != nullptr ? earlier.buffer : earlier.inside;
            if (record.has(Record::variable))
                add_numbers(work_dtype(record.dtype), record.grad, numbers, record.shape->size());
            if (earlier.buffer != nullptr) tape_.pool->give(earlier.buffer, tape_.grad_bytes(record));
        }
        keep_ = true;
    }

private:
    struct Earlier {
        Index line;
        void* buffer = nullptr;
        alignas(16) std::byte inside[Record::inside_bytes];
    };

    template <class F> void each_earlier(F f) const {
        for (const Index i : tape_.variables)
            if (i <= y_ && tape_[i].grad != nullptr) f(i);
        for (const Index i : tape_.kept)
            if (tape_[i].grad != nullptr) f(i);
    }
    void set_aside(Index i) {
        Record& record = tape_[i];
        Earlier& earlier = earlier_.emplace_back();
        earlier.line = i;
        if (record.grad == record.grad_inside) std::memcpy(earlier.inside, record.grad_inside, Record::inside_bytes);
        else earlier.buffer = record.grad;
        record.grad = nullptr;
    }
    void put_back(const Earlier& earlier) {
        Record& record = tape_[earlier.line];
        record.grad = earlier.buffer;
        if (record.grad == nullptr) record.grad = std::memcpy(record.grad_inside, earlier.inside, Record::inside_bytes);
    }

    TapeState& tape_;
    Index y_;
    const void* cotangent_;
    std::vector<Earlier> earlier_;
    bool keep_ = false;
};

} // namespace

void sweep_backward(TapeState& tape, Index y, const void* cotangent, const OnGradient& on_gradient) {
    Sweep sweep(tape, y, cotangent);
    sweep.run(Record::needs_grad, [&](Index i, Record& record) {
        if (on_gradient) on_gradient(i);
        if (!record.has(Record::variable) && !record.has(Record::keeps_grad)) sweep.release(record);
    });
    sweep.keep();
}

void sweep_towards(TapeState& tape, Index y, const void* cotangent, const std::vector<Index>& xs,
    const std::function<void(std::size_t)>& on_target, const OnGradient& on_gradient) {
    require_no_other(tape); // which has marks of its own
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

    Sweep sweep(tape, y, cotangent);
    sweep.run(Record::in_sweep, [&](Index i, Record& record) {
        if (on_gradient) on_gradient(i);
        if (record.has(Record::target))
            for (std::size_t k = 0; k < xs.size(); ++k)
                if (xs[k] == i) on_target(k);
        sweep.release(record);
    });
}

} // namespace chalkgrad::detail
