// What a step of gradcheck has found: the part of the report that it fills in. Findings of two steps add up.
#pragma once // internal

#include <cmath>
#include <string>
#include <vector>

#include <chalkgrad/autograd/check/gradcheck.hpp>

namespace chalkgrad::detail {

/// The larger error, or NaN.
inline double worse(double a, double b) { return std::isnan(b) || b > a ? b : a; }

/// Adds a sentence to others.
inline void say(std::string& sentences, const std::string& sentence) {
    sentences += (sentences.empty() ? "" : "; ") + sentence;
}

/// How far apart the two sides of an identity are, from the terms of one and those of the other with their signs turned: `gap` is 0
/// where it holds, and what rounding leaves of it is judged beside `terms`, Σ|terms|.
template <class T> struct Gap {
    T gap = T(0);
    double terms = 0;

    void add(T term) {
        gap += term;
        terms += static_cast<double>(std::abs(term));
    }
};

struct Findings {
    GradcheckReport report;                    ///< its verdict is decided at the end, by verdict_of()
    bool contract_broken = false;              ///< the backward is not what the tape relies on
    bool below_noise = false;                  ///< the transpose identity is lost in rounding errors
    bool nothing_seen = false;                 ///< an input or an output has no numbers
    bool unresolved = false;                   ///< the differences cannot tell whether an element is right
    bool unfinite = false;                     ///< an element or its difference is not finite
    std::vector<Array<double>> elsewhere = {}; ///< the point where the backward is wrong, if it is another one

    void say(const std::string& sentence) { detail::say(report.why, sentence); }
    /// Says what breaks the contract; the verdict will be fail. The first reason is the one that is said: what follows follows from it.
    void break_contract(const std::string& sentence) {
        if (!contract_broken) say(sentence);
        contract_broken = true;
    }
    /// Whether something is wrong for certain.
    bool failed() const { return contract_broken || report.failed > 0; }
    Findings& operator+=(const Findings& next);
};

} // namespace chalkgrad::detail
