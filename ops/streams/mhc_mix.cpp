// mhc_mix:  Y = A X,  A constant, or Sinkhorn(m), or Sinkhorn(α mat(vec(X) W) + B)          X̄ = Aᵀ Ȳ,  Ā = Ȳ Xᵀ

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/tape/pool.hpp>
#include <chalkgrad/autograd/tape/totals.hpp>
#include <chalkgrad/autograd/tape/wider.hpp>
#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/linear/gemm.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/shape/shape_ops.hpp>
#include <chalkgrad/ops/streams/mhc_mix.hpp>

namespace chalkgrad {
namespace {

/// x (…, n, d) as `batch` sets of n streams.
struct Streams {
    std::size_t batch = 1, n, d;

    explicit Streams(const Shape& x) : n(x[x.rank() - 2]), d(x.last()) {
        for (std::size_t axis = 0; axis + 2 < x.rank(); ++axis) batch *= x[axis];
    }
};

Streams require_streams(const char* op, const Shape& x) {
    if (x.rank() < 2)
        throw Error(fmt::format("{}: X has shape {}; its rows are the streams, shape (…, n, d)", op, to_string(x)));
    return Streams(x);
}

void require_shape(const char* op, const char* name, const Shape& given, const Shape& wanted, const Shape& x) {
    if (!(given == wanted))
        throw Error(fmt::format("{}: {} has shape {} beside X of shape {}; it must be {}", op, name, to_string(given),
            to_string(x), to_string(wanted)));
}

/// y = A x or Aᵀ x, of `sets` sets of streams with the same A. X̄ = Aᵀ Ȳ is the second.
template <class T> void mix(const Streams& s, std::size_t sets, Factor as, const T* a, const T* x, T* y) {
    for (std::size_t b = 0; b < sets; ++b, x += s.n * s.d, y += s.n * s.d)
        gemm<T>(as, Factor::plain, s.n, s.d, s.n, a, s.n, x, s.d, 0, y, s.d);
}
/// Ā = Ȳ Xᵀ.
template <class T> void mix_ga(const Streams& s, const T* x, const T* gy, T* ga) {
    gemm<T>(Factor::plain, Factor::transposed, s.n, s.n, s.d, gy, s.d, x, s.d, 0, ga, s.n);
}

struct Mix {
    static constexpr bool skips_unwanted = true;
    static constexpr Role role = Role::linear;
};
struct SinkhornMix : Mix {
    SinkhornOptions options;

    SinkhornMix(const SinkhornOptions& its) : options(its) {}
    void attributes(Attributes& out) const { set_sinkhorn_attributes(out, options); }
};

struct MixFixed : Mix {
    static constexpr const char* name = "mhc_mix_fixed";
    static constexpr const char* inputs[] = {"X", "A"}; // A is always a constant

    Shape shape(Shapes in) const {
        const Streams s = require_streams(name, in[0]);
        require_shape(name, "A", in[1], {s.n, s.n}, in[0]);
        return in[0];
    }
    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        const Streams s(*y.shape);
        mix(s, s.batch, Factor::plain, in[1].data, in[0].data, y.data);
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        const Streams s(*gy.shape);
        if (gx[0]) mix(s, s.batch, Factor::transposed, in[1].data, gy.data, gx[0].data);
    }
};

struct MixParam : SinkhornMix {
    static constexpr const char* name = "mhc_mix_param";
    static constexpr const char* inputs[] = {"X", "m"};

    Shape shape(Shapes in) const {
        const Streams s = require_streams(name, in[0]);
        check_sinkhorn(name, "m", in[1], options);
        require_shape(name, "m", in[1], {s.n, s.n}, in[0]);
        return in[0];
    }
    std::size_t saved(Shapes in) const { // A, potentials
        return in[1].size() + detail::sinkhorn_saved(in[1].last(), options);
    }

    template <class T> void forward(Ins<T> in, Out<T> y, T* a) const {
        const Streams s(*y.shape);
        detail::sinkhorn(s.n, options, in[1].data, a + s.n * s.n, a);
        mix(s, s.batch, Factor::plain, a, in[0].data, y.data);
    }
    // m̄ is Sinkhorn's backward of Ā, summed over the batch.
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T* a, Outs<T> gx) const {
        const Streams s(*gy.shape);
        if (gx[0]) mix(s, s.batch, Factor::transposed, a, gy.data, gx[0].data);
        if (gx[1]) {
            Scratch<T> part(s.n * s.n), ga(s.n * s.n);
            Totals<T> totals(ga.data(), s.n * s.n);
            for (std::size_t b = 0; b < s.batch; ++b) {
                mix_ga(s, in[0].data + b * s.n * s.d, gy.data + b * s.n * s.d, part.data());
                totals.add(part.data());
            }
            totals.store();
            detail::sinkhorn_vjp(s.n, options, in[1].data, a + s.n * s.n, a, ga.data(), gx[1].data);
        }
    }
};

