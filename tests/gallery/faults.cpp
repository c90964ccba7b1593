// The gallery of wrong backwards, once: gradcheck catches each, blames the right line, and mostly knows the cause.
#include <boost/test/unit_test.hpp>

#include <set>

#include <chalkgrad/chalkgrad.hpp>

#include "survey.hpp"

using namespace chalkgrad;
using namespace chalkgrad::gallery;

BOOST_AUTO_TEST_SUITE(faults)

BOOST_AUTO_TEST_CASE(each_is_caught_and_blamed) { survey_all(0, 1); }

BOOST_AUTO_TEST_CASE(the_gallery_covers_every_kind_of_op) {
    BOOST_TEST(exhibits().size() >= 60u);
    std::set<std::string> ops;
    for (const Exhibit& exhibit : exhibits()) ops.insert(exhibit.op);
    for (const CatalogEntry& op : catalog()) BOOST_TEST(ops.count(op.name) == 1u, op.name << " has no wrong backward in the gallery");
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
        y = h + matmul(swiglu_act(matmul(n, weight("gate", {4, 6})), matmul(n, weight("up", {4, 6}))), weight("down", {6, 4}));
    }
    template <class Weight>
    Var<double> attention(const Var<double>& x, Weight weight) {
        const auto scope = tape.scope("attention");
        const Var<double> n = layer_norm(x, weight("ln_gamma", {4}), weight("ln_beta", {4}), 1e-5);
        const auto heads = [&](const char* name) { return transpose(reshape(matmul(n, weight(name, {4, 4})), {3, 2, 2}), {1, 0, 2}); };
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
            BOOST_TEST((report.verdict == Verdict::fail), tape.label(static_cast<detail::Index>(line)) << ", operand " << k);
            BOOST_TEST_REQUIRE(report.blame.size() == 1u, to_string(report));
            BOOST_TEST(report.blame[0].line == line);
            BOOST_TEST(report.blame[0].input == record.op->input_name(k));
            BOOST_TEST(report.blame[0].hint == "off by a constant factor 1.01");
        }
    }
    BOOST_TEST(faults > 30u);
}

BOOST_AUTO_TEST_SUITE_END()
