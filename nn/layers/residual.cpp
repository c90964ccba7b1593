// Names of the placements, and the stand-in block that lectures draw.
#include <chalkgrad/nn/layers/residual.hpp>

#include <cmath>

#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/nn/core/words.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>

namespace chalkgrad::nn {

namespace {

struct PlacementWords {
    Placement value;
    const char *name, *formula;
};
constexpr PlacementWords placement_words[] = {{Placement::pre, "pre", "h + F(N(h))"},
    {Placement::post, "post", "N(h + F(h))"}, {Placement::peri, "peri", "h + N2(F(N1(h)))"},
    {Placement::output_only, "output_only", "h + N(F(h))"}, {Placement::deepnorm, "deepnorm", "N(alpha h + F(h))"},
    {Placement::parallel, "parallel", "h + A(N(h)) + F(N(h))"},
    {Placement::mhc, "mhc", "A H + post F(N(pre H)), H several streams"}};

} // namespace

const char* name(Placement placement) { return word_of("placement", placement_words, placement).name; }
const char* formula(Placement placement) { return word_of("placement", placement_words, placement).formula; }
Placement placement_named(std::string_view word) { return value_named("placement", placement_words, word); }

const std::vector<Placement>& all_placements() {
    static const std::vector<Placement> all = {Placement::pre, Placement::post, Placement::peri, Placement::output_only,
        Placement::deepnorm, Placement::parallel, Placement::mhc};
    return all;
}

const std::vector<Placement>& placements() {
    static const std::vector<Placement> steps(all_placements().begin(), all_placements().begin() + 5);
    return steps;
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
