// `chalkgrad eval`: one op on .npy files.
#include <chalkgrad/experiments/program/commands.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include <chalkgrad/experiments/reference/operands.hpp>
#include <chalkgrad/experiments/report/compare.hpp>

namespace chalkgrad {
namespace {

struct EvalOptions {
    Command c;
    std::string op = c.option(op, "OP", "TEXT", "Name of an op ('chalkgrad list ops' shows them)", Given::always);
    Words inputs = c.option(inputs, "--in", "NAME=FILE.npy", "An input, floating-point", Given::one_by_one);
    Words constants = c.option(
        constants, "--const", "NAME=FILE.npy", "A constant: a mask, token ids, a condition", Given::one_by_one);
    Words attributes =
        c.option(attributes, "--attr", "KEY=VALUE", "An attribute: JSON, else a word", Given::one_by_one);
    Word cotangent = c.option(cotangent, "--cotangent", "[NAME=]FILE.npy", "Go backward from the output with this");
    std::string dtype = c.option(dtype, "--dtype", "TYPE", "double, float, half or bfloat16", {}, {"double"});
    bool strict = c.flag(strict, "--strict", "Refuse inputs that are not finite, as the course's listings do");
    Words compared = c.option(
        compared, "--compare", "NAME[.grad]=FILE.npy", "Compare the output or a gradient with this", Given::one_by_one);
    Path out = c.option(
        out, "--out", "DIR", "Folder for y.npy and INPUT.grad.npy; its other files are left alone", Given::always);
};

constexpr const char* output_name = "y"; // every op has one output

/// NAME=VALUE at its first '='.
std::pair<std::string, std::string> split(const std::string& text, const char* option, const char* form) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
        throw Error(fmt::format("eval: {} '{}' is not of the form {}", option, text, form));
    return {text.substr(0, equals), text.substr(equals + 1)};
}

std::vector<FileOperand> read_operands(const Words& given, const char* option) {
    std::vector<FileOperand> operands;
    for (const std::string& text : given) {
        const auto [name, path] = split(text, option, "NAME=FILE.npy");
        // Gradients are written to files of these names.
        if (name[0] == '.' || name.find_first_of("/\\\n") != std::string::npos)
            throw Error(fmt::format("eval: {} '{}' is no name for a file; use letters and digits", option, name));
        operands.push_back({name, fmt::format("eval: {} {}={}", option, name, path), read_npy(path)});
    }
    return operands;
}

void require_distinct(Words names) {
    std::sort(names.begin(), names.end());
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
        throw Error(fmt::format("eval: '{}' is given twice; keep one", *twice));
}

Attributes read_attributes(const Words& given) {
    Attributes attributes;
    Words names;
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
void require_finite_numbers(const FileOperand& operand, const Array<double>& x) {
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
    const Dtype of_file = file == NpyType::float64   ? Dtype::f64
                          : file == NpyType::float32 ? Dtype::f32
                          : file == NpyType::float16 ? Dtype::f16
                                                     : Dtype::bf16;
    const double unit = std::max(ulp(1, dtype), ulp(1, of_file));
    if (unit == 0x1p-52) return {.relative = gradient ? 1e-9 : 1e-10, .absolute = 1e-12 * largest};
    return {.absolute = 8 * unit * largest};
}

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
std::vector<OpResult> results_of(const CatalogEntry& op, Dtype dtype, const EvalOptions& options) {
    OpArguments given{read_operands(options.inputs, "--in"), read_operands(options.constants, "--const"), {}};
    Words names;
    for (const auto* list : {&given.inputs, &given.constants})
        for (const FileOperand& operand : *list) names.push_back(operand.name);
    require_distinct(names);
    given.attributes = read_attributes(options.attributes);
    if (options.strict) given.check = require_finite_numbers;
    const OpCall call = call_op(op, dtype, given);
    std::vector<OpResult> results{call.y};
    if (!options.cotangent) return results;
    const std::string path = cotangent_path(*options.cotangent, op.name);
    for (OpResult& gradient : call.backward(read_npy(path), fmt::format("eval: --cotangent {}", path)))
        results.push_back(std::move(gradient));
    return results;
}

/// One --compare; what it says is added to `said`.
bool agrees(const std::string& text, const std::vector<OpResult>& results, Dtype dtype, std::string& said) {
    const auto [name, path] = split(text, "--compare", "NAME=FILE.npy or NAME.grad=FILE.npy");
    const auto found = std::find_if(
        results.begin(), results.end(), [&, &name = name](const OpResult& result) { return result.name == name; });
    if (found == results.end()) {
        std::string known;
        for (const OpResult& result : results) known += (known.empty() ? "" : ", ") + result.name;
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

int run_eval(const EvalOptions& options) {
    static const std::map<std::string, Dtype> dtypes = {
        {"double", Dtype::f64}, {"float", Dtype::f32}, {"half", Dtype::f16}, {"bfloat16", Dtype::bf16}};
    const CatalogEntry& op = find_op(options.op);
    if (options.out.empty()) throw Error("eval: --out names no folder; give one for the output's file");
    check_output_folder("eval", options.out);
    const auto dtype = dtypes.find(options.dtype);
    if (dtype == dtypes.end())
        throw Error(fmt::format("eval: there is no dtype '{}'; choose double, float, half or bfloat16{}", options.dtype,
            did_you_mean(options.dtype, {"double", "float", "half", "bfloat16"})));

    const std::vector<OpResult> results = results_of(op, dtype->second, options);
    bool holds = true;
    std::string said;
    for (const std::string& text : options.compared) holds = agrees(text, results, dtype->second, said) && holds;
    FileSet files;
    for (const OpResult& result : results) {
        const Path path = options.out / (result.name + ".npy");
        files.add(path, npy_file(result.file));
        const Shape shape(result.file.shape.begin(), result.file.shape.end());
        said += fmt::format("{} {} {}\n", path.string(), to_string(shape), name(result.file.type));
    }
    files.publish();
    fmt::print("{}", said);
    return holds ? 0 : 1;
}

} // namespace

void add_eval(Commands& commands) {
    commands.add("eval", "Run one op on .npy files, forward and backward", run_eval,
        "  chalkgrad eval rms_norm --in x=x.npy --in gamma=g.npy --attr eps=1e-5 --out result\n"
        "  chalkgrad eval softmax --in x=x.npy --cotangent ct.npy --out result          also result/x.grad.npy\n"
        "  chalkgrad eval silu --in x=x.npy --cotangent ct.npy --compare y=want.npy --compare x.grad=gx.npy --out "
        "result\n"
        "  chalkgrad eval sum --in x=x.npy --attr axes=[0,1] --attr keepdims=true --dtype bfloat16 --out result\n"
        "Files of bfloat16 hold uint16 bits; gradients of half and bfloat16 are written in float.\n"
        "Exit status: 0 when all comparisons hold, 1 when one fails, 2 when the call or a file is wrong.");
}

} // namespace chalkgrad
