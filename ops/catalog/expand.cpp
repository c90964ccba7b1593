// Recording a tape again, fused ops by their composed twins.
#include <chalkgrad/ops/catalog/expand.hpp>

#include <algorithm>
#include <cstring>

#include <chalkgrad/autograd/tape/numbers.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

namespace chalkgrad {
namespace {

const CatalogEntry* composed_twin(std::string_view name) {
    for (const CatalogEntry& op : catalog())
        if (op.composed && name == op.name) return &op;
    return nullptr;
}

class Copier {
public:
    explicit Copier(const Tape& from)
        : from_(from), to_(from.shapes_only() ? Tape::Mode::shapes_only : Tape::Mode::values) {
        std::vector<detail::ScopeEntry>& scopes = to_.state()->scopes;
        scopes.insert(scopes.end(), from.state()->scopes.begin() + 1, from.state()->scopes.end());
    }

    Expanded run() {
        for (std::size_t i = 0; i < from_.size(); ++i) {
            const Line line = from_.line(i);
            to_.state()->scope = static_cast<detail::Index>(line.scope);
            std::size_t at;
            if (line.kind != Line::Kind::op) at = leaf(i, line);
            else if (const auto parts = composed(line)) at = *parts;
            else at = op(i);
            line_.push_back(at);
            if (line.kind == Line::Kind::op && !line.name.empty()) name(static_cast<detail::Index>(at), line.name);
        }
        to_.state()->scope = 0;
        return {to_, line_, kept_};
    }

private:
    void name(detail::Index at, const std::string& name) {
        to_.state()->names[at] = name;
        (*to_.state())[at].flags |= detail::Record::named;
    }

    std::size_t leaf(std::size_t i, const Line& line) {
        const detail::Index at =
            to_.state()->add_leaf(line.shape, line.dtype, line.kind == Line::Kind::variable, line.name);
        if (!from_.shapes_only() && line.shape.size() != 0) {
            const detail::Record& source = (*from_.state())[static_cast<detail::Index>(i)];
            std::memcpy((*to_.state())[at].value, source.value, from_.state()->value_bytes(source));
        }
        return at;
    }

    std::size_t op(std::size_t i) {
        const detail::Record& source = (*from_.state())[static_cast<detail::Index>(i)];
        std::vector<detail::Index> inputs;
        for (std::size_t k = 0; k < source.input_count; ++k) {
            const detail::Index input = from_.state()->inputs(source)[k];
            inputs.push_back(input == detail::absent ? input : static_cast<detail::Index>(line_[input]));
        }
        return to_.state()->add_op(*source.op, false, source.dtype, inputs.data(), inputs.size());
    }

    /// The op's parts on the new tape; nothing where it has no twin, or one that needs what is not on the tape (token ids).
    std::optional<std::size_t> composed(const Line& line) {
        const CatalogEntry* const twin = line.dtype == Dtype::f64 ? composed_twin(line.op) : nullptr;
        if (twin == nullptr) return {};
        std::vector<std::pair<std::string, Var<double>>> inputs;
        for (std::size_t k = 0; k < line.inputs.size(); ++k) {
            if (line.inputs[k] < 0) continue;
            inputs.emplace_back(line.input_names[k], line_at(to_, line_[static_cast<std::size_t>(line.inputs[k])]));
        }
        const Tape::Mark before = to_.mark();
        try {
            const Scope scope = to_.scope(line.op, line.role);
            Arguments<double> arguments(line.op, to_, std::move(inputs), {}, line.attributes);
            const Var<double> y = twin->composed(arguments);
            if (y.shape() == line.shape) return y.line();
        } catch (const Error&) {
            // the op stays as it is
        }
        to_.rewind(before);
        to_.state()->scope = static_cast<detail::Index>(line.scope);
        kept_.push_back(line_.size());
        return {};
    }

    Tape from_, to_;
    std::vector<std::size_t> line_, kept_;
};

} // namespace

Expanded expand(const Tape& tape) { return Copier(tape).run(); }

} // namespace chalkgrad
