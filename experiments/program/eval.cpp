// `chalkgrad eval`: one op on .npy files.
#include <chalkgrad/experiments/program/eval.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/base/suggest.hpp>
#include <chalkgrad/experiments/program/terminal.hpp>
#include <chalkgrad/experiments/reference/operands.hpp>
#include <chalkgrad/experiments/report/compare.hpp>
#include <chalkgrad/experiments/report/json.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>

namespace chalkgrad {
namespace {

constexpr const char* output_name = "y"; // every op has one output

/// NAME=VALUE at its first '='.
std::pair<std::string, std::string> split(const std::string& text, const char* option, const char* form) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
        throw Error(fmt::format("eval: {} '{}' is not of the form {}", option, text, form));
    return {text.substr(0, equals), text.substr(equals + 1)};
}

struct Operand {
    std::string name, what; ///< `what` begins messages about it
    NpyArray file;
};

std::vector<Operand> read_operands(const std::vector<std::string>& given, const char* option) {
    std::vector<Operand> operands;
    for (const std::string& text : given) {
        const auto [name, path] = split(text, option, "NAME=FILE.npy");
        // Gradients are written to files of these names.
        if (name[0] == '.' || name.find_first_of("/\\\n") != std::string::npos)
            throw Error(fmt::format("eval: {} '{}' is no name for a file; use letters and digits", option, name));
        operands.push_back({name, fmt::format("eval: {} {}={}", option, name, path), read_npy(path)});
    }
    return operands;
}

void require_distinct(std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
        throw Error(fmt::format("eval: '{}' is given twice; keep one", *twice));
}

Attributes read_attributes(const std::vector<std::string>& given) {
    Attributes attributes;
    std::vector<std::string> names;
    for (const std::string& text : given) {
        const auto [key, value] = split(text, "--attr", "KEY=VALUE");
        const nlohmann::json parsed = nlohmann::json::parse(value, nullptr, false);
        const std::optional<Attribute> attribute = parsed.is_discarded() ? Attribute(value) : to_attribute(parsed);
        if (!attribute)
            throw Error(
                fmt::format("eval: --attr {}: {} is no number, word, flag, null or list of numbers", key, value));
        attributes.set(key, *attribute);
        names.push_back(key);
    }
    require_distinct(names);
    return attributes;
}

/// What the course's listings refuse: NaN and infinities. A mask hides by −∞, which is no number gone wrong.
void require_finite_numbers(const Operand& operand, const Array<double>& x) {
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double value = x.data()[i];
        if (std::isfinite(value) || (operand.name == "mask" && value == -HUGE_VAL)) continue;
        throw Error(fmt::format(
            "{}: number {} of {} is {}; --strict takes finite numbers only", operand.what, i, x.size(), value));
    }
}

/// How closely a result kept in `dtype` must agree with a file: the course's tolerances for doubles; else eight units
/// in the last place of the largest number, of the coarser type of the two, since its rounding of the inputs counts
/// too.
Allowance allowance(Dtype dtype, NpyType file, bool gradient, const Array<double>& want) {
    double largest = 0;
    for (const double w : want)
        if (std::isfinite(w)) largest = std::max(largest, std::abs(w));
    const double of_dtype = dtype == Dtype::f64   ? 0x1p-52
                            : dtype == Dtype::f32 ? 0x1p-23
                            : dtype == Dtype::f16 ? 0x1p-10
                                                  : 0x1p-7;
    const double of_file = file == NpyType::float64   ? 0x1p-52
                           : file == NpyType::float32 ? 0x1p-23
                           : file == NpyType::float16 ? 0x1p-10
                                                      : 0x1p-7;
    const double unit = std::max(of_dtype, of_file);
    if (unit == 0x1p-52) return {.relative = gradient ? 1e-9 : 1e-10, .absolute = 1e-12 * largest};
    return {.absolute = 8 * unit * largest};
}

/// An array that becomes NAME.npy.
struct Result {
    std::string name;
    NpyArray file;
    Array<double> values;
};

/// Where the cotangent is: FILE, or NAME=FILE with the output's name.
std::string cotangent_path(const std::string& text, const char* op) {
    const std::string prefix = std::string(output_name) + "=";
    if (text.starts_with(prefix)) return text.substr(prefix.size());
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || std::filesystem::exists(text)) return text;
    throw Error(fmt::format(
        "eval: --cotangent names '{}', but the output of {} is '{}'", text.substr(0, equals), op, output_name));
}

