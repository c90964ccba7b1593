// The catalogue: every op by name, how to call it by name, and sample inputs that show its faults.
// gradcheck, the command line, the benchmark and the docs walk this list; a new op adds one line to catalog.cpp.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <chalkgrad/autograd/check/identity.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad {

struct NamedArray {
    std::string name;
    Array<double> values;
};

/// The arguments of one call, by the names of the op's description. A name that the op does not know is an error.
template <class T> class Arguments {
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
    std::string word(std::string_view name, std::optional<std::string> otherwise = {});
    /// A list of whole numbers (axes, a shape); a single number is a list of one; absent where null or not given.
    std::optional<std::vector<std::ptrdiff_t>> integers(std::string_view name);
    /// Attributes that only describe a case.
    void ignore(std::initializer_list<std::string_view> names);

    /// Throws Error if anything given was never asked for.
    void finish() const;
    const Tape& tape() const { return tape_; }

private:
    const Attribute* take(std::string_view name);
    const NamedArray* take_constant(std::string_view name);
    [[noreturn]] void missing(const char* kind, std::string_view name) const;
    std::string op_;
    Tape tape_;
    std::vector<std::pair<std::string, Var<T>>> inputs_;
    std::vector<NamedArray> constants_;
    Attributes attributes_;
    std::vector<std::string> used_;
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

struct CatalogEntry {
    const char* name;
    const char* formula; ///< one line, for lists
    const char* section; ///< of the course, or the paper
    /// Calls the op with arguments by name.
    std::function<Var<double>(Arguments<double>&)> call_double;
    std::function<Var<float>(Arguments<float>&)> call_float;
    std::function<Var<half>(Arguments<half>&)> call_half;
    std::function<Var<bfloat16>(Arguments<bfloat16>&)> call_bfloat16;
    /// Sample inputs drawn from rng; the same names and shapes for every seed.
    std::function<std::vector<Sample>(Generator& rng)> samples;
    /// The same mathematics from primitive ops on the tape; empty where the op is primitive itself.
    std::function<Var<double>(Arguments<double>&)> composed = {};
    /// What is known of the Jacobian at a sample without differentiating; may be empty.
    std::function<std::vector<Identity>(const Sample&)> identities = {};

    /// The entry with its identities: entry(…).with_identities([](const Sample& s) { … }).
    CatalogEntry with_identities(std::function<std::vector<Identity>(const Sample&)> known) && {
        identities = std::move(known);
        return std::move(*this);
    }

    template <class T> Var<T> call(Arguments<T>& arguments) const {
        const auto& f = [this]() -> const auto& {
            if constexpr (std::is_same_v<T, double>) return call_double;
            else if constexpr (std::is_same_v<T, float>) return call_float;
            else if constexpr (std::is_same_v<T, half>) return call_half;
            else return call_bfloat16;
        }
        ();
        Var<T> y = f(arguments);
        arguments.finish();
        return y;
    }
};

/// An entry from one generic lambda that takes Arguments<T>& and returns Var<T>. `composed`: see CatalogEntry.
template <class Call>
CatalogEntry entry(const char* name, const char* formula, const char* section, Call call,
    std::function<std::vector<Sample>(Generator&)> samples,
    std::function<Var<double>(Arguments<double>&)> composed = {}) {
    return {name, formula, section, call, call, call, call, std::move(samples), std::move(composed)};
}

/// All ops, in the order of the course.
const std::vector<CatalogEntry>& catalog();
/// The entry of that name; throws Error naming the closest ones.
const CatalogEntry& find_op(std::string_view name);
/// Runs a sample on a tape: its inputs become variables, named; returns the output. `inputs` receives the variables.
Var<double> run_sample(
    const CatalogEntry& op, const Sample& sample, const Tape& tape, std::vector<Var<double>>* inputs = nullptr);

} // namespace chalkgrad
