// Sinkhorn's iteration in the log domain: a square matrix of logits becomes a (nearly) doubly stochastic matrix.
#pragma once

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

class Settings;

/// Which half-step of an iteration comes first. The last one is exact: rows_first leaves the columns summing to 1,
/// cols_first the rows (the mHC paper's order).
enum class SinkhornOrder { rows_first, cols_first };

/// unrolled: the derivative of what was computed, through every iteration. implicit: the derivative of the limit, from the
/// result alone; right only where the iteration has converged.
enum class SinkhornGradient { unrolled, implicit };

struct SinkhornOptions {
    std::ptrdiff_t iterations = 20;
    SinkhornOrder order = SinkhornOrder::rows_first;
    SinkhornGradient gradient = SinkhornGradient::unrolled;
};

/// y = exp(m) after `iterations` rounds of m −= logsumexp(m, rows), m −= logsumexp(m, columns) (course §12; Cuturi 2013; the
/// mHC paper takes 20). m (…, n, n); y the same. An entry of −inf stays an exact 0 with gradient 0, and so does a whole row or
/// column of them; +inf and NaN give NaN. Throws Error for a matrix that is not square and for fewer than one iteration.
template <class T> Var<T> sinkhorn_log(const Var<T>& m, const SinkhornOptions& options = {});

/// The same from logsumexp, sub and exp: one line on the tape for each half-step, and n² numbers kept by each.
template <class T> Var<T> sinkhorn_log_composed(const Var<T>& m, const SinkhornOptions& options = {});

/// Options by the words that files and command lines use; throws Error for other words.
SinkhornOptions sinkhorn_options(
    const char* op, std::ptrdiff_t iterations, std::string_view order, std::string_view gradient);
/// The same from the attributes of a call.
SinkhornOptions sinkhorn_options(const char* op, Settings& c);
/// Throws Error unless m is square in its last two axes and the options make sense.
void check_sinkhorn(const char* op, const char* what, const Shape& m, const SinkhornOptions& options);
void set_sinkhorn_attributes(Attributes& out, const SinkhornOptions& options);

namespace detail {

/// How many numbers sinkhorn() keeps of one matrix: the potential of every half-step, where the backward goes through all.
std::size_t sinkhorn_saved(std::size_t n, const SinkhornOptions& options);
/// One matrix; for ops that hold a Sinkhorn iteration.
template <class T> void sinkhorn(std::size_t n, const SinkhornOptions& options, const T* logits, T* saved, T* y);
/// `glogits` may not be `gy`.
template <class T>
void sinkhorn_vjp(std::size_t n, const SinkhornOptions& options, const T* logits, const T* saved, const T* y,
    const T* gy, T* glogits);

} // namespace detail
} // namespace chalkgrad
