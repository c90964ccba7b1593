// The inside of a tape: plain records in blocks that never move, and everything they point to. Users see Tape and Var.
#pragma once // internal

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <chalkgrad/autograd/tape/pool.hpp>
#include <chalkgrad/autograd/tape/rule.hpp>

namespace chalkgrad {

/// A named stretch of a tape. Scope 0 is the tape itself.
struct ScopeInfo {
    std::string name;
    Role role;
    std::size_t parent; ///< the root, 0, is its own parent
};

/// "block/attention", empty for the tape itself.
std::string scope_path(const std::vector<ScopeInfo>& scopes, std::size_t scope);

} // namespace chalkgrad

namespace chalkgrad::detail {

using Index = std::uint32_t;
inline constexpr Index absent = 0xFFFFFFFFu; ///< an optional input that was not given

/// One line of the tape: a leaf, or an op applied to earlier lines. A single element lives inside the record.
struct Record {
    enum Flag : std::uint8_t {
        needs_grad = 1, ///< a variable, or computed from one
        variable = 2,   ///< a leaf whose gradient is kept
        keeps_grad = 4, ///< an intermediate whose gradient is kept
        in_sweep = 8,   ///< lies between the inputs and the output of grad(y, {x…}), while that runs
        target = 16,    ///< one of those inputs
        named = 32,     ///< has an entry in names
        cached = 64     ///< has an entry in value_cache or grad_cache
    };
    static constexpr std::size_t inside_bytes = 16; ///< numbers of up to so many bytes lie in the record
    void* value;
    void* grad; ///< nullptr: not computed
    void* saved;
    const Op* op; ///< nullptr: a leaf
    const Shape* shape;
    Index scope;
    Index epoch;
    alignas(16) std::byte value_inside[inside_bytes];
    std::byte grad_inside[inside_bytes];
    Index first_input; ///< where its inputs begin in the tape's list of inputs
    std::uint16_t input_count;
    Dtype dtype;
    std::uint8_t flags;

    bool has(Flag flag) const { return (flags & flag) != 0; }
};
static_assert(sizeof(Record) <= 96);

/// Bump storage for the fields of ops: cheap to fill, rewound as a whole.
class OpStore {
public:
    OpStore() = default;
    OpStore(const OpStore&) = delete;
    OpStore& operator=(const OpStore&) = delete;
    ~OpStore() { rewind({}); }

    struct Mark {
        std::size_t chunk = 0, used = 0, owned = 0;
    };
    const Op* copy(const Op& op);
    Mark mark() const { return {chunk_, used_, owned_.size()}; }
    void rewind(Mark mark);

private:
    static constexpr std::size_t chunk_bytes = 1 << 15;
    struct Chunk {
        std::unique_ptr<std::byte[]> data;
        std::size_t bytes;
    };
    std::vector<Chunk> chunks_;
    std::size_t chunk_ = 0, used_ = 0;
    std::vector<const Op*> owned_; // those with a destructor that does something
};

struct ShapeHash {
    std::size_t operator()(const Shape& shape) const {
        std::size_t h = shape.rank();
        for (const std::size_t extent : shape) h = (h ^ extent) * 0x9E3779B97F4A7C15u;
        return h;
    }
};

/// Keeps xarrays that were asked for, by tape line. Made on first request, refreshed when the numbers changed.
struct CachedArray {
    std::shared_ptr<void> array;
    std::uint64_t version;
};
using ArrayCache = std::unordered_map<Index, CachedArray>;

class TapeState {
public:
    TapeState(bool shapes_only, std::shared_ptr<Pool> pool);
    TapeState(const TapeState&) = delete;
    TapeState& operator=(const TapeState&) = delete;
    ~TapeState();

    // Handles own the state together; a tape and its handles belong to one thread at a time, so a plain counter does.
    void acquire() { ++owners_; }
    void release() {
        if (--owners_ == 0) delete this;
    }

    Index size() const { return size_; }
    Record& operator[](Index i) { return blocks_[i >> block_bits][i & (block_size - 1)]; }
    const Record& operator[](Index i) const { return blocks_[i >> block_bits][i & (block_size - 1)]; }
    const Index* inputs(const Record& record) const { return inputs_.data() + record.first_input; }
    bool alive(Index i, Index epoch) const { return i < size_ && (*this)[i].epoch == epoch; }

