// Tape: the list of everything computed, in order; recording, scopes, rewinding, and what its lines say.
#pragma once

#include <concepts>
#include <initializer_list>

#include <chalkgrad/autograd/tape/var.hpp>

namespace chalkgrad {
namespace detail {

template <class N> Var<double> no_integer() {
    static_assert(std::is_void_v<N>,
        "an integer is no leaf of a tape: write tape.variable(3.) for a single number, or "
        "tape.variable(Array<double>{3}) for an array of one");
    return {};
}
template <class N> Var<double> no_braces() {
    static_assert(std::is_void_v<N>, "say which array the braces are: tape.variable(Array<double>{1, 2})");
    return {};
}

} // namespace detail

/// Leaves a tape's scope when it goes out of C++ scope.
class Scope {
public:
    Scope(detail::StateRef state, std::string_view name, Role role);
    Scope(Scope&& other) noexcept : state_(std::move(other.state_)), outer_(other.outer_) {}
    Scope& operator=(Scope&&) = delete;
    ~Scope();

private:
    detail::StateRef state_;
    detail::Index outer_;
};

/// One line of a tape as tables and drawings show it.
struct Line {
    enum class Kind { constant, variable, op };
    Kind kind;
    std::string op;                       ///< the op's name; "leaf" for a leaf
    std::string name;                     ///< the user's name for it, or empty
    std::vector<std::ptrdiff_t> inputs;   ///< lines; −1 for an optional input that was not given
    std::vector<std::string> input_names; ///< what the op calls them
    Shape shape;
    Dtype dtype;
    std::size_t scope; ///< index for Tape::scope_info
    Role role;
    Attributes attributes;
    bool needs_grad;
};

/// An append-only list of lines (a Wengert list). Cheap handle: copies mean the same tape. A tape, its Vars and a pool it
/// shares belong to one thread at a time; different tapes in different threads never touch each other.
class Tape {
public:
    enum class Mode { values, shapes_only };

    /// `shapes_only` records lines without numbers: a whole model is traced without allocating a weight.
    explicit Tape(Mode mode = Mode::values, std::shared_ptr<Pool> pool = {});

    /// A leaf whose gradient is wanted. The numbers are copied.
    template <class T> Var<T> variable(const Array<T>& value, std::string_view name = {}) const {
        return leaf(value, true, name);
    }
    /// A leaf without a gradient.
    template <class T> Var<T> constant(const Array<T>& value, std::string_view name = {}) const {
        return leaf(value, false, name);
    }
    /// The same for any other xtensor expression or layout; evaluated once, row-major.
    template <class E> auto variable(const xt::xexpression<E>& value, std::string_view name = {}) const {
        return leaf(Array<typename E::value_type>(value.derived_cast()), true, name);
    }
    template <class E> auto constant(const xt::xexpression<E>& value, std::string_view name = {}) const {
        return leaf(Array<typename E::value_type>(value.derived_cast()), false, name);
    }
    /// Single numbers (rank 0).
    template <class T>
    requires std::is_floating_point_v<T> Var<T> variable(T value, std::string_view name = {})
    const { return leaf(Shape(), &value, true, name); }
    template <class T>
    requires std::is_floating_point_v<T> Var<T> constant(T value, std::string_view name = {})
    const { return leaf(Shape(), &value, false, name); }
    // What does not compile says what to write.
    template <std::integral N> Var<double> variable(N, std::string_view = {}) const { return detail::no_integer<N>(); }
    template <std::integral N> Var<double> constant(N, std::string_view = {}) const { return detail::no_integer<N>(); }
    template <class N> Var<double> variable(std::initializer_list<N>, std::string_view = {}) const {
        return detail::no_braces<N>();
    }
    template <class N> Var<double> constant(std::initializer_list<N>, std::string_view = {}) const {
        return detail::no_braces<N>();
    }
    /// A plain number as a constant of this tape's type T: what `2 * x` puts beside x.
    template <class T> Var<T> number(number_t<T> value) const;
    /// A leaf from size() numbers in row-major order; `values` may be nullptr on a shape-only tape, and only there.
    template <class T>
    Var<T> leaf(const Shape& shape, const T* values, bool wants_grad, std::string_view name = {}) const;

    /// Opens a named scope until the returned object dies. Scopes nest; drawings frame them, messages name them.
    [[nodiscard]] Scope scope(std::string_view name, Role role = Role::none) const;

    /// A place to rewind to.
    using Mark = detail::TapeState::Mark;
    Mark mark() const { return state_->mark(); }
    /// Drops all lines since the mark and recycles their buffers. Handles to them throw from then on.
    void rewind(const Mark& mark) const;
    void clear() const { rewind({}); }

    /// Number of lines.
    std::size_t size() const { return state_->size(); }
    bool shapes_only() const { return state_->shapes_only; }
    Line line(std::size_t i) const;
    ScopeInfo scope_info(std::size_t i) const { return state_->scopes.at(i); }
    std::size_t scope_count() const { return state_->scopes.size(); }
    const Pool& pool() const { return *state_->pool; }

    /// Forgets every gradient.
    void zero_grad() const;

    // For apply() and the tools of this library.
    explicit Tape(detail::StateRef state) : state_(std::move(state)) {}
    detail::TapeState* state() const { return state_.get(); }
    const detail::StateRef& state_ref() const { return state_; }

private:
    template <class T> Var<T> leaf(const Array<T>& value, bool wants_grad, std::string_view name) const {
        return leaf(Shape(value.shape()), value.data(), wants_grad, name);
    }
    detail::StateRef state_;
};

/// The tape as a table: line, name, op, inputs, shape, a summary of the value, and the gradient where there is one.
std::ostream& operator<<(std::ostream& out, const Tape& tape);

} // namespace chalkgrad