/// The output, then the gradients if there is a cotangent.
template <class T> std::vector<Result> results_of(const CatalogEntry& op, const EvalOptions& options) {
    const std::vector<Operand> inputs = read_operands(options.inputs, "--in");
    const std::vector<Operand> constants = read_operands(options.constants, "--const");
    std::vector<std::string> names;
    for (const auto* list : {&inputs, &constants})
        for (const Operand& operand : *list) names.push_back(operand.name);
    require_distinct(names);

    const Tape tape;
    std::vector<std::pair<std::string, Var<T>>> variables;
    std::vector<NamedArray> numbers;
    for (const Operand& operand : inputs) {
        const Array<T> values = to_operand<T>(operand.file, operand.what);
        if (options.strict) require_finite_numbers(operand, to_doubles(values));
        variables.emplace_back(operand.name, tape.variable(values, operand.name));
    }
    for (const Operand& operand : constants) {
        numbers.push_back({operand.name, to_array<double>(operand.file, operand.what)});
        if (options.strict) require_finite_numbers(operand, numbers.back().values);
    }
    Arguments<T> arguments(op.name, tape, variables, std::move(numbers), read_attributes(options.attributes));
    const Var<T> y = op.call(arguments);

    std::vector<Result> results{{output_name, to_npy(y.value()), to_doubles(y.value())}};
    if (!options.cotangent) return results;
    const std::string path = cotangent_path(*options.cotangent, op.name);
    y.backward(to_cotangent<T>(read_npy(path), fmt::format("eval: --cotangent {}", path)));
    using Gradient = Array<work_t<T>>;
    for (const auto& [name, x] : variables) {
        const Gradient gradient = x.has_grad() ? x.grad() : Gradient(x.value().shape(), work_t<T>(0));
        results.push_back({name + ".grad", to_npy(gradient), to_doubles(gradient)});
    }
    return results;
}

/// One --compare; what it says is added to `said`.
bool agrees(const std::string& text, const std::vector<Result>& results, Dtype dtype, std::string& said) {
    const auto [name, path] = split(text, "--compare", "NAME=FILE.npy or NAME.grad=FILE.npy");
    const auto found = std::find_if(
        results.begin(), results.end(), [&, &name = name](const Result& result) { return result.name == name; });
    if (found == results.end()) {
        std::string known;
        for (const Result& result : results) known += (known.empty() ? "" : ", ") + result.name;
        throw Error(fmt::format("eval: --compare: there is no '{}', only {}{}", name, known,
            results.size() > 1 ? "" : "; gradients need a --cotangent"));
    }
    const NpyArray file = read_npy(path);
    const Array<double> want = to_doubles(file, dtype == Dtype::bf16, fmt::format("eval: --compare {}={}", name, path));
    const bool is_gradient = found != results.begin();
    const Comparison comparison = compare(found->values, want, allowance(dtype, file.type, is_gradient, want));
    const std::string verdict =
        comparison.holds ? painted("agrees, worst", Colour::green, stdout) : painted("differs", Colour::red, stdout);
    said += fmt::format("{}: {} {}\n", name, verdict, to_string(comparison));
    return comparison.holds;
}

template <class T> int evaluate(const CatalogEntry& op, const EvalOptions& options) {
    const std::vector<Result> results = results_of<T>(op, options);
    bool holds = true;
    std::string said;
    for (const std::string& text : options.compared) holds = agrees(text, results, dtype_of<T>, said) && holds;

    FileSet files;
    for (const Result& result : results) {
        const std::filesystem::path path = options.out / (result.name + ".npy");
        files.add(path, npy_file(result.file));
        const Shape shape(result.file.shape.begin(), result.file.shape.end());
        said += fmt::format("{} {} {}\n", path.string(), to_string(shape), name(result.file.type));
    }
    files.publish();
    fmt::print("{}", said);
    return holds ? 0 : 1;
}

} // namespace

int run_eval(const EvalOptions& options) {
    const CatalogEntry& op = find_op(options.op);
    if (options.out.empty()) throw Error("eval: --out names no folder; give one for the output's file");
    check_output_folder("eval", options.out);
    if (options.dtype == "double") return evaluate<double>(op, options);
    if (options.dtype == "float") return evaluate<float>(op, options);
    if (options.dtype == "half") return evaluate<half>(op, options);
    if (options.dtype == "bfloat16") return evaluate<bfloat16>(op, options);
    throw Error(fmt::format("eval: there is no dtype '{}'; choose double, float, half or bfloat16{}", options.dtype,
        did_you_mean(options.dtype, {"double", "float", "half", "bfloat16"})));
}

} // namespace chalkgrad
