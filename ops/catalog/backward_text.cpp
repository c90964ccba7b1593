// The backwards of all ops as text.
#include <chalkgrad/ops/catalog/backward_text.hpp>

#include <map>

namespace chalkgrad {
namespace {

using Table = std::map<std::string, BackwardText, std::less<>>;

Table elementwise() {
    return {
        {"add", {{{"a", "ā = unb(ȳ)"}, {"b", "b̄ = unb(ȳ)"}}, ""}},
        {"sub", {{{"a", "ā = unb(ȳ)"}, {"b", "b̄ = unb(−ȳ)"}}, ""}},
        {"mul", {{{"a", "ā = unb(ȳ b)"}, {"b", "b̄ = unb(ȳ a)"}}, ""}},
        {"div", {{{"a", "ā = unb(ȳ / b)"}, {"b", "b̄ = unb(−ȳ y / b)"}}, ""}},
        {"minimum", {{{"a", "ā = unb(ȳ [a < b]), half at a tie"}, {"b", "b̄ = unb(ȳ [b < a]), half at a tie"}}, ""}},
        {"maximum", {{{"a", "ā = unb(ȳ [a > b]), half at a tie"}, {"b", "b̄ = unb(ȳ [b > a]), half at a tie"}}, ""}},
        {"logaddexp", {{{"a", "ā = unb(ȳ σ(a − b))"}, {"b", "b̄ = unb(ȳ σ(b − a))"}}, ""}},
        {"neg", {{{"x", "x̄ = −ȳ"}}, ""}},
        {"exp", {{{"x", "x̄ = ȳ y"}}, ""}},
        {"log", {{{"x", "x̄ = ȳ / x"}}, ""}},
        {"log1p", {{{"x", "x̄ = ȳ / (1 + x)"}}, ""}},
        {"sqrt", {{{"x", "x̄ = ȳ / (2y)"}}, ""}},
        {"rsqrt", {{{"x", "x̄ = −½ ȳ y / x"}}, ""}},
        {"square", {{{"x", "x̄ = 2 x ȳ"}}, ""}},
        {"reciprocal", {{{"x", "x̄ = −ȳ y²"}}, ""}},
        {"tanh", {{{"x", "x̄ = ȳ (1 − y²)"}}, ""}},
        {"erf", {{{"x", "x̄ = ȳ (2/√π) exp(−x²)"}}, ""}},
        {"abs", {{{"x", "x̄ = ȳ sign(x)"}}, ""}},
        {"pow", {{{"x", "x̄ = ȳ p xᵖ⁻¹"}}, ""}},
        {"clamp", {{{"x", "x̄ = ȳ [min ≤ x ≤ max]"}}, ""}},
        {"relu", {{{"x", "x̄ = ȳ [x > 0]"}}, ""}},
        {"sigmoid", {{{"x", "x̄ = ȳ y (1 − y)"}}, ""}},
        {"softplus", {{{"x", "x̄ = ȳ σ(x)"}}, ""}},
        {"silu", {{{"x", "x̄ = ȳ (s + y (1 − s)), s = σ(x)"}}, ""}},
        {"quick_gelu", {{{"x", "x̄ = ȳ (s + α y (1 − s)), s = σ(αx)"}}, ""}},
        {"gelu_erf", {{{"x", "x̄ = ȳ (Φ(x) + x φ(x))"}}, "Φ(x)"}},
        {"gelu_tanh", {{{"x", "x̄ = ȳ (½(1 + t) + ½ x (1 − t²) u′), t = tanh u"}}, ""}},
        {"softcap", {{{"s", "s̄ = ȳ (1 − (y/c)²)"}}, ""}},
    };
}

Table structure_and_reductions() {
    return {
        {"sum", {{{"x", "x̄ = ȳ, repeated along the axes"}}, ""}},
        {"mean", {{{"x", "x̄ = ȳ / N, repeated along the axes"}}, ""}},
        {"var_biased", {{{"x", "x̄ = 2 ȳ (x − μ) / N"}}, "μ"}},
        {"amax", {{{"x", "x̄ = ȳ m / Σm, m = [x = y]"}}, ""}},
        {"amin", {{{"x", "x̄ = ȳ m / Σm, m = [x = y]"}}, ""}},
        {"logsumexp", {{{"x", "x̄ = ȳ exp(x − y)"}, {"mask", "mask̄ = unb(x̄)"}}, "the largest, log of the sum"}},
        {"reshape", {{{"x", "x̄ = ȳ in the shape of x"}}, ""}},
        {"transpose", {{{"x", "x̄ = ȳ with its axes in the first order"}}, ""}},
        {"concat", {{{"x", "x̄ₖ = its part of ȳ"}}, ""}},
        {"stack", {{{"x", "x̄ₖ = its slice of ȳ"}}, ""}},
        {"slice", {{{"x", "x̄ = ȳ at its places, 0 elsewhere"}}, ""}},
        {"where", {{{"a", "ā = unb(ȳ [cond])"}, {"b", "b̄ = unb(ȳ [not cond])"}}, ""}},
        {"repeat_kv", {{{"k", "k̄ = sum of ȳ over a head's copies"}}, ""}},
        {"embedding", {{{"table", "row i of the table: Σ of ȳ where id = i"}}, ""}},
        {"matmul", {{{"a", "ā = ȳ bᵀ"}, {"b", "b̄ = aᵀ ȳ"}}, ""}},
    };
}

Table model_parts() {
    return {
        {"softmax", {{{"x", "x̄ = y (ȳ − Σⱼ yⱼ ȳⱼ)"}, {"mask", "mask̄ = unb(x̄)"}}, ""}},
        {"log_softmax", {{{"x", "x̄ = ȳ − exp(y) Σⱼ ȳⱼ"}, {"mask", "mask̄ = unb(x̄)"}}, ""}},
        {"cross_entropy", {{{"logits", "z̄ = ȳ (P − onehot) / N"}}, "largest logit and log of the sum, by row"}},
        {"rms_norm", {{{"x", "x̄ = r (h − n⟨n h⟩), h = γȳ"}, {"gamma", "γ̄ = Σ n ȳ"}}, "r = 1/√(⟨x²⟩ + ε), by row"}},
        {"layer_norm", {{{"x", "x̄ = r (h − ⟨h⟩ − n⟨n h⟩), h = γȳ"}, {"gamma", "γ̄ = Σ n ȳ"}, {"beta", "β̄ = Σ ȳ"}},
                           "mean and r, by row"}},
        {"rms_norm_floor", {{{"x", "x̄ = (ȳ − y⟨y ȳ⟩) / R; ȳ / floor below it"}}, "R = √⟨x²⟩, by row"}},
        {"l2_normalize", {{{"x", "x̄ = (ȳ − y (y·ȳ)) / m"}}, "m = the length, by row"}},
        {"dyt", {{{"x", "x̄ = α w, w = ȳ γ (1 − t²), t = tanh αx"}, {"alpha", "ᾱ = Σ w x"}, {"gamma", "γ̄ = Σ ȳ t"},
                     {"beta", "β̄ = Σ ȳ"}},
                    ""}},
        {"dyisru_b", {{{"x", "x̄ = w b/h², w = ȳ γ/h, h = √(b + x²)"}, {"b", "b̄ = −½ Σ w n/h"}, {"gamma", "γ̄ = Σ ȳ n"},
                          {"beta", "β̄ = Σ ȳ"}},
                         "√b"}},
        {"dyisru_softplus", {{{"x", "x̄ = w b/h², w = ȳ γ/h, h = √(b + x²)"}, {"r", "r̄ = σ(r) b̄, b̄ = −½ Σ w n/h"},
                                 {"gamma", "γ̄ = Σ ȳ n"}, {"beta", "β̄ = Σ ȳ"}},
                                "√b"}},
        {"swiglu_act", {{{"g", "ḡ = ȳ (u′ + c)(s + αφ(1 − s)) [g ≤ L]"}, {"u", "ū = ȳ φ(g′) [|u| ≤ L]"}},
                           "the smaller of σ and 1 − σ"}},
        {"gpt_oss_packed", {{{"p", "p̄₂ᵢ = ḡᵢ, p̄₂ᵢ₊₁ = ūᵢ of the clamped gate"}}, "the smaller of σ and 1 − σ"}},
        {"reglu", {{{"g", "ḡ = ȳ u [g > 0]"}, {"u", "ū = ȳ relu(g)"}}, ""}},
        {"geglu", {{{"g", "ḡ = ȳ u (Φ(g) + g φ(g))"}, {"u", "ū = ȳ g Φ(g)"}}, ""}},
        {"rope", {{{"x", "x̄ = ȳ turned back by the same angles"}}, "cos and sin"}},
        {"sdpa", {{{"q", "Q̄ = α S̄ K, S̄ = P (ŌVᵀ − D) cap′, D = Ō·O"}, {"k", "K̄ = α S̄ᵀ Q"}, {"v", "V̄ = Pᵀ Ō"},
                      {"mask", "mask̄ = unb(P (ŌVᵀ − D))"}},
                     "log of the softmax's sum, by row"}},
        {"sdpa_sinks", {{{"q", "Q̄ = α S̄ K, S̄ = P (ŌVᵀ − D) cap′, D = Ō·O"}, {"k", "K̄ = α S̄ᵀ Q"}, {"v", "V̄ = Pᵀ Ō"},
                            {"sinks", "sink̄ = −Σ p_sink D"}, {"mask", "mask̄ = unb(P (ŌVᵀ − D))"}},
                           "log of the softmax's sum, by row"}},
        {"sinkhorn_log",
            {{{"m", "G = ȳ y; from the last half-step back: G ← G − P Σ G; m̄ = G"}}, "potentials of all half-steps"}},
        {"mhc_mix_fixed", {{{"X", "X̄ = Aᵀ ȳ"}}, ""}},
        {"mhc_mix_param", {{{"X", "X̄ = Aᵀ ȳ"}, {"m", "m̄ from Ā = ȳ Xᵀ through Sinkhorn"}}, "A, potentials"}},
        {"mhc_mix_xdep", {{{"X", "X̄ = Aᵀ ȳ + mat(z̄ Wᵀ), z̄ = α L̄, L̄ from Ā = ȳ Xᵀ"}, {"W", "W̄ = vec(X)ᵀ z̄"},
                              {"bias", "B̄ = L̄"}, {"alpha", "ᾱ = Σ L̄ mat(z)"}},
                             "z, A, potentials"}},
    };
}

} // namespace

const BackwardText* backward_text(std::string_view op) {
    static const Table table = [] {
        Table all = elementwise();
        all.merge(structure_and_reductions());
        all.merge(model_parts());
        return all;
    }();
    const auto found = table.find(op);
    return found == table.end() ? nullptr : &found->second;
}

} // namespace chalkgrad
