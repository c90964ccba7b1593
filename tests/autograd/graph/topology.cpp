// Placements read off tapes: by wiring, not by what scopes are called.
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include <chalkgrad/autograd/graph/topology.hpp>
#include <chalkgrad/nn/layers/residual.hpp>
#include <chalkgrad/ops/attention/rope.hpp>
#include <chalkgrad/ops/attention/sdpa.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/layer_norm.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/shape/shape_ops.hpp>
#include <chalkgrad/ops/streams/mhc_mix.hpp>

namespace test_topology {
BOOST_AUTO_TEST_SUITE(topology)

using namespace chalkgrad;
using Norm = Topology::Norm;

namespace {

constexpr std::size_t d = 8;

/// A shape-only tape and what blocks are built from.
struct Bench {
    Tape tape{Tape::Mode::shapes_only};
    Var<double> x = tape.leaf<double>({4, d}, nullptr, true, "h");

    Var<double> leaf(const Shape& shape, const char* name) { return tape.leaf<double>(shape, nullptr, true, name); }
    Var<double> norm(const Var<double>& u) { return rms_norm(u, leaf({u.shape().last()}, "gamma"), 1e-5); }
    Var<double> linear(const Var<double>& u) { return matmul(u, leaf({u.shape().last(), d}, "W")); }
    Var<double> attention(const Var<double>& u) { return linear(sdpa(linear(u), linear(u), linear(u))); }
    Graph graph() const { return graph_of(tape, {x.line()}); }
    Topology read() const { return topology_of(graph()); }
};

std::vector<std::string> positions(const Topology& topology) {
    std::vector<std::string> list;
    for (const Norm& norm : topology.norms) list.emplace_back(name(norm.position));
    return list;
}

bool says(const std::vector<std::string>& sentences, const char* part) {
    for (const std::string& sentence : sentences)
        if (sentence.find(part) != std::string::npos) return true;
    return false;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_placement_is_recognised) {
    for (const nn::Placement placement : nn::placements()) {
        Bench bench;
        nn::stand_in_block(placement, bench.x);
        const Topology topology = bench.read();
        BOOST_TEST(topology.placement == nn::name(placement));
        BOOST_TEST(topology.contradictions.empty());
        BOOST_TEST(topology.adds.size() == 2u);
        const bool on_line = placement == nn::Placement::post || placement == nn::Placement::deepnorm;
        BOOST_TEST(says(topology.evidence, "no norm on the path h → out") == !on_line);
        for (const Norm& norm : topology.norms) {
            BOOST_TEST((norm.axis && *norm.axis == -1));
            BOOST_TEST((norm.eps && *norm.eps == 1e-6));
            BOOST_TEST(norm.affine);
            BOOST_TEST(norm.extent == d);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_wrong_label_is_contradicted) {
    for (const char* label : {"pre", "Pre-LN block", "PreNorm", "peri", "mhc"}) {
        Bench bench;
        {
            const Scope scope = bench.tape.scope(label);
            nn::stand_in_block(nn::Placement::post, bench.x);
        }
        const Topology topology = bench.read();
        BOOST_TEST(topology.placement == "post");
        BOOST_TEST(topology.contradictions.size() == 1u, label);
        BOOST_TEST(says(topology.contradictions, "but the tape is post"), label);
    }
    for (const char* label : {"post", "Post-LN", "block", "posterior", "compressed"}) {
        Bench bench;
        const Scope scope = bench.tape.scope(label);
        nn::stand_in_block(nn::Placement::post, bench.x);
        BOOST_TEST(bench.read().contradictions.empty(), label);
    }
}

BOOST_AUTO_TEST_CASE(names_of_norms_decide_nothing) {
    // Llama calls the norm before its FFN post_attention_layernorm.
    Bench bench;
    Var<double> h = bench.x;
    for (const char* its_name : {"input_layernorm", "post_attention_layernorm"}) {
        Var<double> n;
        {
            const Scope scope = bench.tape.scope(its_name, Role::norm);
            n = bench.norm(h);
        }
        h = h + bench.linear(n);
    }
    const Topology topology = bench.read();
    BOOST_TEST(topology.placement == "pre");
    BOOST_TEST(topology.contradictions.empty());
    BOOST_TEST(topology.norms[1].scope == "post_attention_layernorm");
    BOOST_TEST(positions(topology) == (std::vector<std::string>{"input", "input"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_final_norm_belongs_to_no_block) {
    Bench bench;
    Var<double> h = bench.x;
    for (int layer = 0; layer < 3; ++layer) h = h + bench.attention(bench.norm(h));
    bench.linear(bench.norm(h));
    const Topology topology = bench.read();
    BOOST_TEST(topology.placement == "pre");
    BOOST_TEST(topology.norms.back().final);
    BOOST_TEST(says(topology.evidence, "no norm on the path h → out"));
    BOOST_TEST(says(topology.evidence, "final norm"));
    // One residual step with a norm behind it, and none before, is Post-LN.
    Bench one;
    one.norm(one.x + one.linear(one.x));
    BOOST_TEST(one.read().placement == "post");
    Bench two;
    two.norm(two.x + two.linear(two.norm(two.x)));
    BOOST_TEST(two.read().placement == "pre");
}

// N21: one map, its sums in other orders and groupings.
BOOST_AUTO_TEST_CASE(order_and_grouping_of_a_sum) {
    using V = Var<double>;
    const auto read = [](const auto& block) {
        Bench b;
        block(
            b.x, [&](const V& u) { return b.norm(u); }, [&](const V& u) { return b.attention(u); },
            [&](const V& u) { return b.linear(u); });
        return b.read().placement;
    };
    const auto after = [](const V& a, auto N, auto F) { return F(N(a)); };
    BOOST_TEST(read([&](V h, auto N, auto A, auto F) {
        const V a = h + A(N(h));
        a + after(a, N, F);
    }) == "pre");
    BOOST_TEST(read([&](V h, auto N, auto A, auto F) {
        const V a = A(N(h)) + h;
        after(a, N, F) + a;
    }) == "pre");
    BOOST_TEST(read([](V h, auto N, auto A, auto F) {
        const V a = N(A(h) + h);
        N(F(a) + a);
    }) == "post");
    BOOST_TEST(read([](V h, auto N, auto A, auto F) {
        const V a = N(A(N(h))) + h;
        N(F(N(a))) + a;
    }) == "peri");
    for (const bool one_norm : {true, false}) {
        const auto parallel = [&](const auto& sum) {
            return read([&](V h, auto N, auto A, auto F) {
                const V n = N(h), a = A(n);
                sum(h, a, F(one_norm ? n : N(h)));
            });
        };
        BOOST_TEST(parallel([](V h, V a, V f) { (h + a) + f; }) == "parallel");
        BOOST_TEST(parallel([](V h, V a, V f) { (a + f) + h; }) == "parallel");
        BOOST_TEST(parallel([](V h, V a, V f) { h + (a + f); }) == "parallel");
        BOOST_TEST(parallel([](V h, V a, V f) { a + (f + h); }) == "parallel");
    }
}

BOOST_AUTO_TEST_CASE(parallel_branches) {
    Bench shared; // one norm for both
    const Var<double> n = shared.norm(shared.x);
    shared.x + shared.attention(n) + shared.linear(n);
    BOOST_TEST(shared.read().placement == "parallel");
    Bench two; // one norm each, summed first
    const Var<double> branches = two.attention(two.norm(two.x)) + two.linear(two.norm(two.x));
    two.x + branches;
    BOOST_TEST(two.read().placement == "parallel");
    BOOST_TEST((two.read().norms[1].position == Norm::Position::input));
    Bench routed; // what a module adds up inside, as experts, is one branch
    Var<double> experts;
    {
        const Scope scope = routed.tape.scope("ffn");
        const Var<double> m = routed.norm(routed.x);
        experts = routed.linear(m) + routed.linear(m);
    }
    routed.x + experts;
    BOOST_TEST(routed.read().placement == "pre");
    Bench stack;
    Var<double> h = stack.x;
    for (int layer = 0; layer < 2; ++layer) {
        const Var<double> u = stack.norm(h);
        h = h + stack.attention(u) + stack.linear(u);
    }
    BOOST_TEST(stack.read().placement == "parallel");
}

BOOST_AUTO_TEST_CASE(stacks_beside_each_other) {
    // Each stack is read by itself: its own last norm, its own placement.
    const auto record = [](Bench& bench, bool decoder_is_post) {
        const auto stack = [&](const char* its_name, const Var<double>& x, const Var<double>& memory, bool post) {
            const Scope scope = bench.tape.scope(its_name);
            Var<double> h = x;
            for (int layer = 0; layer < 2; ++layer) {
                const auto f = [&](const Var<double>& u) {
                    return memory ? bench.linear(sdpa(u, memory, memory)) : bench.attention(u);
                };
                h = post ? bench.norm(h + f(h)) : h + f(bench.norm(h));
            }
            return post ? h : bench.norm(h);
        };
        const Var<double> source = bench.leaf({4, d}, "source"), memory = stack("encoder", source, {}, false);
        stack("decoder", bench.x, memory, decoder_is_post);
        return topology_of(graph_of(bench.tape, {bench.x.line(), source.line()}));
    };
    Bench both, two;
    const Topology alike = record(both, false), unlike = record(two, true);
    BOOST_TEST(alike.placement == "pre");
    BOOST_TEST(says(alike.evidence, "2 stacks, each with a stream of its own: pre in encoder (adds from line"));
    BOOST_TEST(std::count_if(alike.norms.begin(), alike.norms.end(), [](const Norm& n) { return n.final; }) == 2);
    BOOST_TEST(unlike.placement == "mixed");
    BOOST_TEST_REQUIRE(unlike.stacks.size() == 2u);
    BOOST_TEST(unlike.stacks[0].placement == "pre");
    BOOST_TEST(unlike.stacks[1].placement == "post");
    BOOST_TEST(unlike.stacks[1].scope == "decoder");
    BOOST_TEST(!says(unlike.evidence, "the adds disagree"));
}

BOOST_AUTO_TEST_CASE(mixed_streams) {
    for (const bool depends_on_x : {false, true}) {
        Bench bench;
        const Var<double> x = bench.tape.leaf<double>({4, 2, d}, nullptr, true, "X");
        const Var<double> mixed = depends_on_x ? mhc_mix_xdep(x, bench.leaf({2 * d, 4}, "W"), bench.leaf({2, 2}, "B"),
                                                     bench.leaf({}, "alpha"))
                                               : mhc_mix_param(x, bench.leaf({2, 2}, "m"));
        const Var<double> u = matmul(bench.leaf({1, 2}, "pre"), x);
        const Var<double> o = bench.linear(bench.norm(u));
        mixed + bench.leaf({2, 1}, "post") * o;
        const Topology topology = topology_of(graph_of(bench.tape, {x.line()}));
        BOOST_TEST(topology.placement == "mhc");
        BOOST_TEST(says(topology.evidence, "mixture of several streams"));
        BOOST_TEST(positions(topology) == (std::vector<std::string>{"input"}), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(norms_of_queries_and_keys) {
    Bench bench;
    const Var<double> n = bench.norm(bench.x);
    const Var<double> q = bench.norm(bench.linear(n)), k = rope(bench.norm(bench.linear(n)));
    bench.x + bench.linear(sdpa(q, k, bench.norm(bench.linear(n))));
    const Topology topology = bench.read();
    BOOST_TEST(topology.placement == "pre");
    BOOST_TEST(positions(topology) == (std::vector<std::string>{"input", "qk", "qk", "inner"}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(norms_in_pieces_are_known_by_their_scope) {
    Bench bench;
    const auto composed = [&](const Var<double>& u) {
        const Scope scope = bench.tape.scope("ln", Role::norm);
        return layer_norm_composed(u, bench.leaf({d}, "gamma"), bench.leaf({d}, "beta"), 1e-5);
    };
    composed(bench.x + bench.linear(bench.x));
    const Topology topology = bench.read();
    BOOST_TEST(topology.placement == "post");
    BOOST_TEST(topology.norms.size() == 1u);
    BOOST_TEST(topology.norms[0].affine);
    BOOST_TEST(topology.norms[0].op == "ln");
}

BOOST_AUTO_TEST_CASE(what_is_no_placement) {
    Bench none;
    none.linear(none.norm(none.x));
    BOOST_TEST(none.read().placement == "none");
    Bench bare;
    bare.x + bare.linear(bare.x);
    BOOST_TEST(bare.read().placement == "no_norm");
    Bench mixed;
    const Var<double> h = mixed.x + mixed.linear(mixed.norm(mixed.x));
    h + mixed.norm(mixed.linear(h));
    BOOST_TEST(mixed.read().placement == "mixed");
    BOOST_TEST(says(mixed.read().evidence, "the adds disagree"));
    Bench bias; // a bias, positions and a gate are no residual adds
    const Var<double> e = bias.x + bias.leaf({4, d}, "positions");
    bias.linear(e) + bias.leaf({d}, "b");
    BOOST_TEST(bias.graph().residual_adds.empty());
    const Tape empty;
    BOOST_TEST(topology_of(graph_of(empty)).placement == "none");
}

BOOST_AUTO_TEST_CASE(lines_that_are_not_there) { BOOST_CHECK_THROW(graph_of(Tape(), {3}), Error); }

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_topology