    /// The one copy of a shape on this tape.
    const Shape* intern(const Shape& shape);

    Index add_leaf(const Shape& shape, Dtype dtype, bool variable, std::string_view name);
    /// Records op applied to the given lines and runs its forward. `outlives`: op is static, else it is copied.
    Index add_op(const Op& op, bool outlives, Dtype dtype, const Index* inputs, std::size_t count);
    /// Records line i of another tape, which outlives this one if `outlives`, on the given lines: leaves with their numbers and
    /// names, ops run anew in `dtype`, or as variables with their numbers where `as_variable`.
    Index add_copy(
        const TapeState& source, Index i, bool outlives, Dtype dtype, const Index* inputs, bool as_variable = false);

    void run_forward(Index i);
    /// Sends the gradient of line i to those of its inputs that have `wanted`; adds to what they hold.
    void run_vjp(Index i, Record::Flag wanted);

    struct Mark {
        Index records = 0, input_count = 0, scopes = 1;
        OpStore::Mark ops;
    };
    Mark mark() const;
    void rewind(const Mark& mark);

    void allocate_grad(Record& record);
    void free_grad(Record& record);
    std::size_t value_bytes(const Record& record) const { return record.shape->size() * bytes(record.dtype); }
    std::size_t grad_bytes(const Record& record) const {
        return record.shape->size() * bytes(work_dtype(record.dtype));
    }

    /// How many numbers a line's forward saves for its backward.
    std::size_t saved_size(const Record& record) const;

    std::string label(Index i) const; ///< "line 7 (rms_norm, in block/attention)", for messages
    std::string scope_path(std::size_t of) const { return chalkgrad::scope_path(scopes, of); }

    const bool shapes_only;
    const std::shared_ptr<Pool> pool;
    std::vector<ScopeInfo> scopes{{"", Role::none, 0}};
    Index scope = 0; ///< the one that is open
    std::unordered_map<Index, std::string> names;
    std::vector<Index> variables; ///< the leaves with a gradient, in order
    std::vector<Index> kept;      ///< the intermediates whose gradient is kept
    ArrayCache value_cache, grad_cache;
    std::uint64_t grad_version = 0; ///< counts the changes of any gradient
    bool sweeping = false;

private:
    static constexpr std::size_t block_bits = 10, block_size = 1 << block_bits;

    Record& append(const Shape& shape, Dtype dtype);
    void* take(std::size_t bytes, void* inside);
    void give(void*& buffer, std::size_t bytes, void* inside);
    void free_buffers(Index i);

    std::vector<std::unique_ptr<Record[]>> blocks_;
    std::vector<Index> inputs_;
    OpStore ops_;
    std::unordered_set<Shape, ShapeHash> shapes_;
    const Shape* last_shape_ = nullptr;
    Index size_ = 0;
    Index epoch_ = 1;
    std::size_t owners_ = 0;
};

/// The scalars a rule computes in, as a call with a typed argument: f(double()), f(float()), …
template <class F> decltype(auto) with_work_scalar(Dtype dtype, F&& f) {
    switch (dtype) {
        case Dtype::f64:
            return f(double());
        case Dtype::f80:
            return f((long double)0);
        case Dtype::dual:
            return f(Dual<double>());
        default:
            return f(float());
    }
}

/// y[i] = x[i], each rounded once; from duals their values.
void convert_numbers(Dtype from, const void* x, Dtype to, void* y, std::size_t n);
/// sum[i] += term[i] in a working type.
void add_numbers(Dtype dtype, void* sum, const void* term, std::size_t n);

/// Owning pointer to a TapeState for handles.
class StateRef {
public:
    StateRef() = default;
    explicit StateRef(TapeState* state) : state_(state) {
        if (state_ != nullptr) state_->acquire();
    }
    StateRef(const StateRef& other) : StateRef(other.state_) {}
    StateRef(StateRef&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    StateRef& operator=(StateRef other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    ~StateRef() {
        if (state_ != nullptr) state_->release();
    }
    TapeState* get() const { return state_; }
    TapeState* operator->() const { return state_; }
    TapeState& operator*() const { return *state_; }

private:
    TapeState* state_ = nullptr;
};

} // namespace chalkgrad::detail
