// Several residual streams around a sublayer: manifold-constrained hyper-connections (course §12; mHC, Xie et al. 2025).
#pragma once

#include <chalkgrad/nn/core/parameter.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/streams/sinkhorn_log.hpp>

namespace chalkgrad::nn {

/// Where the matrix A that mixes the streams comes from: a buffer of its own; learned logits, one A for all tokens; or
/// logits that each token's streams determine, as in the paper, and then `pre` and `post` are determined by them too.
enum class Mixing { fixed, learned, x_dependent };

struct StreamsOptions {
    std::size_t n = 4;
    Mixing mixing = Mixing::learned;
    SinkhornOptions sinkhorn = {};
    bool normalize = true; ///< x_dependent: the maps see the streams' RMSNorm (the paper), or the streams as they are
    double eps = 1e-6;     ///< of that norm
};

/// H′ = A H + 2σ(post) ⊗ F(u), u = Σᵢ σ(pre)ᵢ Hᵢ, for streams H (n, …, d): F sees one mixture of them, and each of them receives
/// a share of its result. Parameters pre (n), post (n), and res (n, n), A = sinkhorn(res); fixed: the buffer mix (n, n) in the
/// place of res, from the start 1/n everywhere. x_dependent, with x̂ the RMSNorm of a token's n·d numbers: pre + pre_scale x̂
/// pre_map and so on take their places; maps (n·d, n), (n·d, n), (n·d, n²), scales single numbers.
struct Streams {
    StreamsOptions options;
    Parameter pre, post, res, mix;
    Parameter pre_map, post_map, res_map, pre_scale, post_scale, res_scale;

    Streams() = default;
    Streams(std::size_t d, const StreamsOptions& options);

    template <class T> struct Maps {
        Var<T> read, write; ///< σ(pre) and 2σ(post), (n, …, 1) or (n, 1, …, 1)
        Var<T> mixed;       ///< A H
    };
    template <class T> Maps<T> maps(Binding<T>& on, const Var<T>& h) const;

    /// One step around f, a function of u (…, d) to the same shape. `scope` names what belongs to the streams.
    template <class T, class F>
    Var<T> operator()(Binding<T>& on, std::string_view scope, const Var<T>& h, F&& f) const {
        Maps<T> maps;
        Var<T> u;
        {
            const Scope inside = on.scope(scope);
            maps = this->maps(on, h);
            u = gather(maps.read, h);
        }
        const Var<T> y = f(u);
        const Scope inside = on.scope(scope);
        return maps.mixed + maps.write * y;
    }
    void visit(const Visitor& v) const;

private:
    template <class T> static Var<T> gather(const Var<T>& weights, const Var<T>& h);
};

/// x (…, d) as n equal streams (n, …, d), and streams as their sum.
template <class T> Var<T> expand_streams(const Var<T>& x, std::size_t n);
template <class T> Var<T> merge_streams(const Var<T>& h);

} // namespace chalkgrad::nn
