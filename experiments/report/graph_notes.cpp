// Notes for pictures of tapes.
#include <chalkgrad/experiments/report/graph_notes.hpp>

#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/autograd/tape/numbers.hpp>
#include <chalkgrad/experiments/report/derivation.hpp>

namespace chalkgrad {
namespace {

std::string summary(const std::vector<double>& numbers, bool with_norm) {
    const Summary s = summarize(numbers);
    if (s.size == 0) return "empty";
    if (s.size == 1) return fmt::format("{:.4g}", s.first);
    if (s.not_finite > 0) return fmt::format("{} of {} not finite", s.not_finite, s.size);
    if (!with_norm) return fmt::format("rms {:.4g}", s.rms);
    return fmt::format("norm {:.4g}, rms {:.4g}", s.rms * std::sqrt(static_cast<double>(s.size)), s.rms);
}

/// A formula for an operand that was not repeated: "ā = unb(ȳ b)" is then "ā = ȳ b".
std::string without_unb(std::string formula) {
    const std::size_t open = formula.find("unb(");
    if (open == std::string::npos) return formula;
    int depth = 0;
    for (std::size_t i = open + 3; i < formula.size(); ++i) {
        depth += formula[i] == '(' ? 1 : formula[i] == ')' ? -1 : 0;
        if (depth == 0) return formula.substr(0, open) + formula.substr(open + 4, i - open - 4) + formula.substr(i + 1);
    }
    return formula;
}

} // namespace

std::vector<std::vector<Note>> backward_notes(const Tape& tape) {
    std::vector<std::vector<Note>> notes(tape.size());
    for (std::size_t i = 0; i < tape.size(); ++i) {
        const Line line = tape.line(i);
        if (line.kind != Line::Kind::op || !line.needs_grad) continue;
        const Derivation& derivation = derivation_of(line.op);
        if (derivation.backward.empty()) {
            notes[i].push_back({Note::Kind::gradient, "cotangents by its own vjp"});
            continue;
        }
        for (std::size_t k = 0; k < line.inputs.size(); ++k) {
            if (line.inputs[k] < 0 || (k > 0 && line.input_names[k] == line.input_names[k - 1])) continue;
            const Line from = tape.line(static_cast<std::size_t>(line.inputs[k]));
            const Derivation::Gradient* const gradient = derivation.gradient(line.input_names[k]);
            if (from.needs_grad && gradient != nullptr)
                notes[i].push_back(
                    {Note::Kind::gradient, from.shape == line.shape ? without_unb(gradient->plain) : gradient->plain});
        }
        if (const std::size_t kept = saved_size(tape, i); kept > 0)
            notes[i].push_back({Note::Kind::attribute,
                fmt::format("keeps {}: {} number{}", derivation.kept, kept, kept == 1 ? "" : "s")});
    }
    return notes;
}

std::vector<std::vector<Note>> value_notes(const Tape& tape) {
    std::vector<std::vector<Note>> notes(tape.size());
    for (std::size_t i = 0; i < tape.size(); ++i) {
        notes[i].push_back({Note::Kind::value, "value " + summary(values_of(tape, i), false)});
        if (const auto gradient = gradient_of(tape, i))
            notes[i].push_back({Note::Kind::gradient, "gradient " + summary(*gradient, true)});
        else notes[i].push_back({Note::Kind::missing, "gradient not computed"});
    }
    return notes;
}

} // namespace chalkgrad
