// Block Jacobians from parts. With h the stream, F a sublayer, N a norm, each J at its own point:
//   pre I + J_F J_N    post J_N (I + J_F)    peri I + J_N2 J_F J_N1    output-only I + J_N J_F    DeepNorm J_N (α I + J_F)
//   parallel I + J_A J_N + J_F J_N    mHC J_mix + J_write J_F J_N J_read
// mHC whose maps A, pre and post are computed from X: J_mix, J_write and J_read hold them fixed, and three terms say how they move:
//   J_mix + A′X + J_write J_F J_N (J_read + pre′X) + post′F
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/check/jacobian.hpp>
#include <chalkgrad/autograd/tape/numbers.hpp>
#include <chalkgrad/autograd/tape/replay.hpp>
#include <chalkgrad/experiments/present/block_jacobian.hpp>

#include <algorithm>

#include <fmt/format.h>
#include <Eigen/Core>

namespace chalkgrad {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Eigen::Index;
using Norm = Topology::Norm;

/// A factor or a sum of them: its text and its numbers.
struct Term {
    std::string text;
    Matrix value;
    bool is_sum = false;
};
Term operator*(const Term& a, const Term& b) {
    if (b.text.empty()) return a; // the first factor
    const auto in_brackets = [](const Term& t) { return t.is_sum ? "(" + t.text + ")" : t.text; };
    return {in_brackets(a) + " " + in_brackets(b), a.value * b.value};
}
Term operator+(const Term& a, const Term& b) { return {a.text + " + " + b.text, a.value + b.value, true}; }

class RecordedBlock {
public:
    RecordedBlock(const Tape& tape, const Graph& graph, const Topology& topology)
        : tape_(tape), graph_(graph), topology_(topology) {}

    /// J(y ← x), from reverse sweeps.
    Term part(std::size_t y, std::size_t x, const std::string& name) const {
        const Var<double> top = var(y), bottom = var(x);
        Matrix j = matrix(y, x);
        Array<double> cotangent = Array<double>::from_shape({top.shape().begin(), top.shape().end()});
        cotangent.fill(0);
        for (std::size_t i = 0; i < top.size(); ++i) {
            cotangent.data()[i] = 1;
            const Array<double> row = grad(top, {bottom}, cotangent)[0];
            std::copy(row.data(), row.data() + row.size(), j.data() + i * bottom.size());
            cotangent.data()[i] = 0;
        }
        return {"J_" + name, j};
    }

    /// The step that begins with add k; moves k past it. `end` receives its last line.
    Term step(std::size_t& k, std::size_t& end) const {
        const ResidualAdd& add = graph_.residual_adds[k];
        ++k;
        const Norm* const after = norm_after(add.line);
        end = after == nullptr ? add.line : after->line;
        if (add.mixed) return mixed(add) + written(add);
        Term whole = carrier(add) + branch(add);
        if (k < graph_.residual_adds.size() && graph_.residual_adds[k].parallel &&
            graph_.residual_adds[k].from == add.from) {
            whole = whole + branch(graph_.residual_adds[k]);
            end = graph_.residual_adds[k++].line;
        }
        return after == nullptr ? whole : part(after->line, add.line, name_of(*after)) * whole;
    }

    Var<double> var(std::size_t line) const { return line_at(tape_, line); }

private:
    /// Of zeros, for J(y ← x).
    Matrix matrix(std::size_t y, std::size_t x) const {
        return Matrix::Zero(static_cast<Index>(var(y).size()), static_cast<Index>(var(x).size()));
    }
    const Norm* norm_after(std::size_t add) const {
        for (const Norm& norm : topology_.norms)
            if (norm.position == Norm::Position::after_add && !norm.final && norm.line > add &&
                depends(graph_, norm.reads, add) &&
                std::ranges::none_of(
                    graph_.residual_adds, [&](const ResidualAdd& a) { return a.line > add && a.line <= norm.reads; }))
                return &norm;
        return nullptr;
    }

    Term carrier(const ResidualAdd& add) const {
        const Index n = static_cast<Index>(graph_.nodes[add.line].shape.size());
        if (!add.scaled) return {"I", Matrix::Identity(n, n)};
        return {"α I", part(add.carrier, add.from, "").value};
    }

