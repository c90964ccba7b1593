// Exercises whose outputs are sums and products: linear layers and activations.
#include <chalkgrad/experiments/exercises/table.hpp>

namespace chalkgrad {
namespace {

Exercise linear() {
    Exercise e{"linear", "a linear layer: the two products of its backward", "§8"};
    e.task =
        "y = x w is the product that every projection of a block is made of. Given gy, what arrives for y, write gx "
        "and gw.";
    e.inputs = {"x", "w"};
    e.op = "matmul";
    e.hints = {"Vary x and w a little: dy = dx w + x dw. Both terms are products of matrices.",
        "The gradient is what makes Σ gy dy = Σ gx dx + Σ gw dw hold for all dx and dw. Look at one element: "
        "x_ti feeds "
        "y_tj for every j, with the factor w_ij.",
        "gx_ti = Σ_j gy_tj w_ij and gw_ij = Σ_t x_ti gy_tj. As matrices, with a for x and b for w: " +
            gradients("matmul", {"a", "b"}) + ". The shapes allow nothing else, unless n = m."};
    e.faults = {{"x", {Cause::transposed, Cause::misplaced},
                    "gx uses w where wᵀ belongs: gx_ti = Σ_j gy_tj w_ij sums over the outputs j."},
        {"w", {Cause::not_summed, Cause::zeroed},
            "w is shared by all tokens: gw adds up over the rows of x. An = where += belongs keeps the last row "
            "only."}};
    e.points = [](Generator& rng) {
        return std::vector<Sample>{
            {"as many outputs as inputs", {{"a", rng.standard_normal({4, 3})}, {"b", rng.standard_normal({3, 3})}}},
            {"fewer outputs", {{"a", rng.standard_normal({2, 5})}, {"b", rng.standard_normal({5, 2})}}}};
    };
    return e;
}

Exercise silu() {
    Exercise e{"silu", "the slope of SiLU", "§8"};
    e.task = "y = x σ(x), number by number, with σ(x) = 1/(1 + e^−x). Given gy, write gx.";
    e.inputs = {"x"};
    e.op = "silu";
    e.hints = {"Each y depends on one x only, so gx = gy y′(x). A product rule is enough.", "σ′(x) = σ(x) (1 − σ(x)).",
        gradients("silu", {"x"}) + ". Take σ from sigmoid() of the file, which does not overflow."};
    e.faults = {{"x", {Cause::slopes, Cause::gain},
        "The slope of x σ(x) has two terms, by the product rule: σ(x), and x σ′(x) with σ′ = σ (1 − σ)."}};
    e.points = [](Generator& rng) {
        return std::vector<Sample>{{"both sides of 0", {{"x", rng.uniform(-4, 4, {3, 5})}}},
            {"far out", {{"x", Array<double>{{-30, -12, 12, 30}}}}}};
    };
    return e;
}

Exercise swiglu() {
    Exercise e{"swiglu", "a gate: SiLU times a second projection", "§8"};
    e.task =
        "y = g σ(g) u, number by number: the gate of a SwiGLU FFN before its last projection. Given gy, write gg and "
        "gu.";
    e.inputs = {"g", "u"};
    e.op = "swiglu_act";
    e.hints = {"Hold u still and vary g, then the other way round.",
        "gu = gy SiLU(g): for u the gate is a constant factor.",
        "gg = gy u SiLU′(g): the slope of SiLU, times the factor that stands beside it. For y = SiLU(x): " +
            gradients("silu", {"x"}) + "."};
    e.faults = {{"g", {Cause::gain},
                    "The slope of SiLU alone is not enough: y = SiLU(g) u, so u stands beside it as a factor."},
        {"g", {Cause::slopes}, "gg = gy u SiLU′(g). Is u in it, and has SiLU′ both its terms, σ and g σ (1 − σ)?"},
        {"u", {Cause::gain}, "gu = gy SiLU(g): the whole SiLU, not σ alone."},
        {"u", {Cause::slopes}, "gu = gy SiLU(g): the whole SiLU, g σ(g), and not its slope or σ alone."}};
    e.points = [](Generator& rng) {
        return std::vector<Sample>{
            {"moderate", {{"g", rng.uniform(-4, 4, {3, 5})}, {"u", rng.standard_normal({3, 5})}}},
            {"far out", {{"g", Array<double>{{-30, -9, 9, 30}}}, {"u", rng.standard_normal({1, 4})}}}};
    };
    return e;
}

Exercise gpt_oss() {
    Exercise e{"gpt_oss", "the activation of gpt-oss: three clamps and what they close", "§9"};
    e.task =
        "a = min(g, 7) and b = clip(u, −7, 7), then y = a σ(1.702 a) (b + 1). Given gy, write gg and gu. Where a clamp "
        "holds, its input "
        "does nothing. At exactly 7 a clamp still passes its gradient; no checked number lies there.";
    e.inputs = {"g", "u"};
    e.op = "swiglu_act";
    e.hints = {"First forget the clamps: differentiate y by a and by b. Then ask how a depends on g, and b on u.",
        "da/dg is 1 for g <= 7 and 0 above. There is no lower clamp on g. db/du is 1 for |u| <= 7 and 0 outside.",
        "With φ = a σ(αa), so that φ′ = σ + α a σ (1 − σ) with α = 1.702, and with a for g′, b for u′, c = 1: " +
            gradients("swiglu_act", {"g", "u"}) + ". All are taken at a and b, not at g and u."};
    e.faults = {
        {"g", {Cause::should_be_zero}, "Above 7 the gate is clamped: y no longer depends on g there, so gg must be 0."},
        {"g", {Cause::zeroed}, "The gate is clamped from above only: below −7 its gradient passes."},
        {"u", {Cause::should_be_zero},
            "Outside −7 … 7 u is clamped: y no longer depends on it there, so gu must be 0."},
        {"u", {Cause::zeroed}, "gu is 0 at too many places: u passes wherever |u| <= 7, whatever g is."},
        {"g", {Cause::slopes, Cause::gain},
            "dy/da = (b + 1) (σ + α a σ (1 − σ)): is the 1 of b + 1 there, and α = 1.702 as the inner derivative?"}};
    e.points = [](Generator& rng) {
        const Attributes attributes = {{"alpha", 1.702}, {"gate_limit", 7.0}, {"up_limit", 7.0}, {"shift_up", 1.0}};
        return std::vector<Sample>{
            {"inside the limits", {{"g", rng.uniform(-4, 4, {3, 4})}, {"u", rng.uniform(-4, 4, {3, 4})}}, {},
                attributes},
            {"on all sides of them",
                {{"g", Array<double>{{-9, -8, 3, 6, 8, 9}}}, {"u", Array<double>{{3, -9, 8, -8, 2, 9}}}}, {},
                attributes}};
    };
    return e;
}

Exercise dyt() {
    Exercise e{"dyt", "DyT: sums over what a parameter is shared by", "§11"};
    e.task =
        "y_tj = γ_j tanh(α x_tj) + β_j, with one α for all numbers and a γ and a β for each feature. Given gy, write "
        "the gradients of "
        "x, α, γ and β. What is shared gets the sum over all that it feeds.";
    e.inputs = {"x", "alpha", "gamma", "beta"};
    e.op = "dyt";
    e.hints = {"With h = tanh(αx): dh = (1 − h²) (α dx + x dα). Then y = γ h + β.",
        "gx_tj = gy_tj γ_j (1 − h_tj²) α. The other three have fewer numbers than y: which axes does each of "
        "them not have?",
        gradients("dyt", {"x", "alpha", "gamma", "beta"}) + ". Here tanh(αx) is h and sech² is 1 − h²."};
    e.faults = {{"x", {Cause::factor}, "A constant factor is off: the inner derivative of tanh(αx) by x is α."},
        {"x", {Cause::gain}, "Each feature has its own factor γ_j in gx: gx_tj = gy_tj γ_j (1 − h_tj²) α."},
        {"x", {Cause::slopes},
            "gx_tj = gy_tj γ_j (1 − h_tj²) α: is γ_j there, and is it h = tanh(αx) in the bracket, not x or y?"},
        {"alpha", {Cause::not_summed, Cause::zeroed},
            "One α feeds every number of y: gα is a sum over rows and features."},
        {"alpha", {Cause::slopes},
            "gα = Σ_tj gy_tj γ_j (1 − h_tj²) x_tj: by α the inner derivative is x, and γ_j stands beside it."},
        {"gamma", {Cause::not_summed, Cause::zeroed}, "γ_j feeds a whole column of y: gγ_j adds up over the rows."},
        {"beta", {Cause::not_summed, Cause::zeroed}, "β_j feeds a whole column of y: gβ_j adds up over the rows."}};
    e.points = [](Generator& rng) {
        const auto point = [&](const char* name, std::size_t rows, std::size_t d, double alpha) {
            Array<double> slope = rng.standard_normal({});
            slope() = alpha;
            return Sample{name, {{"x", rng.standard_normal({rows, d})}, {"alpha", slope},
                                    {"gamma", rng.standard_normal({d})}, {"beta", rng.standard_normal({d})}}};
        };
        return std::vector<Sample>{point("three rows", 3, 4, 0.5), point("a steep slope", 2, 3, 1.7)};
    };
    return e;
}

} // namespace

std::vector<Exercise> exercises_on_elements() { return {linear(), silu(), swiglu(), gpt_oss(), dyt()}; }

} // namespace chalkgrad
