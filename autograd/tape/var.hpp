// Var<T>: a handle to one line of a tape, its value and its gradient.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include <chalkgrad/autograd/base/array.hpp>
#include <chalkgrad/autograd/tape/rule.hpp>
#include <chalkgrad/autograd/tape/tape_state.hpp>

namespace chalkgrad {

class Tape;

/// A value on a tape: a leaf, or what an op made of earlier ones. A cheap handle (16 bytes) that keeps the tape's contents
/// alive; copies mean the same line. Belongs to the thread that uses its tape. A default-made Var stands for an optional
/// argument that is not given. A handle from before a rewind throws Error at its next use.
template <class T> class Var {
public:
    Var() = default;
    explicit operator bool() const { return state_.get() != nullptr; }

    /// The numbers. Made on first request; the reference is good until the tape is rewound past this line.
    const Array<T>& value() const;
    /// The number of a one-element Var. Throws Error for other sizes.
    T item() const;
    /// Zero-copy access: size() numbers in row-major order, good until the tape is rewound past this line.
    const T* data() const;
    auto view() const {
        return xt::adapt(data(), size(), xt::no_ownership(), std::vector<std::size_t>(shape().begin(), shape().end()));
    }

    /// d(output)/d(this) of the last sweeps, in the shape of value(); float for half and bfloat16. Throws Error where none was
    /// computed: that is not the same as zero. The reference is good as long as value()'s; its numbers follow later sweeps.
    const Array<work_t<T>>& grad() const;
    bool has_grad() const;
    /// Keeps the gradient of an intermediate in the sweeps that follow (leaves keep theirs anyway). Returns *this.
    const Var& keep_grad() const;
    /// Forgets the gradient of this line.
    void zero_grad() const;

    /// Reverse sweep from this Var, which must have one element; gradients add up in the leaves.
    void backward() const;
    /// Reverse sweep with the given cotangent, of the shape of value().
    void backward(const Array<work_t<T>>& cotangent) const;

    const Shape& shape() const;
    std::size_t size() const { return shape().size(); }
    std::size_t rank() const { return shape().rank(); }
    /// Whether a sweep from a later line can reach a variable through this one.
    bool needs_grad() const;
    /// The name given to it, or an empty string.
    std::string name() const;
    /// Names this line in tables, drawings and messages. Returns *this.
    const Var& named(std::string_view name) const;
    /// Its line on the tape, from 0.
    std::size_t line() const;
    Tape tape() const;

    // For apply() and the tools of this library.
    Var(detail::StateRef state, detail::Index index, detail::Index epoch)
        : state_(std::move(state)), index_(index), epoch_(epoch) {}
    detail::TapeState* state() const { return state_.get(); }
    const detail::StateRef& state_ref() const { return state_; }
    /// The index of a live line; throws Error naming `what` for an absent or stale handle.
    detail::Index checked(const char* what) const;

private:
    detail::StateRef state_;
    detail::Index index_ = 0;
    detail::Index epoch_ = 0;
};

/// Reverse sweep from a one-element y: fills the gradients of the variables it depends on, adding to earlier ones.
/// If a rule throws, all gradients are as before.
template <class T> void backward(const Var<T>& y) { y.backward(); }
/// Reverse sweep from y with a cotangent of its shape.
template <class T> void backward(const Var<T>& y, const Array<work_t<T>>& cotangent) { y.backward(cotangent); }

/// d(y)/d(x) for each x, which may be intermediates, without touching any kept gradient. `y` must have one element, or a
/// cotangent of its shape be given. Throws Error where y does not depend on an x.
template <class T> std::vector<Array<work_t<T>>> grad(const Var<T>& y, const std::vector<Var<T>>& xs);
template <class T>
std::vector<Array<work_t<T>>> grad(const Var<T>& y, const std::vector<Var<T>>& xs, const Array<work_t<T>>& cotangent);

/// "name (3, 5) double" and the numbers, six digits; long arrays are shortened.
template <class T> std::ostream& operator<<(std::ostream& out, const Var<T>& x);

} // namespace chalkgrad
