// What networks do with a stream: scaled, gated, masked, subtracted and skipped sums, steps inside branches, deep stacks. Each is
// written down once, and recorded with the operands of every sum in both orders.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>

#include <chalkgrad/autograd/graph/drawing.hpp>
#include <chalkgrad/autograd/graph/topology.hpp>
#include <chalkgrad/autograd/tape/cast.hpp>
#include <chalkgrad/ops/attention/sdpa.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>
#include <chalkgrad/ops/shape/shape_ops.hpp>

namespace test_streams_of_networks {
BOOST_AUTO_TEST_SUITE(streams)

using namespace chalkgrad;
using V = Var<double>;

namespace {

constexpr std::size_t d = 8;

struct Net {
    bool swapped = false;
    Tape tape{Tape::Mode::shapes_only};
    std::vector<std::size_t> inputs;
    V h = data({4, d}, "h");

    V data(const Shape& shape, const char* name) {
        const V x = tape.leaf<double>(shape, nullptr, true, name);
        inputs.push_back(x.line());
        return x;
    }
    V w(const Shape& shape) const { return tape.leaf<double>(shape, nullptr, true, "w"); }
    V zero() const { return tape.leaf<double>({}, nullptr, false, "0"); }
    V mask() const { return tape.leaf<double>({4, d}, nullptr, false, "mask"); }
    V add(const V& a, const V& b) const { return swapped ? b + a : a + b; }
    V N(const V& u) const { return rms_norm(u, w({d}), 1e-5); }
    V F(const V& u) const { return matmul(u, w({d, d})); }
    V A(const V& u) const { return F(sdpa(F(u), F(u), F(u))); }
    /// u + F(u), in a scope of its own or not.
    V step(const V& u, bool scoped) const {
        if (!scoped) return add(u, F(u));
        const Scope scope = tape.scope("module");
        return add(u, F(u));
    }
    Topology read() const { return topology_of(graph_of(tape, inputs)); }
};

struct Case {
    const char *formula, *placement;
    std::function<void(Net&, V h)> record;
};

const Case cases[] = {
    {"h + 0.1 F(N h)", "pre", [](Net& n, V h) { n.add(h, 0.1 * n.F(n.N(h))); }},
    {"a h + b F(N h)", "pre", [](Net& n, V h) { n.add(n.w({}) * h, n.w({}) * n.F(n.N(h))); }},
    {"h + λ ⊙ F(N h)", "pre", [](Net& n, V h) { n.add(h, n.w({d}) * n.F(n.N(h))); }},
    {"N(h / 0.5 + F h)", "deepnorm", [](Net& n, V h) { n.N(n.add(h / 0.5, n.F(h))); }},
    {"N(h + 0.5 F h)", "post", [](Net& n, V h) { n.N(n.add(h, 0.5 * n.F(h))); }},
    {"N(mask h + F h)", "post", [](Net& n, V h) { n.N(n.add(n.mask() * h, n.F(h))); }},
    {"h - F(N h)", "pre", [](Net& n, V h) { h - n.F(n.N(h)); }},
    {"N(h - F h)", "post", [](Net& n, V h) { n.N(h - n.F(h)); }},
    {"F(N h) - (-h)", "pre", [](Net& n, V h) { n.F(n.N(h)) - (-h); }},
    {"-N F h + h", "output_only", [](Net& n, V h) { n.add(-n.N(n.F(h)), h); }},
    {"two steps minus", "pre",
        [](Net& n, V h) {
            h = h - n.A(n.N(h));
            h - n.F(n.N(h));
        }},
    {"g(N h) ⊙ F(N h)", "pre",
        [](Net& n, V h) {
            const V u = n.N(h);
            n.add(h, sigmoid(n.F(u)) * n.F(u));
        }},
    {"h ⊙ F(N h), no branch alone", "none", [](Net& n, V h) { h*(1 + n.F(n.N(h))); }},
    {"h + h ⊙ h", "no_norm", [](Net& n, V h) { n.add(h, h * h); }},
    {"N(1 / h + F h)", "none", [](Net& n, V h) { n.N(n.add(1 / h, n.F(h))); }},
    {"max(h + F(N h), 0)", "pre",
        [](Net& n, V h) {
            h = maximum(n.add(h, n.F(n.N(h))), n.zero());
            maximum(n.add(h, n.F(n.N(h))), n.zero());
        }},
    {"h + where(F(N h), 0)", "pre",
        [](Net& n, V h) {
            n.add(h, where(Array<bool>(std::vector<std::size_t>{4, 1}, true), n.F(n.N(h)), n.mask()));
        }},
    {"dropout everywhere", "pre",
        [](Net& n, V h) {
            h = n.mask() * h;
            h = n.add(h, n.mask() * n.A(n.N(h)));
            h = n.add(h, 1.25 * (n.mask() * n.F(n.N(h))));
            n.F(n.N(h));
        }},
    {"h + Wᵀ mixing of tokens", "pre",
        [](Net& n, V h) {
            n.add(h, transpose(matmul(transpose(n.N(h)), n.w({4, 4}))));
        }},
    {"√½ (h + F(N h)) twice", "pre",
        [](Net& n, V h) {
            h = 0.7 * n.add(h, n.A(n.N(h)));
            0.7 * n.add(h, n.F(n.N(h)));
        }},
    {"2.8 · embedding", "pre",
        [](Net& n, V h) {
            h = 2.8 * n.F(h);
            h = n.add(h, n.A(n.N(h)));
            h = n.add(h, n.F(n.N(h)));
            n.F(n.N(h));
        }},
    {"x − mean(x) first", "pre",
        [](Net& n, V h) {
            h = h - mean(h, -1, true);
            h = n.add(h, n.A(n.N(h)));
            n.add(h, n.F(n.N(h)));
        }},
    {"in float", "pre",
        [](Net& n, V h) {
            const auto u = rms_norm(cast<float>(h), {}, 1e-5);
            n.add(h, n.F(cast<double>(u)));
        }},
    {"N in float, behind the add", "post",
        [](Net& n, V h) {
            h = cast<double>(rms_norm(cast<float>(n.add(h, n.A(h))), {}, 1e-5));
            n.N(n.add(h, n.F(h)));
        }},
    {"0.3 h + 0.7 (h + F(N h))", "pre",
        [](Net& n, V h) {
            h = n.add(0.3 * h, 0.7 * n.add(h, n.F(n.N(h))));
            n.add(h, n.F(n.N(h)));
        }},
    {"N(h + α (N F h − h))", "mixed",
        [](Net& n, V h) {
            for (int layer = 0; layer < 2; ++layer) h = n.N(n.add(h, n.w({d}) * (n.N(n.F(h)) - h)));
        }},
    {"concatenated", "none",
        [](Net& n, V h) {
            concat({h, n.F(n.N(h))}, -1);
        }},
    {"a step inside a branch", "pre",
        [](Net& n, V h) {
            for (const bool scoped : {false, true}) h = n.add(h, n.F(n.step(n.N(h), scoped)));
        }},
    {"a step inside a branch, Post-LN", "post",
        [](Net& n, V h) {
            for (const bool scoped : {false, true}) h = n.N(n.add(h, n.F(n.step(n.F(h), scoped))));
        }},
    {"skip over three blocks", "pre",
        [](Net& n, V h) {
            const V first = h = n.add(h, n.F(n.N(h)));
            for (int layer = 0; layer < 3; ++layer) h = n.add(h, n.F(n.N(h)));
            h = n.add(h, first);
            n.N(n.add(h, n.F(n.N(h))));
        }},
    {"U-Net", "pre",
        [](Net& n, V h) {
            std::vector<V> down;
            for (int layer = 0; layer < 10; ++layer) { down.push_back(h = n.add(h, n.F(n.N(h)))); }
            for (; !down.empty(); down.pop_back()) {
                h = n.add(h, n.w({}) * down.back());
                h = n.add(h, n.F(n.N(h)));
            }
        }},
    {"λ h + κ h₀ before each block", "pre",
        [](Net& n, V h) {
            const V first = h = n.N(h);
            for (int layer = 0; layer < 3; ++layer) {
                h = n.add(n.w({}) * h, n.w({}) * first);
                h = n.add(h, n.A(n.N(h)));
                h = n.add(h, n.F(n.N(h)));
            }
            n.F(n.N(h));
        }},
    {"½ (h + F(N h)) + ½ (h + G(N h))", "parallel",
        [](Net& n, V h) { n.add(0.5 * n.add(h, n.F(n.N(h))), 0.5 * n.add(h, n.F(n.N(h)))); }},
    {"modulated by data", "pre",
        [](Net& n, V h) {
            const V c = n.data({1, d}, "c");
            for (int layer = 0; layer < 2; ++layer) h = n.add(h, n.F(c) * n.A(n.N(h) * (1 + n.F(c))));
        }},
    {"forty layers", "pre",
        [](Net& n, V h) {
            for (int layer = 0; layer < 40; ++layer) {
                h = n.add(h, n.mask() * n.A(n.N(h)));
                h = h - n.F(n.N(h));
            }
            n.F(n.N(h));
        }},
};

} // namespace

BOOST_AUTO_TEST_CASE(read_the_same_in_both_orders) {
    for (const Case& c : cases)
        for (const bool swapped : {false, true}) {
            Net net;
            net.swapped = swapped;
            c.record(net, net.h);
            const Topology topology = net.read();
            BOOST_TEST_CONTEXT(c.formula << (swapped ? ", swapped" : "")) {
                BOOST_TEST(topology.placement == c.placement);
                BOOST_TEST(topology.stacks.size() <= 1u);
            }
        }
}

// A vision tower with a final norm, a projector, and a language model behind it.
BOOST_AUTO_TEST_CASE(behind_a_linear_map_is_another_stream) {
    Net net;
    V image = net.data({4, d}, "image");
    for (int layer = 0; layer < 2; ++layer) image = image + net.A(net.N(image));
    V h = concat({net.F(net.N(image)), net.h}, 0);
    for (int layer = 0; layer < 2; ++layer) h = h + net.A(net.N(h));
    net.F(net.N(h));
    const Topology topology = net.read();
    BOOST_TEST(topology.placement == "pre");
    BOOST_TEST(topology.stacks.size() == 2u);
    BOOST_TEST(
        std::count_if(topology.norms.begin(), topology.norms.end(), [](const auto& norm) { return norm.final; }) == 2);
}

BOOST_AUTO_TEST_CASE(a_norm_inside_a_branch_is_said) {
    Net net;
    net.h + sigmoid(net.F(net.h)) * net.N(net.F(net.h));
    const Topology topology = net.read();
    BOOST_TEST(topology.placement == "no_norm");
    BOOST_TEST(topology.evidence.back().starts_with("inside a branch, neither at its beginning nor at its end"));
}

BOOST_AUTO_TEST_CASE(a_difference_is_drawn_as_one) {
    Net net;
    net.h - net.F(net.N(net.h));
    std::string titles;
    for (const Box& box : draw(graph_of(net.tape, net.inputs)).boxes) titles += box.title + ' ';
    BOOST_TEST(titles == "h rms_norm matmul − output ");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_streams_of_networks
