// Described models as modules: what is on the tape is what the ledger counts, at full size without a number, and
// reduced with them.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <map>
#include <sstream>

#include <chalkgrad/autograd/check/jacobian.hpp>
#include <chalkgrad/autograd/graph/topology.hpp>
#include <chalkgrad/nn/models/ledger.hpp>

#include "model_kinds.hpp"

namespace test_model_build {
BOOST_AUTO_TEST_SUITE(model_build)

using namespace chalkgrad;
using namespace chalkgrad::testing;
using nlohmann::json;

namespace {

nn::ModelDescription described(const std::string& name) { return nn::read_model_config(config_of(name).dump()); }

/// What was learned on the tape, by component: each parameter is one line.
std::map<std::string, std::int64_t> on_tape(const nn::Binding<double>& on) {
    std::map<std::string, std::int64_t> counts;
    for (const auto& bound : on.bound())
        if (bound.parameter.learned())
            counts[bound.parameter.component()] += static_cast<std::int64_t>(bound.line.shape().size());
    return counts;
}

/// The ledger under the modules' names: they name multi-token prediction and image towers like the rest.
std::map<std::string, std::int64_t> in_ledger(const nn::ModelLedger& ledger) {
    std::map<std::string, std::int64_t> counts;
    for (auto [name, count] : ledger.components) {
        if (const std::size_t suffix = name.find("_mtp"); suffix != std::string::npos) name.resize(suffix);
        counts[name] += count;
    }
    return counts;
}

std::int64_t total(const std::map<std::string, std::int64_t>& counts) {
    std::int64_t sum = 0;
    for (const auto& [name, count] : counts) sum += count;
    return sum;
}

void check_against_ledger(const nn::ModelDescription& m, const nn::Binding<double>& on) {
    const nn::ModelLedger ledger = nn::model_ledger(m);
    std::map<std::string, std::int64_t> traced = on_tape(on), counted = in_ledger(ledger);
    BOOST_TEST(total(traced) == ledger.distinct);
    if (m.vision) return; // the tower's blocks say attn, ffn, …; the ledger says vision
    for (const auto& [name, count] : counted)
        BOOST_TEST(traced[name] == count, name << ": " << traced[name] << " but " << count);
}

double peak_megabytes() {
    std::istringstream status(read_file("/proc/self/status"));
    for (std::string word; status >> word;)
        if (word == "VmHWM:") {
            double kilobytes = 0;
            status >> kilobytes;
            return kilobytes / 1024;
        }
    return 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(llama_is_traced_without_a_weight) { // first: the peak of memory is the program's so far
    const double before = peak_megabytes();
    const auto start = std::chrono::steady_clock::now();
    const nn::ModelDescription m = described("llama-3.1-8b");
    const nn::Model model(m);
    const Tape tape(Tape::Mode::shapes_only);
    nn::Binding<double> on(tape);
    const Var<double> y = model(on, ids_of(m, 16));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    BOOST_TEST((y.shape() == Shape{16, 128256}));
    BOOST_TEST(total(on_tape(on)) == 8'030'261'248);
    BOOST_TEST(on.bound().size() == 2 + 32 * 9 + 1);
    BOOST_TEST_MESSAGE(
        "Llama-3.1-8B: " << tape.size() << " lines in " << seconds << " s, peak " << peak_megabytes() << " MB");
    BOOST_TEST(seconds < 1);
    BOOST_TEST(peak_megabytes() < std::max(before, 200.0) + 1);
}

BOOST_AUTO_TEST_CASE(every_known_model_at_full_size) {
    Generator rng(0);
    for (const json& known : known_models()) BOOST_TEST_CONTEXT(known["name"].get<std::string>()) {
            const nn::ModelDescription m = nn::read_model_config(known["config"].dump());
            const nn::Model model(m);
            const Tape tape(Tape::Mode::shapes_only);
            nn::Binding<double> on(tape);
            // DeepSeek-V4 compresses 128 tokens into one.
            const Var<double> y =
                model(on, ids_of(m, m.model_type == "deepseek_v4" ? 128 : 16), image_for(model, tape, rng));
            BOOST_TEST(y.shape().rank() == 2u);
            check_against_ledger(m, on);
            BOOST_TEST(total(on_tape(on)) == known["distinct"].get<std::int64_t>());
        }
}

BOOST_AUTO_TEST_CASE(reduced_models_count_what_the_formula_says_and_their_gradients_are_derivatives) {
    for (const nn::ModelDescription& m : reduced_kinds()) BOOST_TEST_CONTEXT(kind_of(m)) {
            const Running run(m);
            check_against_ledger(m, run.on);
            std::int64_t numbers = 0;
            for (const auto& bound : run.on.bound())
                if (bound.parameter.learned()) numbers += static_cast<std::int64_t>(bound.parameter.value().size());
            BOOST_TEST(numbers == nn::model_ledger(m).distinct);

            // <w, J v> = <J' w, v> for every parameter: J v from the forwards in dual numbers, J' w from the backwards.
            Generator rng(3);
            const Array<double> w = rng.standard_normal(run.y.shape());
            run.y.backward(w);
            for (const auto& bound : run.on.bound()) {
                if (!is_reached(m, bound)) continue;
                const Array<double> v = rng.standard_normal(bound.parameter.shape()), jv = jvp(run.y, bound.line, v);
                const Array<double>& gradient = bound.line.grad();
                double forward = 0, backward = 0, size = 0.01; // what cancels leaves rounding behind
                for (std::size_t i = 0; i < jv.size(); ++i) {
                    forward += w.data()[i] * jv.data()[i];
                    size += std::abs(w.data()[i] * jv.data()[i]);
                }
                for (std::size_t i = 0; i < v.size(); ++i) backward += gradient.data()[i] * v.data()[i];
                BOOST_TEST(std::abs(forward - backward) < 1e-11 * size, bound.parameter.name()
                                                                            << ": " << forward << " but " << backward);
            }
        }
}

BOOST_AUTO_TEST_CASE(the_tape_shows_the_placement_that_the_description_names) {
    for (const json& known : known_models()) BOOST_TEST_CONTEXT(known["name"].get<std::string>()) {
            const nn::ModelDescription m = nn::read_model_config(known["config"].dump());
            const Tape tape(Tape::Mode::shapes_only);
            const nn::Recorded blocks = nn::record_blocks(tape, m);
            const Topology topology = topology_of(graph_of(tape, blocks.input_lines(), {blocks.output.line()}));
            BOOST_TEST(topology.placement == name(m.placement));
            BOOST_TEST(topology.contradictions.empty());
        }
}

BOOST_AUTO_TEST_CASE(an_encoder_and_a_decoder_are_two_stacks) {
    for (const char* name : {"t5-small", "t5-v1_1-small", "transformer-base-2017"}) BOOST_TEST_CONTEXT(name) {
            const nn::ModelDescription m = described(name);
            const nn::Model model(m);
            const Tape tape(Tape::Mode::shapes_only);
            nn::Binding<double> on(tape);
            const Var<double> y = model(on, ids_of(m, 16));
            const Topology topology = topology_of(graph_of(tape, {}, {y.line()}));
            BOOST_TEST(topology.placement == nn::name(m.placement));
            BOOST_TEST_REQUIRE(topology.stacks.size() == 2u);
            BOOST_TEST(topology.stacks[0].scope == "encoder");
            BOOST_TEST(topology.stacks[1].scope == "decoder");
            std::size_t finals = 0;
            for (const Topology::Norm& norm : topology.norms) finals += norm.final;
            BOOST_TEST(finals == (m.final_norm ? 2u : 0u));
            const std::size_t adds = 2 * m.stacks[1].layers.size() + 3 * m.stacks[0].layers.size();
            BOOST_TEST(topology.adds.size() == adds);
        }
}

BOOST_AUTO_TEST_CASE(a_tied_table_is_one_line_with_both_gradients) {
    const nn::ModelDescription m = nn::reduced(described("gemma-2-2b"));
    const nn::Model model(m);
    Generator rng(2);
    nn::initialize(model, rng);
    const Tape tape;
    nn::Binding<double> on(tape);
    const Var<double> y = model(on, ids_of(m, 3));
    y.backward(Array<double>(std::vector<std::size_t>{3, 5}, 1.0));
    std::size_t tables = 0;
    for (const auto& bound : on.bound())
        tables += bound.parameter.component() == "embed" || bound.parameter.component() == "lm_head";
    BOOST_TEST(tables == 1u);
    const auto& gradient = on(model.embedding.table).grad();
    for (std::size_t row = 0; row < 5; ++row) {
        double square = 0; // of a token that is not among the ids, too: it has a score
        for (std::size_t i = 0; i < 8; ++i) square += gradient(row, i) * gradient(row, i);
        BOOST_TEST(square > 0);
    }
}

BOOST_AUTO_TEST_CASE(reduced_keeps_what_differs) {
    const nn::ModelDescription oss = nn::reduced(described("gpt-oss-20b"));
    BOOST_TEST(oss.attention.heads * oss.attention.head_dim != oss.width);
    BOOST_TEST(oss.stacks[0].layers.size() == 2u); // one slides, one does not
    BOOST_TEST(oss.attention.kv_heads < oss.attention.heads);
    const nn::ModelDescription v4 = nn::reduced(described("deepseek-v4-flash"));
    BOOST_TEST(v4.stacks[0].layers.size() >= 3u); // plain, overlapping and wide compression
    BOOST_TEST(nn::reduced(described("llama-2-7b")).attention.kv_heads == 2);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_model_build
