// Recording a tape again, fused ops by their composed twins.
#include <chalkgrad/ops/catalog/expand.hpp>

#include <algorithm>

#include <chalkgrad/autograd/tape/numbers.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

namespace chalkgrad {
namespace {

class Copier {
public:
    explicit Copier(const Tape& from) : from_(from), new_{Tape(mode_of(from)), {}, {}} {
        state().scopes = from.state()->scopes;
    }

    Expanded run() {
        for (std::size_t i = 0; i < from_.size(); ++i) {
            const Line line = from_.line(i);
            state().scope = static_cast<detail::Index>(line.scope);
            const auto parts = composed(line);
            const std::size_t at = parts ? *parts : copy(i, line);
            if (!line.name.empty()) line_at(new_.tape, at).named(line.name); // whatever its scalar
            new_.line.push_back(at);
        }
        state().scope = 0;
        return new_;
    }

private:
    static Tape::Mode mode_of(const Tape& tape) {
        return tape.shapes_only() ? Tape::Mode::shapes_only : Tape::Mode::values;
    }
    detail::TapeState& state() { return *new_.tape.state(); }

    std::size_t copy(std::size_t i, const Line& line) {
        std::vector<detail::Index> inputs;
        for (const std::ptrdiff_t input : line.inputs)
            inputs.push_back(
                input < 0 ? detail::absent : static_cast<detail::Index>(new_.line[static_cast<std::size_t>(input)]));
        return state().add_copy(*from_.state(), static_cast<detail::Index>(i), false, line.dtype, inputs.data());
    }

    /// The op's parts on the new tape; nothing where it has no twin, or one that needs what is not on the tape (token ids).
    std::optional<std::size_t> composed(const Line& line) {
        const auto twin = std::find_if(catalog().begin(), catalog().end(),
            [&](const CatalogEntry& op) { return op.composed && line.op == op.name; });
        if (line.kind != Line::Kind::op || line.dtype != Dtype::f64 || twin == catalog().end()) return {};
        std::vector<std::pair<std::string, Var<double>>> inputs;
        for (std::size_t k = 0; k < line.inputs.size(); ++k)
            if (line.inputs[k] >= 0)
                inputs.emplace_back(
                    line.input_names[k], line_at(new_.tape, new_.line[static_cast<std::size_t>(line.inputs[k])]));
        const Tape::Mark before = new_.tape.mark();
        try {
            const Scope scope = new_.tape.scope(line.op, line.role);
            Arguments<double> arguments(line.op, new_.tape, std::move(inputs), {}, line.attributes);
            const Var<double> y = twin->composed(arguments);
            if (y.shape() == line.shape) return y.line();
        } catch (const Error&) {
            // the op stays as it is
        }
        new_.tape.rewind(before);
        new_.kept.push_back(new_.line.size());
        return {};
    }

    const Tape& from_;
    Expanded new_;
};

} // namespace

Expanded expand(const Tape& tape) { return Copier(tape).run(); }

} // namespace chalkgrad