    /// J(branch ← h) in factors: through the norms that begin and end it, where there is one of each kind.
    Term branch(const ResidualAdd& add) const {
        const std::size_t line = add.branch, h = add.from;
        const Norm *in = nullptr, *out = nullptr;
        for (const Norm& norm : topology_.norms) {
            if (norm.line <= h || norm.line > line || !depends(graph_, line, norm.line) ||
                !depends(graph_, norm.line, h))
                continue;
            if (norm.position == Norm::Position::input && !graph_.nodes[norm.line].on_stream) in = &norm;
            if (norm.position == Norm::Position::output) out = &norm;
        }
        const std::size_t bottom = in == nullptr ? h : in->line, top = out == nullptr ? line : out->reads;
        Term whole = part(top, bottom, name_of_branch(top, add.line));
        if (out != nullptr) whole = part(line, out->reads, name_of(*out)) * whole;
        return in == nullptr ? whole : whole * part(in->line, h, name_of(*in));
    }

    // ---- mHC: streams X, mixed by A, read out with pre, written to with post

    /// The streams as they go on, A X.
    Term mixed(const ResidualAdd& add) const {
        std::size_t mix = add.carrier;
        for (auto handed = handed_on(graph_, mix); handed && !handed->mixed; handed = handed_on(graph_, mix))
            mix = handed->from;
        if (const auto a = maps_of(mix, add.from); !a.empty()) return with_maps(add.carrier, add.from, a, "mix", "A′X");
        Term whole = part(add.carrier, add.from, "mix");
        if (!is_linear(whole.value, add.from, add.carrier))
            whole.text = "(A X)′"; // one op computes A from X and mixes with it
        return whole;
    }

    /// The branch: what is read out of the streams, normalised, sent through F, and written back to all of them.
    Term written(const ResidualAdd& add) const {
        const std::size_t h = add.from, line = add.branch;
        const Norm* in = nullptr;
        for (const Norm& norm : topology_.norms)
            if (norm.line > h && norm.line < line && norm.position == Norm::Position::input &&
                depends(graph_, line, norm.line))
                in = &norm;
        if (in == nullptr) return part(line, h, "branch");
        const std::size_t write = step_above(line, in->line), f = operand_above(write, in->line);
        std::vector<std::size_t> post;
        for (const GraphEdge& edge : graph_.operands(write))
            if (edge.from != f && depends(graph_, edge.from, h)) post.push_back(edge.from);
        if (f == line || beside(line, f, post, h))
            return part(line, h, "branch"); // it sees the streams in other ways too

        const Term through = part(line, f, "write") * part(f, in->line, name_of_branch(f, add.line)) *
                             part(in->line, in->reads, name_of(*in));
        const Term whole = through * with_maps(in->reads, h, maps_of(step_above(in->reads, h), h), "read", "pre′X");
        return post.empty() ? whole : whole + through_maps(line, h, post, "post′F");
    }

