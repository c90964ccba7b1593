// The catalogue: every op by name, how to call it by name, and sample inputs that show its faults.
// gradcheck, the command line, the benchmark and the docs walk this list; a new op adds one line to catalog.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <chalkgrad/autograd/check/identity.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

struct NamedArray {
    std::string name;
    Array<double> values;
};

/// What is said by name in one call beside its variables: attributes and constants. A name that the op does not know is an error.
class Settings {
public:
    Settings(std::string op, std::vector<std::string> inputs, std::vector<NamedArray> constants, Attributes attributes);

    /// A required constant array.
    const Array<double>& constant(std::string_view name);
    /// A required constant of whole numbers (token ids, targets).
    Array<std::int64_t> whole_numbers(std::string_view name);

    double number(std::string_view name, std::optional<double> otherwise = {});
    /// A limit: absent where null or not given.
    std::optional<double> limit(std::string_view name);
    std::ptrdiff_t integer(std::string_view name, std::optional<std::ptrdiff_t> otherwise = {});
    std::optional<std::ptrdiff_t> maybe_integer(std::string_view name);
    bool flag(std::string_view name, bool otherwise);
    /// Text; a number, flag or list is taken as its text, since a command line cannot tell the slice "2" from the number.
    std::string word(std::string_view name, std::optional<std::string> otherwise = {});
    /// A list of whole numbers (axes, a shape); a single number is a list of one; absent where null or not given.
    std::optional<std::vector<std::ptrdiff_t>> integers(std::string_view name);
    /// Attributes that only describe a case.
    void ignore(std::initializer_list<std::string_view> names);

    /// Throws Error if anything given was never asked for.
    void finish() const;

protected:
    /// Which input has that name.
    std::optional<std::size_t> input(std::string_view name);
    const NamedArray* take_constant(std::string_view name);
    void take_all_inputs();
    [[noreturn]] void missing(const char* kind, std::string_view name) const;

private:
    const Attribute* take(std::string_view name);
    [[noreturn]] void wrong(std::string_view name, const Attribute& value, const char* wanted) const;
    template <class V> V given_or(std::string_view name, std::optional<V> given, std::optional<V> otherwise) const;
    std::string op_;
    std::vector<std::string> inputs_;
    std::vector<NamedArray> constants_;
    Attributes attributes_;
    std::vector<std::string> used_;
};

/// All arguments of one call, by the names of the op's description.
template <class T> class Arguments : public Settings {
public:
    Arguments(std::string op, Tape tape, std::vector<std::pair<std::string, Var<T>>> inputs,
        std::vector<NamedArray> constants, Attributes attributes);

    /// A required input; throws Error naming the op and what was given.
    Var<T> in(std::string_view name);
    /// An optional input: absent where it was not given.
    Var<T> maybe(std::string_view name);
    /// All inputs in the order given, for ops of any number of them.
    std::vector<Var<T>> all();
    /// An optional operand that may be an input, or a constant that is put on the tape.
    Var<T> maybe_constant(std::string_view name);
    /// Records an op on `inputs`, said as in CatalogEntry.
    Var<T> record(const Op& op, std::string_view inputs);

    const Tape& tape() const { return tape_; }

private:
    Tape tape_;
    std::vector<Var<T>> variables_;
};

/// One call of an op with numbers that show its faults: γ ≠ 1, several rows, values beyond the clamps.
struct Sample {
    std::string name;
    std::vector<NamedArray> inputs;
    std::vector<NamedArray> constants = {};
    Attributes attributes = {};

    /// The input of that name; nullptr where the sample does not give it.
    const Array<double>* input(std::string_view name) const;
    /// A numeric attribute, or `otherwise` where it is absent or null.
    double number(std::string_view name, double otherwise) const;
};

