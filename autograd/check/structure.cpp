// Which columns of a Jacobian each output element can depend on at all: found by moving strips of the inputs, and held against
// what the backward sends back.
#include <map>

#include <chalkgrad/autograd/check/steps.hpp>

namespace chalkgrad::detail {
namespace {

/// How many neighbours of an input move together: a row, or one element where it has one axis.
std::size_t strip_of(const Var<double>& x) { return x.shape().rank() < 2 ? 1 : x.shape().last(); }

/// Marks the output elements that are not what they were at the point; adds to the marks.
void mark_moved(CheckedProgram& s, std::vector<unsigned char>& moved) {
    unsigned char* mark = moved.data();
    for (std::size_t y = 0; y < s.outputs.size(); ++y) {
        const double *here = s.outputs[y].data(), *there = s.program.values(s.output_lines[y]);
        const std::size_t size = s.outputs[y].size();
        for (std::size_t i = 0; i < size; ++i) mark[i] |= there[i] != here[i];
        mark += size;
    }
}

/// The span of every output element by input x; nothing where a strip moves all of them, or none.
///
/// A strip moves by random amounts, up and down, once by about the size of x and once by a small part of the shortest length.
/// How an element could still depend on a strip that leaves it as it is, to the last bit: a slope that the four steps round
/// away, below ε |y| over the small step, far below what a difference with a tolerance could tell; or a branch that holds the
/// point and ends within the small step, on a value that holds beyond the large one too. A branch that the point is not on
/// has slope 0 at the point; one that the large step reaches is taken for a dependence.
std::vector<Span> spans_of(CheckedProgram& s, std::size_t x) {
    const Var<double>& input = s.inputs[x];
    const std::size_t strip = strip_of(input);
    const std::size_t size = input.size();
    if (size <= strip) return {};
    std::vector<Span> spans(s.rows);
    std::vector<unsigned char> moved(s.rows);
    std::vector<double> by(strip);
    const double* point = input.data();
    double* numbers = s.program.values(input.line());
    Generator rng = s.stream(12, x);
    const double far = s.lengths[x].front(), near = 1e-4 * s.shortest(x);
    bool useful = true;
    for (std::size_t first = 0; first < size && useful; first += strip) {
        std::fill(moved.begin(), moved.end(), 0);
        for (double& v : by) v = rng.uniform(0.3, 0.6) * (rng.standard_normal() < 0 ? -1 : 1);
        for (const double step : {far, -far, near, -near}) {
            for (std::size_t k = 0; k < strip; ++k) numbers[first + k] = point[first + k] + step * by[k];
            s.program.run(s.dependents[x]);
            mark_moved(s, moved);
        }
        std::copy_n(point + first, strip, numbers + first);
        for (std::size_t i = 0; i < s.rows; ++i) {
            if (!moved[i]) continue;
            if (spans[i].count == 0) spans[i].first = first;
            spans[i].count = first + strip - spans[i].first;
        }
        const auto count = static_cast<std::size_t>(std::count(moved.begin(), moved.end(), 1));
        useful = count > 0 && count < s.rows;
    }
    s.program.run(s.dependents[x]);
    return useful ? spans : std::vector<Span>();
}

/// Whether the backward sends exactly nothing from an output element to what lies outside its span. Elements with the same
/// span share a sweep: a leak could hide there only behind another of the same size.
bool holds_backwards(CheckedProgram& s, std::size_t x, const std::vector<Span>& spans) {
    Generator rng = s.stream(13, x);
    const Span* of = spans.data();
    for (std::size_t y = 0; y < s.outputs.size(); of += s.outputs[y].size(), ++y) {
        std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> alike;
        std::vector<double> cotangent(s.outputs[y].size(), 0);
        for (std::size_t i = 0; i < cotangent.size(); ++i) alike[{of[i].first, of[i].count}].push_back(i);
        for (const auto& [span, rows] : alike) {
            for (const std::size_t i : rows) cotangent[i] = rng.standard_normal();
            s.program.backward(s.output_lines[y], cotangent.data());
            for (const std::size_t i : rows) cotangent[i] = 0;
            const double* g = s.program.gradient(s.inputs[x].line());
            if (g == nullptr) continue;
            const auto zero = [](double v) { return v == 0; };
            const double *begin = g + span.first, *end = begin + span.second;
            if (!std::all_of(g, begin, zero) || !std::all_of(end, g + s.inputs[x].size(), zero)) return false;
        }
    }
    return true;
}

} // namespace

Structure find_structure(CheckedProgram& s) {
    Structure structure(s.inputs.size());
    if (!s.all_finite()) return structure;
    for (std::size_t x = 0; x < s.inputs.size(); ++x) {
        std::vector<Span> spans;
        try {
            spans = spans_of(s, x);
        } catch (const std::exception&) { // the op refuses such numbers
            s.restore();
        }
        if (!spans.empty() && holds_backwards(s, x, spans)) structure[x] = std::move(spans);
    }
    return structure;
}

} // namespace chalkgrad::detail