// With z = vec(X) W and L = α mat(z) + B:  L̄ is Sinkhorn's backward of Ā,  z̄ = α vec(L̄),
//     B̄ = Σ L̄,   ᾱ = Σ L̄ z,   W̄ = Σ vec(X)ᵀ z̄,   X̄ = Aᵀ Ȳ + mat(z̄ Wᵀ)          Σ over the batch
struct MixXdep : SinkhornMix {
    static constexpr const char* name = "mhc_mix_xdep";
    static constexpr const char* inputs[] = {"X", "W", "bias", "alpha"};

    Shape shape(Shapes in) const {
        const Streams s = require_streams(name, in[0]);
        require_shape(name, "W", in[1], {s.n * s.d, s.n * s.n}, in[0]);
        require_shape(name, "bias", in[2], {s.n, s.n}, in[0]);
        require_shape(name, "alpha", in[3], {}, in[0]);
        check_sinkhorn(name, "bias", in[2], options);
        return in[0];
    }
    std::size_t saved(Shapes in) const { // z and A of each set, then its potentials
        const Streams s(in[0]);
        return s.batch * (2 * s.n * s.n + detail::sinkhorn_saved(s.n, options));
    }
    /// The logits α z + B bend over 1: X, W and α over the inverse of what they are multiplied with.
    double length_scale(Ins<double> in) const {
        double size[4] = {};
        for (const std::size_t k : {0, 1, 3})
            for (std::size_t i = 0; i < in[k].size(); ++i) size[k] = std::max(size[k], std::abs(in[k][i]));
        return 1 / std::max({1.0, size[0] * size[1], size[3] * size[1], size[3] * size[0]});
    }

    template <class T> static void logits(std::size_t count, In<T> bias, In<T> alpha, const T* z, T* l) {
        for (std::size_t i = 0; i < count; ++i) l[i] = alpha[0] * z[i] + bias[i];
    }
    template <class T> void forward(Ins<T> in, Out<T> y, T* z) const {
        const Streams s(*y.shape);
        const std::size_t nn = s.n * s.n, nd = s.n * s.d, keep = detail::sinkhorn_saved(s.n, options);
        T *const a = z + s.batch * nn, *const potentials = a + s.batch * nn;
        gemm<T>(Factor::plain, Factor::plain, s.batch, nn, nd, in[0].data, nd, in[1].data, nn, 0, z, nn);
        Scratch<T> l(nn);
        for (std::size_t b = 0; b < s.batch; ++b) {
            logits(nn, in[2], in[3], z + b * nn, l.data());
            detail::sinkhorn(s.n, options, l.data(), potentials + b * keep, a + b * nn);
            mix(s, 1, Factor::plain, a + b * nn, in[0].data + b * nd, y.data + b * nd);
        }
        if (!all_finite(z, 2 * s.batch * nn)) forward_in_wider(*this, in, y);
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T* z, Outs<T> gx) const {
        const Streams s(*gy.shape);
        const std::size_t nn = s.n * s.n, nd = s.n * s.d, keep = detail::sinkhorn_saved(s.n, options);
        const T *const a = z + s.batch * nn, *const potentials = a + s.batch * nn;
        const T alpha = in[3][0];
        Totals<T> gbias(gx[2]);
        wide_t<T> galpha(0);
        Scratch<T> l(nn), ga(nn), gz(s.batch * nn);
        for (std::size_t b = 0; b < s.batch; ++b) {
            T* const gl = gz.data() + b * nn;
            logits(nn, in[2], in[3], z + b * nn, l.data());
            mix_ga(s, in[0].data + b * nd, gy.data + b * nd, ga.data());
            detail::sinkhorn_vjp(s.n, options, l.data(), potentials + b * keep, a + b * nn, ga.data(), gl);
            gbias.add(gl);
            for (std::size_t i = 0; i < nn; ++i) {
                galpha += gl[i] * z[b * nn + i];
                gl[i] *= alpha;
            }
            if (gx[0]) mix(s, 1, Factor::transposed, a + b * nn, gy.data + b * nd, gx[0].data + b * nd);
        }
        gbias.store();
        if (gx[3]) gx[3][0] = static_cast<T>(galpha);
        if (gx[1])
            gemm<T>(
                Factor::transposed, Factor::plain, nd, nn, s.batch, in[0].data, nd, gz.data(), nn, 0, gx[1].data, nn);
        if (gx[0])
            gemm<T>(
                Factor::plain, Factor::transposed, s.batch, nd, nn, gz.data(), nn, in[1].data, nn, 1, gx[0].data, nd);
        if (!all_finite(z, 2 * s.batch * nn)) vjp_in_wider(*this, in, *gy.shape, gy, gx);
    }
};

} // namespace

