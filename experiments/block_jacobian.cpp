// Block Jacobians from parts. With h the stream, F a sublayer, N a norm, each J at its own point:
//   pre I + J_F J_N    post J_N (I + J_F)    peri I + J_N2 J_F J_N1    output-only I + J_N J_F    DeepNorm J_N (α I + J_F)
//   parallel I + J_A J_N + J_F J_N    mHC J_mix + J_write J_F J_N J_read
#include <chalkgrad/autograd/error.hpp>
#include <chalkgrad/autograd/jacobian.hpp>
#include <chalkgrad/experiments/block_jacobian.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace chalkgrad {
namespace {

using Matrix = Array<double>;

Matrix zeros(const std::vector<std::size_t>& shape) {
    Matrix m(shape);
    std::fill(m.data(), m.data() + m.size(), 0.0);
    return m;
}
Matrix identity(std::size_t n) {
    Matrix m = zeros({n, n});
    for (std::size_t i = 0; i < n; ++i) m.data()[i * n + i] = 1;
    return m;
}

Matrix product(const Matrix& a, const Matrix& b) {
    const std::size_t rows = a.shape()[0], inner = a.shape()[1], columns = b.shape()[1];
    Matrix c = zeros({rows, columns});
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t k = 0; k < inner; ++k)
            for (std::size_t j = 0; j < columns; ++j) c.data()[i * columns + j] += a.data()[i * inner + k] * b.data()[k * columns + j];
    return c;
}
Matrix sum(Matrix a, const Matrix& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a.data()[i] += b.data()[i];
    return a;
}

/// A factor or a sum of them: its text and its numbers.
struct Term {
    std::string text;
    Matrix value;
    bool is_sum = false;
};
Term operator*(const Term& a, const Term& b) {
    const auto in_brackets = [](const Term& t) { return t.is_sum ? "(" + t.text + ")" : t.text; };
    return {in_brackets(a) + " " + in_brackets(b), product(a.value, b.value)};
}
Term operator+(const Term& a, const Term& b) { return {a.text + " + " + b.text, sum(a.value, b.value), true}; }

class Block {
public:
    Block(const Tape& tape, const Graph& graph, const Topology& topology) : tape_(tape), graph_(graph), topology_(topology) {}

    /// J(y ← x), from reverse sweeps.
    Term part(std::size_t y, std::size_t x, const std::string& name) const {
        const Var<double> top = var(y), bottom = var(x);
        Matrix j = zeros({top.size(), bottom.size()});
        Matrix cotangent = zeros(std::vector<std::size_t>(top.shape().begin(), top.shape().end()));
        for (std::size_t i = 0; i < top.size(); ++i) {
            cotangent.data()[i] = 1;
            const Matrix row = grad(top, {bottom}, cotangent)[0];
            std::copy(row.data(), row.data() + row.size(), j.data() + i * bottom.size());
            cotangent.data()[i] = 0;
        }
        return {"J_" + name, j};
    }

    /// The step that begins with add k; moves k past it. `end` receives its last line.
    Term step(std::size_t& k, std::size_t& end) const {
        const ResidualAdd& add = graph_.residual_adds[k];
        ++k;
        const std::size_t h = add.from;
        end = add.line;
        const Norm* const after = norm_after(add.line);
        if (after != nullptr) end = after->line;
        const bool pair = k < graph_.residual_adds.size() && graph_.residual_adds[k].parallel && graph_.residual_adds[k].from == h;
        if (add.mixed) return part(add.carrier, h, "mix") + written(add);
        Term whole = carrier(add) + branch(add);
        if (pair) {
            whole = whole + branch(graph_.residual_adds[k]);
            end = graph_.residual_adds[k++].line;
        }
        return after == nullptr ? whole : part(after->line, add.line, name_of(*after)) * whole;
    }

private:
    Var<double> var(std::size_t line) const {
        const auto index = static_cast<detail::Index>(line);
        return Var<double>(tape_.state_ref(), index, (*tape_.state())[index].epoch);
    }

    const Norm* norm_after(std::size_t add) const {
        for (const Norm& norm : topology_.norms)
            if (norm.position == Norm::Position::after_add && !norm.final && norm.line > add && depends(graph_, norm.reads, add) && no_add_between(add, norm.reads)) return &norm;
        return nullptr;
    }
    bool no_add_between(std::size_t add, std::size_t line) const {
        return std::none_of(graph_.residual_adds.begin(), graph_.residual_adds.end(), [&](const ResidualAdd& a) { return a.line > add && a.line <= line; });
    }

    Term carrier(const ResidualAdd& add) const {
        const std::size_t n = graph_.nodes[add.line].shape.size();
        if (!add.scaled) return {"I", identity(n)};
        return {"α I", part(add.carrier, add.from, "").value};
    }

