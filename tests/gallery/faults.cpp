// The gallery of wrong backwards, once: gradcheck catches each, blames the right line, and mostly knows the cause.
#include <boost/test/unit_test.hpp>

#include <set>

#include <chalkgrad/autograd/tape/single_op.hpp>
#include <chalkgrad/chalkgrad.hpp>

#include "survey.hpp"

namespace test_faults {
BOOST_AUTO_TEST_SUITE(faults)

using namespace chalkgrad;
using namespace chalkgrad::gallery;

BOOST_AUTO_TEST_CASE(each_is_caught_and_blamed) { survey_all(1); }
BOOST_AUTO_TEST_CASE(each_is_caught_and_blamed_in_double_only) { survey_all(1, Form::double_only); }
BOOST_AUTO_TEST_CASE(each_is_caught_and_blamed_as_a_users_op) { survey_all(1, Form::custom); }

BOOST_AUTO_TEST_CASE(the_gallery_covers_every_kind_of_op) {
    BOOST_TEST(exhibits().size() >= 60u);
    std::set<std::string> ops;
    for (const Exhibit& exhibit : exhibits()) ops.insert(exhibit.op);
    for (const CatalogEntry& op : catalog())
        BOOST_TEST(ops.count(op.name) == 1u, op.name << " has no wrong backward in the gallery");
}

// Along random directions first: what disagrees there is looked at in full.
BOOST_AUTO_TEST_CASE(each_is_caught_along_directions) {
    GradcheckOptions options;
    options.coverage = Coverage::projected;
    for (const Exhibit& exhibit : exhibits()) {
        const Finding finding = survey(exhibit, 0, options);
        BOOST_TEST(finding.caught, exhibit.name << ": " << finding.report);
    }
}

// At these points no slope shows the fault. A second point shows it, unless it lies beyond a limit that neither reaches: then the check of
// a rule in double alone says so, and proposes a point at which it sees it.
BOOST_AUTO_TEST_CASE(faults_that_the_point_hides_do_not_pass) {
    using Vars = std::vector<Var<double>>;
    using Point = std::vector<Array<double>>;
    const auto check = [](const Point& point, const auto& f, const WrongVjp& wrong, Form form) {
        const Tape tape;
        Vars inputs;
        for (const Array<double>& x : point) inputs.push_back(tape.variable(x));
        const Var<double> y = f(inputs);
        const Planted fault(y, y.line(), wrong, form);
        return gradcheck(Vars{y}, inputs);
    };
    const auto hidden = [&](const Point& point, const auto& f, const WrongVjp& wrong) {
        bool proposed = false;
        for (const Form form : {Form::double_only, Form::custom}) {
            const GradcheckReport report = check(point, f, wrong, form);
            BOOST_TEST(!report, to_string(report));
            proposed = report.verdict == Verdict::inconclusive;
            if (!proposed) continue;
            BOOST_TEST_REQUIRE(report.proposal.size() == point.size(), to_string(report));
            BOOST_TEST((check(report.proposal, f, wrong, form).verdict == Verdict::fail));
        }
        BOOST_TEST(!check(point, f, wrong, Form::rule));
        return proposed;
    };
    Generator rng{Seed(0)};
    const Array<double> x = rng.uniform(-4, 4, Shape{3, 5}), u = rng.uniform(-4, 4, Shape{3, 5}), ones{1, 1, 1, 1, 1};
    const auto norm = [](const Vars& v) { return rms_norm(v[0], v[1], 1e-5); };
    // of Megatron-LM#6859 and llm.c#763: the gain used twice, or not at all
    BOOST_TEST(!hidden(
        {x, ones}, norm, only(0, derivative_of([](const Vars& v) { return rms_norm(v[0], v[1] * v[1], 1e-5); }))));
    BOOST_TEST(
        !hidden({x, ones}, norm, only(0, derivative_of([](const Vars& v) { return rms_norm(v[0], {}, 1e-5); }))));
    // limits of 7 that numbers from -4 to 4 never reach
    BOOST_TEST(hidden(
        {x, u},
        [](const Vars& v) {
            return swiglu_act(v[0], v[1], {1.702, 7.0, 7.0, 1.0});
        },
        derivative_of([](const Vars& v) {
            return swiglu_act(v[0], v[1], {1.702, {}, {}, 1.0});
        })));
}

// One element of a Jacobian is off by a hundred-millionth of the largest.
BOOST_AUTO_TEST_CASE(single_elements_are_seen) {
    std::size_t faults = 0;
    for (const CatalogEntry& op : catalog()) {
        Generator rng{Seed(3)};
        for (const Sample& sample : op.samples(rng)) {
            const Tape tape;
            std::vector<Var<double>> inputs;
            const Var<double> y = run_sample(op, sample, tape, &inputs);
            const detail::TapeState& lines = *tape.state();
            const detail::Record& record = lines[static_cast<detail::Index>(y.line())];
            if (record.op == nullptr || !lines[lines.inputs(record)[0]].has(detail::Record::needs_grad)) continue;
            detail::SingleOp<double> alone(lines, record);
            alone.forward();
            double largest = 0;
            std::vector<double> one(y.size(), 0.);
            for (double& e : one) {
                e = 1;
                for (const double g : alone.vjp({0}, one)) largest = std::max(largest, std::abs(g));
                e = 0;
            }
            if (largest == 0) continue;
            const std::size_t row = rng.integers<std::size_t>(0, y.size());
            const Planted fault(y, y.line(), then([=](const Backward& c) {
                if (c.gx[0]) c.gx[0][row % c.gx[0].size()] += 1e-8 * largest * c.gy[row];
            }));
            GradcheckOptions options;
            options.blind_spots = false;
            const GradcheckReport report = gradcheck(std::vector<Var<double>>{y}, inputs, options);
            BOOST_TEST((report.verdict == Verdict::fail), op.name << ", " << sample.name << ": " << to_string(report));
            ++faults;
        }
    }
    BOOST_TEST_MESSAGE(faults << " single elements");
    BOOST_TEST(faults > 250u);
}

// Without a fault the same samples raise nothing, so the gallery's alarms come from the faults alone.
BOOST_AUTO_TEST_CASE(without_the_fault_nothing_is_found) {
    for (const Exhibit& exhibit : exhibits()) {
        Generator rng{Seed(0)};
        std::vector<Var<double>> inputs;
        const Var<double> y = run_sample(find_op(exhibit.op), sample_of(exhibit, rng), Tape(), &inputs);
        const Planted right(y, line_of(y, exhibit.line), [](const Backward& c) { c.run_right(); });
        const GradcheckReport report = gradcheck(std::vector<Var<double>>{y}, inputs);
        BOOST_TEST((report.verdict != Verdict::fail), exhibit.name << ": " << to_string(report));
    }
}

namespace {

/// A Pre-LN block: x + attention(norm x), then + swiglu(norm x).
struct Block {
    Tape tape;
    std::vector<Var<double>> inputs;
    Var<double> y;

