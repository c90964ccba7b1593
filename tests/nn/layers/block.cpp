// Blocks: the equation of every placement, names of parameters and scopes, what is refused.
#include <boost/test/unit_test.hpp>

#include <chalkgrad/nn/layers/catalog.hpp>
#include <chalkgrad/nn/layers/stack.hpp>
#include <chalkgrad/ops/attention/sdpa.hpp>
#include <chalkgrad/ops/norm/layer_norm.hpp>

#include "../../ops/arrays.hpp"

namespace test_block {
BOOST_AUTO_TEST_SUITE(block)

using namespace chalkgrad;
using namespace chalkgrad::nn;
using namespace chalkgrad::testing;

namespace {

constexpr std::size_t d = 6;

BlockOptions usual(Placement placement) {
    return {.d = d,
        .placement = placement,
        .norm = layer_norm_options(),
        .attention = {.heads = 2},
        .ffn = {.width = 8},
        .alpha = 1.25};
}

std::vector<std::string> norms_of(const Block& block) {
    std::vector<std::string> names;
    for (const auto& [name, parameter] : parameters_of(block))
        if (name.ends_with(".gamma")) names.push_back(name.substr(0, name.size() - 6));
    return names;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_placement_is_its_equation) {
    for (const Placement p : {Placement::pre, Placement::post, Placement::peri, Placement::output_only,
             Placement::deepnorm, Placement::parallel}) {
        for (const bool shared : {true, false}) {
            BlockOptions o = usual(p);
            o.shared_norm = shared;
            const Block block(o);
            Generator rng(5);
            initialize_for_check(block, rng);
            Tape tape;
            Binding<double> on(tape);
            const auto h = tape.variable(rng.standard_normal({3, d}));
            const auto norm = [&](const Norm& n, const auto& u) {
                return layer_norm(u, on(n.gamma), on(n.beta), n.options.eps);
            };
            const auto a = [&](const auto& u) { return std::get<GroupedAttention>(block.attention)(on, u); };
            const auto f = [&](const auto& u) { return std::get<Ffn>(block.ffn)(on, u); };
            const auto equation = [&](const auto& x, const Block::Branch& b, const auto& branch) {
                switch (p) {
                    case Placement::pre:
                        return x + branch(norm(b.norm, x));
                    case Placement::post:
                        return norm(b.norm, x + branch(x));
                    case Placement::peri:
                        return x + norm(b.output_norm, branch(norm(b.norm, x)));
                    case Placement::output_only:
                        return x + norm(b.norm, branch(x));
                    default:
                        return norm(b.norm, 1.25 * x + branch(x));
                }
            };
            const auto& b = block.branches;
            const auto expected = p == Placement::parallel
                                      ? h + a(norm(b[0].norm, h)) + f(norm(b[shared ? 0 : 1].norm, h))
                                      : equation(equation(h, b[0], a), b[1], f);
            check_array(block(on, h).value(), expected.value(), 1e-14);
            if (p != Placement::parallel) break;
        }
    }
}

BOOST_AUTO_TEST_CASE(names_say_where_a_norm_is) {
    using Names = std::vector<std::string>;
    const auto names = [](Placement p) { return norms_of(Block(usual(p))); };
    const Names two = {"norm1", "norm2"}, four = {"norm1_in", "norm1_out", "norm2_in", "norm2_out"},
                outs = {"norm1_out", "norm2_out"};
    BOOST_TEST((names(Placement::pre) == two));
    BOOST_TEST((names(Placement::post) == two));
    BOOST_TEST((names(Placement::deepnorm) == two));
    BOOST_TEST((names(Placement::mhc) == two));
    BOOST_TEST((names(Placement::peri) == four));
    BOOST_TEST((names(Placement::output_only) == outs));
    BOOST_TEST((names(Placement::parallel) == Names{"norm1"}));
    BlockOptions o = usual(Placement::parallel);
    o.shared_norm = false;
    BOOST_TEST((norms_of(Block(o)) == two));
    o = usual(Placement::post);
    o.cross = GroupedAttentionOptions{.heads = 2, .causal = false};
    BOOST_TEST((norms_of(Block(o)) == Names{"norm1", "norm2", "norm3"}));
}

BOOST_AUTO_TEST_CASE(parameters_lie_in_the_scopes_they_are_named_after) {
    const BlockOptions o = usual(Placement::pre);
    const Stack stack(2, o, layer_norm_options());
    Tape tape(Tape::Mode::shapes_only);
    Binding<double> on(tape);
    stack(on, tape.leaf<double>({3, d}, nullptr, true));
    std::vector<std::string> named, found;
    for (const auto& [name, parameter] : parameters_of(stack)) named.push_back(name);
    for (const auto& bound : on.bound()) {
        std::string name = bound.line.name();
        for (std::size_t s = tape.line(bound.line.line()).scope; s != 0; s = tape.scope_info(s).parent)
            name = tape.scope_info(s).name + "." + name;
        found.push_back(name);
    }
    std::sort(named.begin(), named.end());
    std::sort(found.begin(), found.end());
    BOOST_TEST(named == found, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(scopes_say_what_a_branch_is) {
    const auto role = [](const char* block, const char* scope) {
        Tape tape(Tape::Mode::shapes_only);
        find_block(block).record(tape, 0);
        for (std::size_t i = 0; i < tape.scope_count(); ++i)
            if (tape.scope_info(i).name == scope) return tape.scope_info(i).role;
        return Role::none;
    };
    BOOST_TEST((role("pre", "attention") == Role::attention));
    BOOST_TEST((role("decoder", "cross") == Role::attention));
    BOOST_TEST((role("pre", "ffn") == Role::gate));
    BOOST_TEST((role("gpt_oss", "ffn") == Role::gate)); // in spite of the router's softmax
    BOOST_TEST((role("vision", "ffn") == Role::activation));
}

BOOST_AUTO_TEST_CASE(records_the_same_in_every_type) {
    const Block block(usual(Placement::peri));
    Generator rng(6);
    initialize_for_check(block, rng);
    const Array<double> x = rng.standard_normal({3, d});
    const auto run = [&]<class T>(T) {
        Tape tape;
        Binding<T> on(tape);
        Array<T> rounded(x.shape());
        for (std::size_t i = 0; i < x.size(); ++i) rounded.data()[i] = static_cast<T>(x.data()[i]);
        Array<double> y(x.shape());
        const auto result = block(on, tape.variable(rounded));
        for (std::size_t i = 0; i < x.size(); ++i) y.data()[i] = static_cast<double>(result.data()[i]);
        return y;
    };
    const Array<double> y = run(0.0);
    check_array(run(0.0L), y, 1e-13, 1e-14);
    check_array(run(0.0f), y, 0, 1e-5);
}

BOOST_AUTO_TEST_CASE(the_catalogue) {
    std::vector<std::string> names;
    for (const BlockEntry& entry : blocks()) {
        BOOST_TEST(std::count(names.begin(), names.end(), entry.name) == 0, entry.name);
        names.push_back(entry.name);
        BOOST_TEST(!entry.formula.empty());
        BOOST_TEST(entry.section.starts_with("§"), entry.section);
        // With numbers and without, the same lines; from equal seeds the same numbers.
        Tape values, again, shapes(Tape::Mode::shapes_only);
        const Recorded one = entry.record(values, 2), two = entry.record(again, 2), none = entry.record(shapes, 2);
        BOOST_TEST(values.size() == shapes.size(), entry.name);
        check_array(one.output.value(), two.output.value());
        BOOST_TEST((none.output.shape() == one.output.shape()), entry.name);
        BOOST_TEST(one.parameters.size() == none.parameters.size());
        BOOST_TEST(none.output.name() == "y");
    }
    const std::vector<std::string> placements(names.begin(), names.begin() + 7);
    BOOST_TEST(
        (placements == std::vector<std::string>{"pre", "post", "peri", "output_only", "deepnorm", "parallel", "mhc"}));
    check_refused([] { find_block("perri"); }, "block", {"did you mean peri"});
}

BOOST_AUTO_TEST_CASE(what_is_refused) {
    const auto refused = [](const BlockOptions& o, const std::vector<std::string>& words) {
        check_refused([&] { Block block(o); }, "block", words);
    };
    refused({}, {"d is 0"});
    BlockOptions o = usual(Placement::pre);
    o.attention.d = 8;
    refused(o, {"attention", "8", "6"});
    o = usual(Placement::pre);
    o.cross = GroupedAttentionOptions{.heads = 2};
    refused(o, {"causal"});
    o.cross->causal = false;
    o.placement = Placement::parallel;
    refused(o, {"parallel"});
    o.placement = Placement::post;
    const Block decoder(o);
    Tape tape(Tape::Mode::shapes_only);
    Binding<double> on(tape);
    const auto x = tape.leaf<double>({3, d}, nullptr, true);
    check_refused([&] { decoder(on, x); }, "block", {"memory"});
    check_refused([] { Stack(std::vector<BlockOptions>()); }, "stack", {"no block"});
    check_refused([] { Stack({usual(Placement::pre), usual(Placement::post)}); }, "stack", {"pre", "post"});
    check_refused(
        [&] {
            residual(
                Placement::mhc, x, [](const auto& u) { return u; }, [](const auto& u, int) { return u; });
        },
        "residual", {"mhc"});
    check_refused([] { placement_named("sandwich"); }, "placement", {"sandwich"});
    check_refused([] { Norm("norm1", 4, {.bias = true}); }, "norm", {"bias"});
    for (const Placement p : {Placement::pre, Placement::parallel, Placement::mhc})
        BOOST_TEST((placement_named(name(p)) == p));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_block
