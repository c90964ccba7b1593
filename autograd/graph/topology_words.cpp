// What a topology says in sentences: the evidence for its placement, and names that contradict it.
#include <algorithm>
#include <cctype>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/graph/topology_words.hpp>

namespace chalkgrad::detail {
namespace {

using Norm = Topology::Norm;

std::string called(const Norm& norm) {
    std::string text = fmt::format("line {} ({}", norm.line, norm.op);
    if (!norm.scope.empty()) text += " in " + norm.scope;
    return text + ")";
}
std::string list(const std::vector<const Norm*>& norms) {
    constexpr std::size_t most = 4; // of a deep stack the first few say it
    std::vector<std::string> names;
    for (const Norm* norm : norms)
        if (names.size() < most) names.push_back(called(*norm));
    std::string text = fmt::format("{}", fmt::join(names, ", "));
    if (norms.size() > most) text += fmt::format(" and {} more", norms.size() - most);
    return text;
}

/// The placement that a name speaks of, or an empty string.
std::string spoken(const std::string& name) {
    std::string words = " ";
    for (std::size_t i = 0; i < name.size(); ++i) {
        const auto c = static_cast<unsigned char>(name[i]);
        if (std::isupper(c) && i > 0 && std::islower(static_cast<unsigned char>(name[i - 1]))) words += ' ';
        words += std::isalnum(c) ? static_cast<char>(std::tolower(c)) : ' ';
    }
    words += ' ';
    static const std::pair<const char*, const char*> known[] = {{" output only ", "output_only"},
        {" deepnorm ", "deepnorm"}, {" deep norm ", "deepnorm"}, {" parallel ", "parallel"}, {" mhc ", "mhc"},
        {" peri ", "peri"}, {" sandwich ", "peri"}, {" pre ", "pre"}, {" prenorm ", "pre"}, {" preln ", "pre"},
        {" post ", "post"}, {" postnorm ", "post"}, {" postln ", "post"}};
    for (const auto& [word, placement] : known)
        if (words.find(word) != std::string::npos) return placement;
    return "";
}

/// Whether a residual add takes in what is computed from a line, and from its stream.
bool in_branch(const Graph& graph, std::size_t line) {
    return std::any_of(graph.residual_adds.begin(), graph.residual_adds.end(), [&](const ResidualAdd& add) {
        return add.from < line && line < add.line && depends(graph, add.branch, line) && depends(graph, line, add.from);
    });
}

} // namespace

void explain(const Graph& graph, Topology& topology) {
    std::vector<std::string>& say = topology.evidence;
    const std::size_t adds = graph.residual_adds.size();
    if (adds == 0) {
        say.push_back("no add takes the stream itself and something computed from it");
        return;
    }
    say.push_back(
        fmt::format("{} residual add{}, each of the stream and a branch computed from it", adds, adds == 1 ? "" : "s"));
    if (topology.stacks.size() > 1) {
        std::vector<std::string> each;
        for (const Topology::Stack& stack : topology.stacks)
            each.push_back(fmt::format("{} {}(adds from line {} to {})", stack.placement,
                stack.scope.empty() ? "" : "in " + stack.scope + " ", stack.first, stack.last));
        say.push_back(fmt::format("{} stacks, each with a stream of its own: {}", each.size(), fmt::join(each, ", ")));
    }
    std::vector<const Norm*> on_line, input, output, qk, inner, last;
    for (const Norm& norm : topology.norms) {
        if (norm.final) last.push_back(&norm);
        else if (norm.position == Norm::Position::after_add) on_line.push_back(&norm);
        else if (norm.position == Norm::Position::input && !graph.nodes[norm.line].on_stream) input.push_back(&norm);
        else if (norm.position == Norm::Position::output) output.push_back(&norm);
        else if (norm.position == Norm::Position::qk) qk.push_back(&norm);
        else if (norm.position == Norm::Position::inner && in_branch(graph, norm.line)) inner.push_back(&norm);
    }
    const auto sentence = [&](const std::vector<const Norm*>& norms, const char* some, const char* no) {
        say.push_back(norms.empty() ? no : fmt::format("{}: {}", some, list(norms)));
    };
    sentence(on_line, "the path h → out passes a norm behind the add", "no norm on the path h → out");
    const auto any = [&](const char* placement) {
        return std::any_of(topology.branches.begin(), topology.branches.end(),
            [&](const Topology::Branch& b) { return b.placement == placement; });
    };
    const bool some_begin = any("pre") || any("peri");
    sentence(input, some_begin ? "a norm begins the branch" : "a way from the stream to F passes by the norm",
        "no norm between the stream and F");
    sentence(output, "a norm ends the branch", "no norm between F and the add");
    if (std::any_of(
            graph.residual_adds.begin(), graph.residual_adds.end(), [](const ResidualAdd& a) { return a.scaled; }))
        say.push_back("the stream enters the add as a multiple of itself");
    if (std::any_of(
            graph.residual_adds.begin(), graph.residual_adds.end(), [](const ResidualAdd& a) { return a.mixed; }))
        say.push_back("the stream enters the add through a mixture of several streams");
    if (std::any_of(topology.stacks.begin(), topology.stacks.end(),
            [](const Topology::Stack& s) { return s.placement == "parallel"; }))
        say.push_back("two branches read the same point of the stream");
    if (!qk.empty()) say.push_back(fmt::format("queries and keys are normalised: {}", list(qk)));
    if (!inner.empty())
        say.push_back(fmt::format("inside a branch, neither at its beginning nor at its end: {}", list(inner)));
    if (!last.empty())
        say.push_back(
            fmt::format("behind the last add stands a final norm, which belongs to no block: {}", list(last)));
    if (std::any_of(topology.stacks.begin(), topology.stacks.end(),
            [](const Topology::Stack& s) { return s.placement == "mixed"; })) {
        std::vector<std::string> each, parts;
        for (std::size_t k = 0; k < adds; ++k)
            if (topology.stacks[graph.residual_adds[k].stack].placement == "mixed")
                each.push_back(fmt::format("line {} {}", graph.residual_adds[k].line, topology.adds[k]));
        for (const Topology::Branch& branch : topology.branches)
            if (branch.disagrees)
                parts.push_back(fmt::format("the one that ends at line {} {}", branch.end, branch.placement));
        if (std::adjacent_find(topology.adds.begin(), topology.adds.end(), std::not_equal_to<>()) !=
            topology.adds.end())
            say.push_back(fmt::format("the adds disagree: {}", fmt::join(each, ", ")));
        if (!parts.empty()) say.push_back(fmt::format("the branches of a sum disagree: {}", fmt::join(parts, ", ")));
        else if (std::find(topology.adds.begin(), topology.adds.end(), "mixed") != topology.adds.end())
            say.push_back("a branch has a norm of its own, and the sum has one behind it");
    }
}

void contradict(const Graph& graph, Topology& topology) {
    for (std::size_t scope = 1; scope < graph.scopes.size(); ++scope) {
        const std::string said = spoken(graph.scopes[scope].name);
        if (said.empty()) continue;
        for (std::size_t k = 0; k < topology.adds.size(); ++k) {
            const ResidualAdd& add = graph.residual_adds[k];
            const std::string& whole = topology.stacks[add.stack].placement;
            const std::string& is = whole == "parallel" ? whole : topology.adds[k];
            if (!graph.is_inside(graph.nodes[add.line].scope, scope) || is == said) continue;
            topology.contradictions.push_back(fmt::format(
                "scope '{}' says {}, but the tape is {}: see line {}", graph.scope_path(scope), said, is, add.line));
            break;
        }
    }
}

} // namespace chalkgrad::detail