/// Draws one input or constant of a sample.
using DrawInput = std::function<Array<double>(Generator& rng, std::string_view input, const Shape& shape)>;
/// Changes what was drawn: rows on both sides of a guard, constants that are no random numbers.
using AdjustSamples = std::function<void(std::vector<Sample>& samples)>;
/// A rule with its fields, from the attributes and constants of a call; it runs in every scalar.
using MakeRule = std::function<std::unique_ptr<const Op>(Settings&)>;

/// How a call records an op of several lines.
template <class T> using Lines = std::function<Var<T>(Arguments<T>&)>;

/// An op as data: what lists say of it, how a call by name becomes a rule with its fields, and what shows its faults.
struct CatalogEntry {
    const char* name;
    const char* formula; ///< one line, for lists
    const char* section; ///< of the course, or the paper
    /// The names of the inputs in order: "x gamma?" where the second may be absent, "x mask|" where it may be absent, an input or
    /// a constant, "X A!" where it must be a constant, "..." for any number of them.
    const char* inputs = "x";
    MakeRule rule = {};
    /// Sample inputs drawn from rng; the same names and shapes for every seed.
    std::function<std::vector<Sample>(Generator& rng)> samples = {};
    /// The same mathematics from primitive ops on the tape; empty where the op is primitive itself.
    Lines<double> composed = {};
    /// What is known of the Jacobian at a sample without differentiating; may be empty.
    std::function<std::vector<Identity>(const Sample&)> identities = {};
    /// For an op that records several lines, in place of `rule`, in all scalars or in some.
    std::tuple<Lines<double>, Lines<float>, Lines<half>, Lines<bfloat16>> lines = {};

    // An entry is written as entry(…).with_samples(…).with_twin(…).with_identities(…).
    CatalogEntry with_samples(std::function<std::vector<Sample>(Generator& rng)> drawn) &&;
    /// From lines of text: see drawn in sample_points.hpp.
    CatalogEntry with_samples(
        std::initializer_list<const char*> lines, DrawInput draw = {}, AdjustSamples adjust = {}) &&;
    CatalogEntry with_twin(Lines<double> of_primitive_ops) &&;
    CatalogEntry with_identities(std::function<std::vector<Identity>(const Sample&)> known) &&;

    /// Where half and bfloat16 take another way, of several lines: f as in the other entry().
    template <class F> CatalogEntry with_lines_in_storage(F f) && {
        std::get<Lines<half>>(lines) = f;
        std::get<Lines<bfloat16>>(lines) = f;
        return std::move(*this);
    }

    /// Records a call; throws Error for arguments that are missing, unknown or of another kind.
    template <class T> Var<T> call(Arguments<T>& arguments) const;
};

/// A rule as CatalogEntry::rule returns it.
template <class Rule> std::unique_ptr<const Op> rule_of(Rule rule) {
    return std::make_unique<OpOf<Rule>>(std::move(rule));
}
/// The entry's rule where it has no fields.
template <class Rule> std::unique_ptr<const Op> plain(Settings&) { return rule_of(Rule{}); }

/// The entry of an op whose rule is made from the attributes of a call.
CatalogEntry entry(const char* name, const char* formula, const char* section, const char* inputs, MakeRule rule);

/// The entry of an op that records several lines, from one generic lambda that takes Arguments<T>& and returns Var<T>.
template <class F> CatalogEntry entry(const char* name, const char* formula, const char* section, F lines) {
    return {.name = name, .formula = formula, .section = section, .lines = {lines, lines, lines, lines}};
}

/// All ops, in the order of the course.
const std::vector<CatalogEntry>& catalog();
/// The entry of that name; throws Error naming the closest ones.
const CatalogEntry& find_op(std::string_view name);
/// Runs a sample on a tape: its inputs become variables, named; returns the output. `inputs` receives the variables.
Var<double> run_sample(
    const CatalogEntry& op, const Sample& sample, const Tape& tape, std::vector<Var<double>>* inputs = nullptr);

} // namespace chalkgrad
