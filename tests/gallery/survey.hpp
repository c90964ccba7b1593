// What gradcheck says of an exhibit: caught, blamed on the right line and input, with the right cause.
#pragma once

#include <string>

#include <chalkgrad/autograd/check/gradcheck.hpp>

#include "mutants.hpp"

namespace chalkgrad::gallery {

struct Finding {
    bool caught = false, blamed = false, hinted = false;
    std::string report;
};

inline Finding survey(
    const Exhibit& exhibit, std::uint64_t seed, const GradcheckOptions& options = {}, Form form = Form::rule) {
    Generator rng{Seed(seed)};
    const Tape tape;
    std::vector<Var<double>> inputs;
    const Var<double> y = run_sample(find_op(exhibit.op), sample_of(exhibit, rng), tape, &inputs);
    const std::size_t line = line_of(y, exhibit.line);
    const Planted fault(y, line, exhibit.wrong, form);
    const GradcheckReport report = gradcheck(std::vector<Var<double>>{y}, inputs, options);
    Finding finding{report.verdict == Verdict::fail, false, false, to_string(report)};
    bool only_there = true;
    for (const Blame& blame : report.blame) {
        only_there = only_there && blame.line == line;
        if (finding.blamed || blame.input != exhibit.input) continue;
        finding.blamed = true;
        finding.hinted = blame.cause == exhibit.cause;
    }
    finding.blamed = finding.blamed && only_there;
    return finding;
}

/// Surveys all exhibits with the seeds from 0: all caught and rightly blamed, and at least 90 % with the right cause.
inline void survey_all(std::uint64_t seeds, Form form = Form::rule) {
    std::size_t all = 0, hinted = 0;
    for (const Exhibit& exhibit : exhibits())
        for (std::uint64_t seed = 0; seed < seeds; ++seed) BOOST_TEST_CONTEXT(exhibit.name << ", seed " << seed) {
                const Finding finding = survey(exhibit, seed, {}, form);
                BOOST_TEST(finding.caught, finding.report);
                BOOST_TEST(finding.blamed, finding.report);
                if (!finding.hinted)
                    BOOST_TEST_MESSAGE(
                        "cause not found: " << exhibit.name << ", seed " << seed << ": " << finding.report);
                ++all;
                hinted += finding.hinted;
            }
    BOOST_TEST_MESSAGE(all << " faults, the cause of " << hinted << " found");
    BOOST_TEST(10 * hinted >= 9 * all);
}

} // namespace chalkgrad::gallery