template <class T> Var<T> mhc_mix_fixed(const Var<T>& x, const Array<double>& a) {
    x.checked("mhc_mix_fixed: X");
    return apply(MixFixed{}, x, constant_of<T>(x.tape(), a, "A"));
}

template <class T> Var<T> mhc_mix_param(const Var<T>& x, const Var<T>& m, const SinkhornOptions& options) {
    return apply(MixParam{options}, x, m);
}

template <class T>
Var<T> mhc_mix_xdep(
    const Var<T>& x, const Var<T>& w, const Var<T>& bias, const Var<T>& alpha, const SinkhornOptions& options) {
    return apply(MixXdep{options}, x, w, bias, alpha);
}

template <class T> Var<T> mhc_mix_fixed_composed(const Var<T>& x, const Array<double>& a) {
    return matmul(constant_of<T>(x.tape(), a, "A"), x);
}

template <class T> Var<T> mhc_mix_param_composed(const Var<T>& x, const Var<T>& m, const SinkhornOptions& options) {
    return matmul(sinkhorn_log_composed(m, options), x);
}

template <class T>
Var<T> mhc_mix_xdep_composed(
    const Var<T>& x, const Var<T>& w, const Var<T>& bias, const Var<T>& alpha, const SinkhornOptions& options) {
    const Streams s(x.shape());
    std::vector<std::ptrdiff_t> row, square;
    for (std::size_t axis = 0; axis + 2 < x.rank(); ++axis) row.push_back(static_cast<std::ptrdiff_t>(x.shape()[axis]));
    square = row;
    row.push_back(static_cast<std::ptrdiff_t>(s.n * s.d));
    square.insert(square.end(), 2, static_cast<std::ptrdiff_t>(s.n));
    const Var<T> logits = alpha * reshape(matmul(reshape(x, row), w), square) + bias;
    return matmul(sinkhorn_log_composed(logits, options), x);
}

CHALKGRAD_INSTANCES(
    mhc_mix_fixed, mhc_mix_param, mhc_mix_xdep, mhc_mix_fixed_composed, mhc_mix_param_composed, mhc_mix_xdep_composed)

CatalogEntry mhc_mix_fixed_entry() {
    return entry("mhc_mix_fixed", "A X, A constant", "§12", "X A!", plain<MixFixed>)
        .with_samples({"two_streams: X(2,5) | A(2,2)", "batch: X(2,3,3) | A(3,3)", "long_streams: X(4,11) | A(4,4)"})
        .with_twin([](auto& c) { return mhc_mix_fixed_composed(c.in("X"), c.constant("A")); })
        .with_identities(homogeneous_in({{"X", 1}}));
}

CatalogEntry mhc_mix_param_entry() {
    return entry("mhc_mix_param", "A X, A = sinkhorn_log(m)", "§12", "X m",
        [](Settings& c) { return rule_of(MixParam{sinkhorn_options("mhc_mix_param", c)}); })
        .with_samples({"two_streams: X(2,3) m(2,2) iterations=20 order=rows_first",
                          "batch: X(2,4,5) m(4,4) iterations=3 order=cols_first",
                          "limit: X(3,1) m(3,3) iterations=80 gradient=implicit"},
            {},
            [](std::vector<Sample>& samples) {
                for (double& m : samples[2].inputs[1].values) m *= 0.5;
            })
        .with_twin(
            [](auto& c) { return mhc_mix_param_composed(c.in("X"), c.in("m"), sinkhorn_options("mhc_mix_param", c)); })
        .with_identities(homogeneous_in({{"X", 1}}));
}

CatalogEntry mhc_mix_xdep_entry() {
    return entry("mhc_mix_xdep", "A(X) X, A = sinkhorn_log(alpha mat(vec(X) W) + bias)", "§12", "X W bias alpha",
        [](Settings& c) {
            c.ignore({"formula"});
            return rule_of(MixXdep{sinkhorn_options("mhc_mix_xdep", c)});
        })
        .with_samples({"two_streams: X(2,3) W(6,4) bias(2,2) alpha() iterations=20 order=rows_first",
                          "batch: X(3,2,3) W(6,4) bias(2,2) alpha() iterations=5 order=cols_first",
                          "three_streams: X(3,1) W(3,9) bias(3,3) alpha() iterations=2"},
            [](Generator& rng, std::string_view input, const Shape& shape) {
                if (input == "alpha") return rng.uniform(0.5, 1.5, shape);
                Array<double> x = rng.standard_normal(shape);
                return input == "W" ? scaled(0.5, x) : x;
            })
        .with_twin([](auto& c) {
            c.ignore({"formula"});
            return mhc_mix_xdep_composed(
                c.in("X"), c.in("W"), c.in("bias"), c.in("alpha"), sinkhorn_options("mhc_mix_xdep", c));
        });
}

} // namespace chalkgrad
