// Whole derivatives: Jacobians and Hessians, and their products with vectors, for one variable or several; singular values.
#pragma once

#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

/// How a Jacobian is built: one reverse sweep for each output element, or one forward in dual numbers for each input element.
enum class By { rows, columns };

// x is a variable, or an intermediate: then it is varied by itself, as if it were a leaf. `xs` are several, on one tape; directions
// and results are lists of arrays of their shapes. All are of double. Throws Error for misuse.

/// J of a recorded program, shape (y.size(), x.size()): J[i][j] = ∂y_i/∂x_j, both counted row-major. By rows it comes from the
/// backwards, by columns from the forwards: two answers that must agree.
Array<double> jacobian(const Var<double>& y, const Var<double>& x, By by = By::rows);
std::vector<Array<double>> jacobian(const Var<double>& y, const std::vector<Var<double>>& xs, By by = By::rows);

/// J v: the derivative of y along the direction v, of x's shape; exact, by dual numbers. The shape is y's.
Array<double> jvp(const Var<double>& y, const Var<double>& x, const Array<double>& v);
Array<double> jvp(const Var<double>& y, const std::vector<Var<double>>& xs, const std::vector<Array<double>>& vs);

/// Jᵀ w: the gradient of ⟨w, y⟩, w of y's shape. The shape is x's. Unlike grad(y, xs, w) it gives zeros where y does not depend on
/// an x.
Array<double> vjp(const Var<double>& y, const Var<double>& x, const Array<double>& w);
std::vector<Array<double>> vjp(const Var<double>& y, const std::vector<Var<double>>& xs, const Array<double>& w);

/// H v for a one-element y: the backward run in dual numbers, so no second set of formulas and no differences. Shape of x. Of
/// several xs it is that of all their numbers together: the mixed derivatives count.
Array<double> hvp(const Var<double>& y, const Var<double>& x, const Array<double>& v);
std::vector<Array<double>> hvp(
    const Var<double>& y, const std::vector<Var<double>>& xs, const std::vector<Array<double>>& vs);

/// The Hessian of a one-element y, shape (x.size(), x.size()), one hvp for each column. Of several xs it is one matrix too: their
/// elements one after the other.
Array<double> hessian(const Var<double>& y, const Var<double>& x);
Array<double> hessian(const Var<double>& y, const std::vector<Var<double>>& xs);

/// Singular values of a matrix, largest first (LAPACK's gesdd through xtensor-blas). Throws Error unless it has two axes and finite
/// numbers.
std::vector<double> singular_values(const Array<double>& matrix);

namespace detail {

/// f(x) recorded on a tape of its own, then whatever `what` makes of it.
template <class F, class What> auto with_recorded(F&& f, const Array<double>& x, What&& what) {
    Tape tape;
    const Var<double> leaf = tape.variable(x, "x");
    const Var<double> y = f(leaf);
    return what(y, leaf);
}

template <class F>
concept FunctionOfVar = std::is_invocable_v < F,
        const Var<double>
& > ;

} // namespace detail

/// The same for a function of a Var at the point x: jacobian([](const auto& x) { return rms_norm(x); }, x).
template <detail::FunctionOfVar F> Array<double> jacobian(F&& f, const Array<double>& x, By by = By::rows) {
    return detail::with_recorded(f, x, [&](const auto& y, const auto& leaf) { return jacobian(y, leaf, by); });
}
template <detail::FunctionOfVar F> Array<double> jvp(F&& f, const Array<double>& x, const Array<double>& v) {
    return detail::with_recorded(f, x, [&](const auto& y, const auto& leaf) { return jvp(y, leaf, v); });
}
template <detail::FunctionOfVar F> Array<double> hvp(F&& f, const Array<double>& x, const Array<double>& v) {
    return detail::with_recorded(f, x, [&](const auto& y, const auto& leaf) { return hvp(y, leaf, v); });
}
template <detail::FunctionOfVar F> Array<double> hessian(F&& f, const Array<double>& x) {
    return detail::with_recorded(f, x, [&](const auto& y, const auto& leaf) { return hessian(y, leaf); });
}

} // namespace chalkgrad
