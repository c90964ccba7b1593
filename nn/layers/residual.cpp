// Names of the placements, and the stand-in block that lectures draw.
#include <chalkgrad/nn/layers/residual.hpp>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/suggest.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>

namespace chalkgrad::nn {

const char* name(Placement placement) {
    switch (placement) {
        case Placement::pre:
            return "pre";
        case Placement::post:
            return "post";
        case Placement::peri:
            return "peri";
        case Placement::output_only:
            return "output_only";
        case Placement::deepnorm:
            return "deepnorm";
        case Placement::parallel:
            return "parallel";
        case Placement::mhc:
            return "mhc";
    }
    throw Error("placement: unknown value");
}

const char* formula(Placement placement) {
    switch (placement) {
        case Placement::pre:
            return "h + F(N(h))";
        case Placement::post:
            return "N(h + F(h))";
        case Placement::peri:
            return "h + N2(F(N1(h)))";
        case Placement::output_only:
            return "h + N(F(h))";
        case Placement::deepnorm:
            return "N(alpha h + F(h))";
        case Placement::parallel:
            return "h + A(N(h)) + F(N(h))";
        case Placement::mhc:
            return "A H + post F(N(pre H)), H several streams";
    }
    throw Error("placement: unknown value");
}

const std::vector<Placement>& all_placements() {
    static const std::vector<Placement> all = {Placement::pre, Placement::post, Placement::peri, Placement::output_only,
        Placement::deepnorm, Placement::parallel, Placement::mhc};
    return all;
}

const std::vector<Placement>& placements() {
    static const std::vector<Placement> steps(all_placements().begin(), all_placements().begin() + 5);
    return steps;
}

Placement placement_named(std::string_view word) {
    std::vector<std::string> names;
    for (const Placement p : all_placements()) {
        if (word == name(p)) return p;
        names.emplace_back(name(p));
    }
    throw Error(fmt::format("placement: there is no '{}'{}", word, did_you_mean(word, names)));
}

Var<double> stand_in_block(Placement placement, const Var<double>& x) {
    const Tape tape = x.tape();
    Generator rng(0);
    const std::size_t d = x.shape().last();
    Var<double> h = x;
    const auto leaf = [&](const char* its_name, const Shape& shape, double scale) {
        if (tape.shapes_only()) return tape.leaf<double>(shape, nullptr, true, its_name);
        return tape.variable(rng.normal(0, scale, shape), its_name);
    };
    for (const char* sublayer : {"attention", "ffn"}) {
        const auto f = [&](const Var<double>& u) {
            const Scope scope = tape.scope(sublayer);
            return matmul(u, leaf("W", {d, d}, 1 / std::sqrt(static_cast<double>(d))));
        };
        const auto norm = [&](const Var<double>& u, int which) {
            return rms_norm(u, leaf(which == 1 ? "gamma" : "gamma 2", {d}, 1));
        };
        h = residual(placement, h, f, norm, 1.5);
    }
    return h.named("output");
}

} // namespace chalkgrad::nn
