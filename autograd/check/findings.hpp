// What a step of gradcheck has found: the part of the report that it fills in. Findings of two steps add up.
#pragma once // internal

#include <cmath>
#include <string>

#include <chalkgrad/autograd/check/gradcheck.hpp>

namespace chalkgrad::detail {

/// The larger error, or NaN.
inline double worse(double a, double b) { return std::isnan(b) || b > a ? b : a; }

/// Adds a sentence to what a report says.
inline void say(GradcheckReport& report, const std::string& sentence) {
    report.why += (report.why.empty() ? "" : "; ") + sentence;
}

struct Findings {
    GradcheckReport report;       ///< its verdict is decided at the end, by verdict_of()
    bool contract_broken = false; ///< the backward is not what the tape relies on
    bool below_noise = false;     ///< the transpose identity is lost in rounding errors
    bool nothing_seen = false;    ///< an input or an output has no numbers

    void say(const std::string& sentence) { detail::say(report, sentence); }
    /// Says what breaks the contract; the verdict will be fail.
    void break_contract(const std::string& sentence) {
        contract_broken = true;
        say(sentence);
    }
    Findings& operator+=(const Findings& next);
};

} // namespace chalkgrad::detail