    Block() {
        Generator rng{Seed(7)};
        const auto weight = [&](const char* name, const Shape& shape) {
            return inputs.emplace_back(tape.variable(rng.standard_normal(shape), name));
        };
        const Var<double> x = weight("x", {3, 4}), h = x + attention(x, weight), n = [&] {
            const auto scope = tape.scope("norm");
            return rms_norm(h, weight("gamma", {4}), 1e-5);
        }();
        const auto scope = tape.scope("ffn");
        y = h + matmul(swiglu_act(matmul(n, weight("gate", {4, 6})), matmul(n, weight("up", {4, 6}))),
                    weight("down", {6, 4}));
    }
    template <class Weight> Var<double> attention(const Var<double>& x, Weight weight) {
        const auto scope = tape.scope("attention");
        const Var<double> n = layer_norm(x, weight("ln_gamma", {4}), weight("ln_beta", {4}), 1e-5);
        const auto heads = [&](const char* name) {
            return transpose(reshape(matmul(n, weight(name, {4, 4})), {3, 2, 2}), {1, 0, 2});
        };
        AttentionOptions options;
        options.causal = true;
        const Var<double> q = rope(heads("w_q")), k = heads("w_k"), v = heads("w_v");
        return matmul(reshape(transpose(sdpa(q, k, v, options), {1, 0, 2}), {3, 4}), weight("w_o", {4, 4}));
    }
};

} // namespace

// One fault at a time, in every operand of every line.
BOOST_AUTO_TEST_CASE(a_block_is_searched_for_the_line) {
    const Block block;
    BOOST_TEST(blame(block.y).empty());
    detail::TapeState& tape = *block.y.state();
    std::size_t faults = 0;
    for (std::size_t line = 0; line <= block.y.line(); ++line) {
        const detail::Record& record = tape[static_cast<detail::Index>(line)];
        if (record.op == nullptr) continue;
        for (std::size_t k = 0; k < record.input_count; ++k) {
            const detail::Index operand = tape.inputs(record)[k];
            if (operand == detail::absent || !tape[operand].has(detail::Record::needs_grad)) continue;
            ++faults;
            const Planted fault(block.y, line, scaled(k, 1.01));
            const GradcheckReport report = gradcheck(std::vector<Var<double>>{block.y}, block.inputs);
            BOOST_TEST(
                (report.verdict == Verdict::fail), tape.label(static_cast<detail::Index>(line)) << ", operand " << k);
            BOOST_TEST_REQUIRE(report.blame.size() == 1u, to_string(report));
            BOOST_TEST(report.blame[0].line == line);
            BOOST_TEST(report.blame[0].input == record.op->input_name(k));
            BOOST_TEST(report.blame[0].hint == "off by a constant factor 1.01");
        }
    }
    BOOST_TEST(faults > 30u);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_faults
