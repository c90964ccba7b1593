// Exercises in which the numbers of a row feel each other: norms, softmax, attention, Sinkhorn.
#include <chalkgrad/experiments/exercises/table.hpp>

namespace chalkgrad {
namespace {

/// The array with all its numbers times a factor.
Array<double> scaled(Array<double> x, double factor) {
    for (double& v : x) v *= factor;
    return x;
}
/// The array with one row times a factor.
Array<double> with_row(Array<double> x, std::size_t row, double factor) {
    for (std::size_t j = 0; j < x.shape(1); ++j) x(row, j) *= factor;
    return x;
}

Exercise softmax() {
    Exercise e{"softmax", "softmax: every weight of a row feels every score", "§7"};
    e.task =
        "Each row of x becomes weights y that sum to 1. Given gy, write gx. No exponential is needed: y is handed to "
        "you.";
    e.inputs = {"x"};
    e.op = "softmax";
    e.hints = {
        "Raise one score: its own weight grows, and all other weights of the row shrink. So the Jacobian of a row is "
        "full.",
        "dy_j = y_j (dx_j − Σ_k y_k dx_k). Check it: the dy_j of a row sum to 0.",
        gradients("softmax", {"x"}) + " with P the weights, that is y: first the sum of the row, then the numbers."};
    e.faults = {
        {"x", {Cause::rank_one},
            "The second term is missing: every weight of a row depends on every score, through the sum below the "
            "fraction. "
            "gx_j = y_j (gy_j − Σ_k gy_k y_k)."},
        {"x", {Cause::zeroed},
            "Every weight of a row depends on every score, through the sum below the fraction: "
            "gx_j = y_j (gy_j − Σ_k gy_k y_k). y (1 − y) is only the diagonal."},
        {"x", {Cause::mean_of_cotangent},
            "What is subtracted from gy_j is its weighted mean Σ_k gy_k y_k, not the plain sum or mean of gy."},
        {"x", {Cause::should_be_zero},
            "Rows have nothing to do with each other: the sum Σ_k gy_k y_k starts anew for each row."}};
    e.points = [](Generator& rng) {
        return std::vector<Sample>{{"three rows", {{"x", rng.standard_normal({3, 5})}}},
            {"one weight near 1", {{"x", Array<double>{{9, 1, 0, -2}, {0.5, 0, -0.5, 1}}}}}};
    };
    return e;
}

Exercise rms_norm() {
    Exercise e{"rms_norm", "RMSNorm: the mean square depends on x too", "§5"};
    e.task =
        "y_tj = γ_j r_t x_tj with r_t = 1/√(mean_j x_tj² + ε). Given gy, write gx and gγ. The statistic r_t is a "
        "function of the row: "
        "a backward that treats it as a constant is the mistake to avoid.";
    e.inputs = {"x", "gamma"};
    e.op = "rms_norm";
    e.hints = {"Write n = r x and vary x: dn = r dx + x dr. How does r change with x?",
        "From r = (mean x² + ε)^(−1/2): dr = −r³ mean(x dx). So dn = r (dx − n mean(n dx)).",
        "That Jacobian is symmetric. With ⟨·⟩ for the mean of a row: " + gradients("rms_norm", {"x", "gamma"}) +
            ". The ε is inside r and nowhere else."};
    e.faults = {{"x", {Cause::statistic},
                    "gy meets γ first: gx is made of h_j = γ_j gy_j throughout. If that holds, r is not the forward's: "
                    "it takes "
                    "the mean of the squares, with its 1/d, and for rows near ε the ε counts."},
        {"x", {Cause::along_x},
            "r depends on x too: every number of a row moves the mean square. Subtract n_j mean_k(n_k h_k) "
            "from h_j, with h = γ gy: is γ inside that mean, and its 1/d?"},
        {"x", {Cause::rank_one},
            "The sum that a row shares has wrong terms: it is mean_k(n_k h_k) with h_k = γ_k gy_k. Is γ inside it?"},
        {"x", {Cause::gain}, "γ_j is missing, or there twice: gy meets γ first, h_j = γ_j gy_j, and gx is made of h."},
        {"x", {Cause::some_elements},
            "What y_j has from x_j itself is wrong: gy meets γ first, h_j = γ_j gy_j, and gx is made of h."},
        {"x", {Cause::epsilon},
            "Right for large rows, wrong where the mean square is near ε: r holds ε, so take n = r x, with the same r "
            "as "
            "the forward, not x/‖x‖."},
        {"gamma", {Cause::gain, Cause::slopes},
            "gγ_j = Σ_t n_tj gy_tj with n = r x: the normalised row, without γ and not x itself."},
        {"gamma", {Cause::not_summed, Cause::zeroed}, "γ is shared by all tokens: gγ adds up over the rows."}};
    e.points = [](Generator& rng) {
        return std::vector<Sample>{
            {"rows of different sizes",
                {{"x", with_row(rng.standard_normal({4, 6}), 1, 0.1)}, {"gamma", rng.standard_normal({6})}}, {},
                {{"eps", 0.01}}},
            {"one row", {{"x", rng.standard_normal({1, 5})}, {"gamma", rng.standard_normal({5})}}, {},
                {{"eps", 0.01}}}};
    };
    return e;
}

Exercise layer_norm() {
    Exercise e{"layer_norm", "LayerNorm: mean and variance depend on x too", "§5"};
    e.task =
        "y_tj = γ_j s_t (x_tj − μ_t) + β_j with the mean μ_t and s_t = 1/√(variance + ε) of the row, the variance "
        "divided by d. Given gy, "
        "write gx, gγ and gβ.";
    e.inputs = {"x", "gamma", "beta"};
    e.op = "layer_norm";
    e.hints = {"Write n = s (x − μ). Two statistics depend on x: vary both.",
        "dn = s (dx − mean(dx) − n mean(n dx)): what every row loses is the part along the constants and the "
        "part along n.",
        "That Jacobian is symmetric too. With ⟨·⟩ for the mean of a row and r for s: " +
            gradients("layer_norm", {"x", "gamma", "beta"}) + "."};
    e.faults = {
        {"x", {Cause::statistic},
            "gy meets γ first: gx is made of h_j = γ_j gy_j throughout. If that holds, s is not the forward's: the "
            "variance is a mean, with its 1/d, and for rows near ε the ε counts."},
        {"x", {Cause::mean_of_cotangent},
            "The mean depends on x too: −mean(h) is missing, h = γ gy. Moving a whole row by a constant does not "
            "change y, so the gx of a row must sum to 0."},
        {"x", {Cause::along_centred_x},
            "The variance depends on x too: −n_j mean(n h) is missing or has a wrong weight, h = γ gy."},
        {"x", {Cause::rank_one}, "mean(h) and mean(n h) take h = γ gy, with γ inside the mean."},
        {"x", {Cause::along_x}, "The variance depends on x too: −n_j mean(n h) is missing, with n = s (x − μ), not x."},
        {"x", {Cause::gain}, "γ_j is missing, or there twice: gy meets γ first, h_j = γ_j gy_j, and gx is made of h."},
        {"x", {Cause::some_elements},
            "What y_j has from x_j itself is wrong: gy meets γ first, h_j = γ_j gy_j, and gx is made of h."},
        {"gamma", {Cause::slopes, Cause::gain},
            "gγ_j = Σ_t n_tj gy_tj with n = s (x − μ): centred, scaled, and without γ."},
        {"gamma", {Cause::not_summed, Cause::zeroed}, "γ is shared by all tokens: gγ adds up over the rows."},
        {"beta", {Cause::not_summed, Cause::zeroed}, "β is shared by all tokens: gβ adds up over the rows."}};
    e.points = [](Generator& rng) {
        const auto point = [&](const char* name, Array<double> x) {
            const std::size_t d = x.shape(1);
            return Sample{name,
                {{"x", std::move(x)}, {"gamma", rng.standard_normal({d})}, {"beta", rng.standard_normal({d})}}, {},
                {{"eps", 0.01}}};
        };
        return std::vector<Sample>{point("rows of different sizes", with_row(rng.standard_normal({4, 6}), 1, 0.1)),
            point("one row", rng.standard_normal({1, 5}))};
    };
    return e;
}

Exercise l2_normalize() {
    Exercise e{"l2_normalize", "unit vectors, and the branch of their guard", "§7"};
    e.task =
        "y_t = x_t / max(‖x_t‖, ε): the original QKNorm divides queries and keys by their lengths, guarded against 0. "
        "Given gy, write gx "
        "on both sides of the guard. Here ε = 0.5, so that a checked row lies below it.";
    e.inputs = {"x"};
    e.op = "l2_normalize";
    e.hints = {
        "There are two formulas: one for rows longer than ε, one for rows shorter. Write the if of the forward again.",
        "Below ε the forward divides by a constant, so the gradient does too.",
        "Above, with y = x/‖x‖:  dy = (dx − y Σ y dx)/‖x‖, which is symmetric. With m = ‖x‖, and ε for the floor: " +
            gradients("l2_normalize", {"x"}) + "."};
    e.faults = {{"x", {Cause::statistic},
                    "The length depends on x too: −u_j Σ_k u_k gy_k with u = x/‖x‖, and all of it over ‖x‖; below ε "
                    "without the "
                    "term along u."},

        {"x", {Cause::along_x},
            "The length depends on x too: −u_j Σ_k u_k gy_k is missing, u = x/‖x‖. A unit vector cannot move along "
            "itself."},
        {"x", {Cause::branch},
            "Right for some rows and wrong for others: a row shorter than ε is divided by the constant ε, so gx = gy/ε "
            "there, "
            "without the term along u."},
        {"x", {Cause::epsilon},
            "Wrong for the short row: a row shorter than ε is divided by the constant ε, so gx = gy/ε there, without "
            "the "
            "term along u."}};
    e.points = [](Generator& rng) {
        return std::vector<Sample>{
            {"both sides of the guard", {{"x", with_row(rng.standard_normal({4, 5}), 2, 0.05)}}, {}, {{"eps", 0.5}}},
            {"a long row", {{"x", scaled(rng.standard_normal({1, 4}), 10)}}, {}, {{"eps", 0.5}}}};
    };
    return e;
}

Exercise rope() {
    Exercise e{"rope", "RoPE: the transpose of a rotation", "Su et al. 2021"};
    e.task =
        "Each pair (x_ti, x_t,i+d/2) turns by an angle that depends on the position t only. Given gy, write gx. The "
        "map is linear, so its "
        "backward is its transpose.";
    e.inputs = {"x"};
    e.op = "rope";
    e.hints = {"What is the transpose of a rotation by an angle φ?",
        "It is the rotation by −φ: cos stays, sin changes its sign.",
        gradients("rope", {"x"}) + ": gx_ti = gy_ti cos + gy_t,i+d/2 sin,  gx_t,i+d/2 = −gy_ti sin + gy_t,i+d/2 cos."};
    e.faults = {{"x", {Cause::transposed},
                    "This turns gy forward. The backward is the transpose of a rotation, and that turns by −φ: swap "
                    "the sign of "
                    "sin."},
        {"x", {Cause::misplaced},
            "Gradients land on the wrong features: feature i is paired with i + d/2, not with its neighbour i + 1."},
        {"x", {Cause::zeroed}, "Each y feels both features of its pair: two terms for each gx."}};
    e.points = [](Generator& rng) {
        return std::vector<Sample>{
            {"four tokens", {{"x", rng.standard_normal({4, 6})}}, {}, {{"style", std::string("half")}}},
            {"one pair", {{"x", rng.standard_normal({3, 2})}}, {}, {{"style", std::string("half")}}}};
    };
    return e;
}

Exercise attention() {
    Exercise e{"attention", "one head of causal attention: five products and a softmax", "§7"};
    e.task =
        "y_i = Σ_j p_ij v_j with the weights p = softmax(q kᵀ/√d) over the keys j <= i. Given gy, write gq, gk and gv. "
        "weights(q, k) of the "
        "file gives you p again.";
    e.inputs = {"q", "k", "v"};
    e.op = "sdpa";
    e.hints = {
        "Go backwards through the three steps: y = p v, then p = softmax(s), then s = q kᵀ/√d. The first and the last "
        "are the exercise "
        "linear, the middle one is softmax.",
        "gv_j = Σ_i p_ij gy_i, and gp_ij = Σ_l gy_il v_jl. Then the softmax: gs_ij = p_ij (gp_ij − Σ_k gp_ik p_ik).",
        "As matrices, with α = 1/√d, y for O and no cap: " + gradients("sdpa", {"q", "k", "v"}) +
            ". Hidden keys have p_ij = 0, so they drop out by themselves."};
    e.faults = {{"q", {Cause::factor}, "The scores were divided by √d: that factor is in gq as well."},
        {"k", {Cause::factor}, "The scores were divided by √d: that factor is in gk as well."},
        {"q", {Cause::rank_one}, "The softmax's second term is missing: gs_ij = p_ij (gp_ij − Σ_k gp_ik p_ik)."},
        {"v", {Cause::transposed, Cause::misplaced},
            "gv_j = Σ_i p_ij gy_i sums over the queries i, so p is transposed in it."},
        {"v", {Cause::should_be_zero},
            "gv_j = Σ_i p_ij gy_i sums over the queries i that see key j, so p is transposed in it."}};
    e.points = [](Generator& rng) {
        const auto point = [&](const char* name, std::size_t tokens, std::size_t d, std::size_t m) {
            return Sample{name,
                {{"q", rng.standard_normal({tokens, d})}, {"k", rng.standard_normal({tokens, d})},
                    {"v", rng.standard_normal({tokens, m})}},
                {}, {{"causal", true}}};
        };
        return std::vector<Sample>{point("four tokens", 4, 3, 3), point("narrow values", 5, 4, 2)};
    };
    return e;
}

Exercise sinkhorn() {
    Exercise e{"sinkhorn", "one sweep of Sinkhorn in the log domain", "§12"};
    e.task =
        "m minus the logsumexp of each row, then of each column, then exp: the mixing matrix of mHC after one sweep. "
        "Given gy, write gm. The "
        "steps of the forward are functions of the file: you need their results again.";
    e.inputs = {"m"};
    e.op = "sinkhorn_log";
    e.hints = {
        "Three steps, so three steps back: exp, the columns, the rows. Start with G = gy y, the gradient of the last "
        "matrix of logs.",
        "One step is m_ij − logsumexp_k(m_ik). The slope of logsumexp is the softmax P of the row, so its backward is "
        "G_ij − P_ij Σ_k G_ik.",
        "With L for m and A for y, " + gradients("sinkhorn_log", {"m"}) +
            ". P is exp of the matrix just after that step: for the columns it is y, with sums along columns; for the "
            "rows "
            "it is exp(normalize_rows(m)), with sums along rows. Columns first, since they came last."};
    e.faults = {
        {"m", {Cause::rank_one},
            "A half-step is missing or has a wrong weight: each one subtracts P_ij times the sum of G over its line."},
        {"m", {Cause::gain},
            "Each number has a factor of its own: the first step back is that of exp, G = gy y, element by element."},
        {"m", {Cause::zeroed},
            "A half-step is missing or wrong: every number of y feels its whole row and its whole column, through the "
            "sums of both steps."},
        {"m", {Cause::unknown},
            "Each half-step subtracts P_ij times the sum of G over its line, with P just after that step, and the "
            "columns "
            "go first. Is one of them missing, or has it the other's P?"},
        {"m", {Cause::mean_of_cotangent},
            "Each half-step subtracts P_ij times the sum of G over its line, not the mean of the line."}};
    e.points = [](Generator& rng) {
        const Attributes attributes = {{"iterations", 1.0}, {"order", std::string("rows_first")}};
        return std::vector<Sample>{{"four streams", {{"m", rng.standard_normal({4, 4})}}, {}, attributes},
            {"three streams", {{"m", rng.standard_normal({3, 3})}}, {}, attributes}};
    };
    return e;
}

} // namespace

std::vector<Exercise> exercises_on_rows() {
    return {softmax(), rms_norm(), layer_norm(), l2_normalize(), rope(), attention(), sinkhorn()};
}

} // namespace chalkgrad