    /// The operands of a line that meet the streams `h` there, are computed from them, and are not the streams themselves.
    std::vector<std::size_t> maps_of(std::size_t line, std::size_t h) const {
        std::vector<std::size_t> maps;
        bool meets = false;
        for (const GraphEdge& edge : graph_.operands(line)) {
            std::size_t at = edge.from;
            for (auto handed = handed_on(graph_, at); at != h && handed; handed = handed_on(graph_, at))
                at = handed->from;
            if (at == h) meets = true;
            else if (depends(graph_, edge.from, h)) maps.push_back(edge.from);
        }
        return meets ? maps : std::vector<std::size_t>();
    }
    /// J(y ← x) with the maps as they are, and what their own change adds.
    Term with_maps(std::size_t y, std::size_t x, const std::vector<std::size_t>& maps, const std::string& name,
        const std::string& change) const {
        if (maps.empty()) return part(y, x, name);
        return Term{"J_" + name, held(y, x, maps)} + through_maps(y, x, maps, change);
    }
    Term through_maps(
        std::size_t y, std::size_t x, const std::vector<std::size_t>& maps, const std::string& name) const {
        Term all{name, matrix(y, x)};
        for (const std::size_t map : maps) all.value += part(y, map, "").value * part(map, x, "").value;
        return all;
    }
    /// J(y ← x) by dual numbers that do not pass through the lines in `fixed`.
    Matrix held(std::size_t y, std::size_t x, const std::vector<std::size_t>& fixed) const {
        Replay<Dual<double>> program({var(y)});
        std::vector<std::uint32_t> lines = program.dependents(x);
        std::erase_if(lines, [&](std::size_t line) { return line == x || std::ranges::count(fixed, line) > 0; });
        Matrix j = matrix(y, x);
        for (Index k = 0; k < j.cols(); ++k) {
            program.values(x)[k].d = 1;
            program.run(lines);
            program.values(x)[k].d = 0;
            for (Index i = 0; i < j.rows(); ++i) j(i, k) = program.values(y)[i].d;
        }
        return j;
    }
    /// Whether y = J x, up to rounding.
    bool is_linear(const Matrix& j, std::size_t x, std::size_t y) const {
        const auto column = [&](std::size_t line) {
            const Var<double> numbers = var(line);
            return Eigen::Map<const Eigen::VectorXd>(numbers.data(), static_cast<Index>(numbers.size()));
        };
        const auto from = column(x), to = column(y);
        return (j * from - to).lpNorm<Eigen::Infinity>() <= 1e-9 * to.lpNorm<Eigen::Infinity>();
    }
    /// Down from a line by ops of one operand, to the first of several.
    std::size_t step_above(std::size_t line, std::size_t below) const {
        while (graph_.operands(line).size() == 1 && line != below) line = graph_.operands(line)[0].from;
        return line;
    }
    /// The operand through which a line depends on `below`, else the line.
    std::size_t operand_above(std::size_t line, std::size_t below) const {
        for (const GraphEdge& edge : graph_.operands(line))
            if (depends(graph_, edge.from, below)) line = edge.from;
        return line;
    }
    /// Whether a line depends on `h` also past the line f and the maps.
    bool beside(std::size_t line, std::size_t f, const std::vector<std::size_t>& maps, std::size_t h) const {
        std::vector<char> closed(graph_.nodes.size(), 0);
        closed[f] = 1;
        for (const std::size_t map : maps) closed[map] = 1;
        return depends(graph_, line, h, closed);
    }

    /// A scope that holds the norm and nothing else names it.
    std::string name_of(const Norm& norm) const {
        const std::size_t scope = graph_.nodes[norm.line].scope;
        const bool alone = std::ranges::all_of(graph_.nodes, [&](const GraphNode& n) {
            return n.scope != scope || n.op == "leaf" || n.role == Role::structure ||
                   std::ranges::count(norm.lines, n.line) > 0;
        });
        return alone && !norm.scope.empty() ? norm.scope.substr(norm.scope.find_last_of('/') + 1) : "N";
    }
    /// The module that a line of a branch belongs to: the scope just inside the one that holds the add.
    std::string name_of_branch(std::size_t line, std::size_t add) const {
        std::size_t scope = graph_.nodes[line].scope;
        const auto holds_add = [&](std::size_t s) {
            std::size_t at = graph_.nodes[add].scope;
            while (at != s && at != 0) at = graph_.scopes[at].parent;
            return at == s;
        };
        if (holds_add(scope)) return "F";
        while (!holds_add(graph_.scopes[scope].parent)) scope = graph_.scopes[scope].parent;
        return graph_.scopes[scope].name;
    }

    const Tape& tape_;
    const Graph& graph_;
    const Topology& topology_;
};

} // namespace

BlockJacobian block_jacobian(
    const Tape& tape, const Graph& graph, const Topology& topology, std::size_t x, std::size_t y) {
    if (graph.residual_adds.empty())
        throw Error("block_jacobian: the tape has no residual add; its Jacobian has no such form");
    const RecordedBlock block(tape, graph, topology);
    Term whole;
    std::size_t at = x;
    for (std::size_t k = 0; k < graph.residual_adds.size();) {
        const std::size_t from = graph.residual_adds[k].from;
        if (from != at) whole = block.part(from, at, "first") * whole;
        whole = block.step(k, at) * whole;
    }
    if (at != y) {
        const auto last =
            std::find_if(topology.norms.begin(), topology.norms.end(), [](const Norm& norm) { return norm.final; });
        whole = block.part(y, at, last != topology.norms.end() && last->line == y ? "final_norm" : "last") * whole;
    }

    const Array<double> numbers = jacobian(block.var(y), block.var(x), By::columns);
    const Eigen::Map<const Matrix> all(numbers.data(), whole.value.rows(), whole.value.cols());
    const double error = (all - whole.value).lpNorm<Eigen::Infinity>() / all.lpNorm<Eigen::Infinity>();
    return {"J = " + whole.text, error, error <= 1e-11};
}

} // namespace chalkgrad
