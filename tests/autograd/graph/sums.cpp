// Sums of a stream and its branches, bracketed, ordered and shared at random, against the formula that was drawn.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>

#include <chalkgrad/autograd/graph/topology.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>

namespace test_sums {
BOOST_AUTO_TEST_SUITE(sums)

using namespace chalkgrad;
using V = Var<double>;

namespace {

constexpr std::size_t d = 8;

/// One summand: W h, W N h, N W h or N W N h, times a number or not, with a bias or not.
struct Branch {
    bool input, output, scaled, biased;
    std::string placement() const {
        return input && output ? "peri" : input ? "pre" : output ? "output_only" : "no_norm";
    }
};

struct Program {
    Tape tape{Tape::Mode::shapes_only};
    V h = tape.leaf<double>({4, d}, nullptr, true, "h");
    V shared; ///< N h, where the branches read one and the same

    V leaf(const Shape& shape, const char* name) { return tape.leaf<double>(shape, nullptr, true, name); }
    V norm(const V& u) { return rms_norm(u, leaf({d}, "gamma"), 1e-5); }
    V branch(const Branch& b, const V& from, bool share) {
        V u = from;
        if (b.input && share && !shared) shared = norm(from);
        if (b.input) u = share ? shared : norm(from);
        u = matmul(u, leaf({d, d}, "W"));
        if (b.biased) u = u + leaf({d}, "b");
        if (b.output) u = norm(u);
        return b.scaled ? 0.5 * u : u;
    }
    /// The summands in any order, in any brackets.
    V sum(std::vector<V> parts, Generator& rng) {
        while (parts.size() > 1) {
            const auto take = [&] {
                const auto at = parts.begin() +
                                static_cast<std::ptrdiff_t>(rng.integers(0, static_cast<std::int64_t>(parts.size())));
                const V part = *at;
                parts.erase(at);
                return part;
            };
            const V a = take(), b = take();
            parts.push_back(rng.uniform(0, 1) < 0.2 ? a - (-b) : a + b);
        }
        return parts[0];
    }
};

/// The formula read directly: what the branches of one sum make together.
std::string expected(const std::vector<Branch>& branches) {
    std::set<std::string> kinds;
    for (const Branch& b : branches) kinds.insert(b.placement());
    if (kinds.size() > 1) return "mixed";
    return branches.size() > 1 ? "parallel" : *kinds.begin();
}

} // namespace

BOOST_AUTO_TEST_CASE(any_bracketing_reads_the_same) {
    Generator rng{Seed(11)};
    const auto coin = [&] { return rng.uniform(0, 1) < 0.5; };
    for (int run = 0; run < 1500; ++run) {
        std::vector<Branch> branches;
        const auto count = rng.integers(1, 4);
        const bool alike = coin();
        for (std::int64_t k = 0; k < count; ++k) {
            branches.push_back(Branch{coin(), coin(), coin(), coin()});
            if (alike) branches.back().input = branches[0].input, branches.back().output = branches[0].output;
        }
        Program p;
        const bool share = coin(), other = rng.uniform(0, 1) < 0.2;
        const V start = coin() ? matmul(p.h, p.leaf({d, d}, "E")) : p.h;
        std::vector<V> parts{start};
        for (const Branch& b : branches) parts.push_back(p.branch(b, start, share));
        std::vector<std::size_t> inputs{p.h.line()};
        if (other) { // data that has nothing to do with the stream
            parts.push_back(p.leaf({4, d}, "p"));
            inputs.push_back(parts.back().line());
        }
        p.sum(parts, rng);
        const Topology topology = topology_of(graph_of(p.tape, inputs));
        const std::string want = expected(branches);
        BOOST_TEST_CONTEXT("run " << run << ": " << branches.size() << " branches, "
                                  << (share ? "one norm" : "own norms") << (other ? ", and data" : "")) {
            BOOST_TEST(topology.placement == want);
            std::multiset<std::string> got, drawn;
            for (const Topology::Branch& b : topology.branches) got.insert(b.placement);
            for (const Branch& b : branches) drawn.insert(b.placement());
            BOOST_TEST((got == drawn));
            const auto says = [&](const char* part) {
                return std::any_of(topology.evidence.begin(), topology.evidence.end(),
                    [&](const std::string& s) { return s.find(part) != std::string::npos; });
            };
            const auto any = [&](bool Branch::*norm) {
                return std::any_of(branches.begin(), branches.end(), [&](const Branch& b) { return b.*norm; });
            };
            BOOST_TEST(says("a norm begins the branch") == any(&Branch::input));
            BOOST_TEST(says("a norm ends the branch") == any(&Branch::output));
            BOOST_TEST(says("the branches of a sum disagree") == (want == "mixed"));
            BOOST_TEST(says("read the same point") == (want == "parallel"));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_sums