    /// J(branch ← h) in factors: through the norms that begin and end it, where there is one of each kind.
    Term branch(const ResidualAdd& add) const {
        const std::size_t line = add.branch, h = add.from;
        const Norm *in = nullptr, *out = nullptr;
        for (const Norm& norm : topology_.norms) {
            if (norm.line <= h || norm.line > line || !depends(graph_, line, norm.line) || !depends(graph_, norm.line, h)) continue;
            if (norm.position == Norm::Position::input && !graph_.nodes[norm.line].on_stream) in = &norm;
            if (norm.position == Norm::Position::output) out = &norm;
        }
        const std::size_t bottom = in == nullptr ? h : in->line, top = out == nullptr ? line : out->reads;
        Term whole = part(top, bottom, name_of_branch(top, add.line));
        if (out != nullptr) whole = part(line, out->reads, name_of(*out)) * whole;
        return in == nullptr ? whole : whole * part(in->line, h, name_of(*in));
    }

    /// mHC's branch: what is read out of the streams, normalised, sent through F, and written back to all of them.
    Term written(const ResidualAdd& add) const {
        const Norm* in = nullptr;
        for (const Norm& norm : topology_.norms)
            if (norm.line > add.from && norm.line < add.branch && norm.position == Norm::Position::input && depends(graph_, add.branch, norm.line)) in = &norm;
        const std::size_t f = in == nullptr ? add.branch : result_of_branch(add.branch, in->line);
        const bool maps_move = in != nullptr && beside(add.branch, f, add.from);
        if (in == nullptr || f == add.branch || maps_move) return part(add.branch, add.from, "branch"); // its maps depend on the streams as well
        return part(add.branch, f, "write") * part(f, in->line, name_of_branch(f, add.line)) * part(in->line, in->reads, name_of(*in)) * part(in->reads, add.from, "read");
    }
    /// The operand through which a written branch depends on `below`: F's result.
    std::size_t result_of_branch(std::size_t line, std::size_t below) const {
        for (;;) {
            const Graph::Operands operands = graph_.operands(line);
            const GraphEdge* through = nullptr;
            for (const GraphEdge& edge : operands)
                if (depends(graph_, edge.from, below)) through = &edge;
            if (through == nullptr || operands.size() == 0) return line;
            if (operands.size() > 1) return through->from;
            line = through->from;
        }
    }
    /// Whether a line depends on `h` also past the line f.
    bool beside(std::size_t line, std::size_t f, std::size_t h) const {
        std::vector<char> closed(graph_.nodes.size(), 0);
        closed[f] = 1;
        return depends(graph_, line, h, closed);
    }

    static std::string last_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }
    std::string name_of(const Norm& norm) const { return !norm.scope.empty() && names_it(norm) ? last_name(norm.scope) : "N"; }
    /// A scope that holds the norm and nothing else names it.
    bool names_it(const Norm& norm) const {
        const std::size_t scope = graph_.nodes[norm.line].scope;
        return std::all_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const GraphNode& n) {
            return n.scope != scope || n.op == "leaf" || n.role == Role::structure || std::find(norm.lines.begin(), norm.lines.end(), n.line) != norm.lines.end();
        });
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

}  // namespace

BlockJacobian block_jacobian(const Tape& tape, const Graph& graph, const Topology& topology, std::size_t x, std::size_t y) {
    if (graph.residual_adds.empty()) throw Error("block_jacobian: the tape has no residual add; its Jacobian has no such form");
    const Block block(tape, graph, topology);
    Term whole;
    std::size_t at = x;
    for (std::size_t k = 0; k < graph.residual_adds.size();) {
        const std::size_t from = graph.residual_adds[k].from;
        if (from != at) {
            const Term before = block.part(from, at, "first");
            whole = whole.text.empty() ? before : before * whole;
        }
        const Term step = block.step(k, at);
        whole = whole.text.empty() ? step : step * whole;
    }
    if (at != y) {
        const auto last = std::find_if(topology.norms.begin(), topology.norms.end(), [](const Norm& norm) { return norm.final; });
        whole = block.part(y, at, last != topology.norms.end() && last->line == y ? "final_norm" : "last") * whole;
    }

    const auto index = [&](std::size_t line) { return static_cast<detail::Index>(line); };
    const auto var = [&](std::size_t line) { return Var<double>(tape.state_ref(), index(line), (*tape.state())[index(line)].epoch); };
    const Matrix all = jacobian(var(y), var(x), By::columns);
    double largest = 0, off = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        largest = std::max(largest, std::abs(all.data()[i]));
        off = std::max(off, std::abs(all.data()[i] - whole.value.data()[i]));
    }
    const double error = off / largest;
    return {"J = " + whole.text, error, error <= 1e-11};
}

}  // namespace chalkgrad
