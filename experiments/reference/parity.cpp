// Parity: a manifest becomes cases, each case one call of an op, each output and gradient one comparison.
#include <chalkgrad/experiments/reference/parity.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/autograd/base/suggest.hpp>
#include <chalkgrad/experiments/reference/operands.hpp>
#include <chalkgrad/experiments/reference/parity_modules.hpp>
#include <chalkgrad/experiments/report/compare.hpp>
#include <chalkgrad/experiments/report/json.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>

namespace chalkgrad {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// Reads the parts of one manifest; its messages begin with the manifest's path and the place in it.
class Reader {
public:
    explicit Reader(const fs::path& manifest)
        : where_(fmt::format("parity: '{}'", manifest.string())),
          folder_(fs::weakly_canonical(fs::absolute(manifest)).parent_path()) {}

    [[noreturn]] void refuse(const std::string& place, const std::string& what) const {
        throw Error(fmt::format("{}{}{}: {}", where_, place.empty() ? "" : ", ", place, what));
    }
    /// A member of an object; the object must have it, and it must be of the type.
    const json& member(const json& object, const char* key, json::value_t type, const std::string& place) const {
        const auto found = object.is_object() ? object.find(key) : object.end();
        if (!object.is_object() || found == object.end())
            refuse(place, fmt::format("'{}' is missing; a golden-1 manifest has it", key));
        if (found->type() != type)
            refuse(
                place, fmt::format("'{}' is a {}; it must be a {}", key, found->type_name(), json(type).type_name()));
        return *found;
    }
    std::string text(const json& object, const char* key, const std::string& place) const {
        return member(object, key, json::value_t::string, place).get<std::string>();
    }
    double number(const json& object, const char* key, const std::string& place) const {
        const json& value = object.at(key);
        const double number = value.is_number() ? value.get<double>() : std::nan("");
        if (!(number >= 0 && std::isfinite(number)))
            refuse(place, fmt::format("'{}' is {}; a tolerance is a number >= 0", key, value.dump()));
        return number;
    }
    /// The array of a file, which must lie in the manifest's folder.
    NpyArray file(const json& object, const char* key, const std::string& place) const {
        const fs::path named = text(object, key, place);
        const fs::path path = fs::weakly_canonical(folder_ / named);
        const auto [end, _] = std::mismatch(folder_.begin(), folder_.end(), path.begin(), path.end());
        if (named.is_absolute() || end != folder_.end())
            refuse(
                place, fmt::format("'{}' is outside the manifest's folder; name files relative to it", named.string()));
        try {
            return read_npy(path);
        } catch (const Error& error) { refuse(place, error.what()); }
    }
    /// A tolerance: {rtol, atol}, or {max_ulp, fp32_atol} in units of the storage type.
    Allowance tolerance(const json& object, const char* key, Dtype storage, const std::string& place) const {
        const json& tolerance = member(object, key, json::value_t::object, place);
        const auto get = [&](const char* name) {
            return tolerance.contains(name) ? number(tolerance, name, place) : 0;
        };
        if (!tolerance.contains("rtol") && !tolerance.contains("max_ulp"))
            refuse(place, fmt::format("'{}' has neither rtol nor max_ulp", key));
        return {.relative = get("rtol"),
            .absolute = get("atol") + get("fp32_atol"),
            .ulps = get("max_ulp"),
            .storage = storage};
    }

private:
    std::string where_;
    fs::path folder_;
};

/// An array of a case with what it is compared with, if anything.
struct Tensor {
    std::string name;
    std::optional<NpyArray> values;    ///< of inputs and constants
    std::optional<NpyArray> cotangent; ///< of outputs
    std::optional<NpyArray> wanted;    ///< of outputs the value, of inputs the gradient
    Allowance allowance = {};
};

struct Case {
    std::string id, op;
    Dtype dtype;
    Attributes attributes;
    std::vector<Tensor> inputs, constants, outputs;
    std::string mismatch; ///< what the manifest and its files disagree on
};

/// Names in a manifest that are ops of the catalogue with their inputs arranged.
const std::vector<CatalogEntry>& arranged_ops() {
    const auto fan_out = [](auto& c) {
        const auto a = c.in("a");
        return a * a + a;
    };
    const auto diagonal = [](auto& c) {
        const auto z = c.in("z");
        const double alpha = c.number("alpha", 1), shift = c.number("shift_up", 0);
        return swiglu_act(z, z, {alpha, c.limit("gate_limit"), c.limit("up_limit"), shift});
    };
    static const std::vector<CatalogEntry> entries = {
        entry("fan_out", "a a + a", "§8", fan_out), entry("swiglu_act_diag", "swiglu_act(z, z)", "§9", diagonal)};
    return entries;
}

const CatalogEntry* find(const std::string& op) {
    for (const auto* list : {&catalog(), &arranged_ops(), &nn::parity_modules()})
        for (const CatalogEntry& entry : *list)
            if (op == entry.name) return &entry;
    return nullptr;
}

std::optional<Dtype> dtype_named(std::string_view name) {
    static const std::map<std::string_view, Dtype> dtypes = {
        {"float64", Dtype::f64}, {"float32", Dtype::f32}, {"float16", Dtype::f16}, {"bfloat16", Dtype::bf16}};
    const auto found = dtypes.find(name);
    return found == dtypes.end() ? std::nullopt : std::optional(found->second);
}

/// Whether an attribute only describes the case (where numbers came from, what they stand for).
bool describes(const std::string& key, const json& value) {
    return key == "input" || key == "layout" || key == "formula" || key == "seed" || key == "row_rms" ||
           (key == "b" && value.is_string());
}

Case read_case(const Reader& reader, const json& source, Dtype dtype) {
    Case c;
    c.id = source["id"];
    c.op = source["op"];
    c.dtype = dtype;
    const std::string place = fmt::format("case '{}'", c.id);
    for (const auto& [key, value] : reader.member(source, "attrs", json::value_t::object, place).items()) {
        if (describes(key, value)) continue;
        if (const std::optional<Attribute> attribute = to_attribute(value)) c.attributes.set(key, *attribute);
        else c.mismatch = fmt::format("attribute '{}' is {}; no op takes that", key, value.dump());
    }
    // A file whose shape is not the announced one fails the case.
    const auto read = [&](const json& object, const char* key, const std::string& at) {
        NpyArray file = reader.file(object, key, at);
        const json& shape = reader.member(object, "shape", json::value_t::array, at);
        if (shape != json(file.shape) && c.mismatch.empty())
            c.mismatch = fmt::format("{} of '{}' has shape {}; the manifest says {}", key,
                object["name"].get<std::string>(), json(file.shape).dump(), shape.dump());
        return file;
    };
    std::vector<std::string> names;
    const auto each = [&](const char* list, std::vector<Tensor>& tensors, auto complete) {
        for (const json& object : reader.member(source, list, json::value_t::array, place)) {
            Tensor tensor;
            tensor.name = reader.text(object, "name", fmt::format("{}, {}", place, list));
            if (std::find(names.begin(), names.end(), tensor.name) != names.end())
                reader.refuse(place, fmt::format("'{}' is given twice", tensor.name));
            names.push_back(tensor.name);
            complete(tensor, object, fmt::format("{}, '{}'", place, tensor.name));
            tensors.push_back(std::move(tensor));
        }
    };
    each("inputs", c.inputs, [&](Tensor& tensor, const json& object, const std::string& at) {
        tensor.values = read(object, "file", at);
        if (!object.contains("grad_file")) return;
        tensor.wanted = read(object, "grad_file", at);
        tensor.allowance = reader.tolerance(object, "grad_tol", dtype, at);
    });
    each("constants", c.constants,
        [&](Tensor& tensor, const json& object, const std::string& at) { tensor.values = read(object, "file", at); });
    names.clear(); // an output may be named like an input
    each("outputs", c.outputs, [&](Tensor& tensor, const json& object, const std::string& at) {
        tensor.wanted = read(object, object.contains("exact_file") ? "exact_file" : "file", at);
        tensor.allowance = reader.tolerance(object, "tol", dtype, at);
        if (object.contains("cotangent_file")) tensor.cotangent = read(object, "cotangent_file", at);
    });
    const bool wants_gradient =
        std::any_of(c.inputs.begin(), c.inputs.end(), [](const Tensor& x) { return x.wanted.has_value(); });
    if (c.outputs.size() != 1 || (wants_gradient && !c.outputs[0].cotangent))
        reader.refuse(place, "a case has one output, and with gradients also its cotangent");
    return c;
}

/// One comparison; its worst error into `worst`, what is wrong into the case.
void judge(ParityCase& result, std::optional<double>& worst, const std::string& what, const Array<double>& got,
    const Tensor& tensor) {
    const Array<double> want = to_doubles(*tensor.wanted, true, what);
    const Comparison comparison = compare(got, want, tensor.allowance);
    if (comparison.shapes.empty()) worst = std::max(worst.value_or(0), comparison.error);
    if (comparison.holds) return;
    result.verdict = ParityCase::Verdict::fail;
    result.why += fmt::format("{}{} {}", result.why.empty() ? "" : "; ", what, to_string(comparison));
}

void run(const CatalogEntry& op, const Case& c, ParityCase& result) {
    const auto operands = [](const std::vector<Tensor>& tensors, const char* kind) {
        std::vector<FileOperand> list;
        for (const Tensor& x : tensors) list.push_back({x.name, fmt::format("{} '{}'", kind, x.name), *x.values});
        return list;
    };
    const OpCall call =
        call_op(op, c.dtype, operands(c.inputs, "input"), operands(c.constants, "constant"), c.attributes);
    judge(result, result.worst_forward, c.outputs[0].name, call.y.values, c.outputs[0]);
    if (!c.outputs[0].cotangent) return;
    const std::vector<OpResult> gradients = call.backward(*c.outputs[0].cotangent, "the cotangent");
    for (std::size_t i = 0; i < gradients.size(); ++i)
        if (c.inputs[i].wanted)
            judge(result, result.worst_grad, "d/d" + c.inputs[i].name, gradients[i].values, c.inputs[i]);
}

ParityCase replay_case(const Reader& reader, const json& source) {
    ParityCase result;
    result.id = source["id"];
    result.op = source["op"];
    const auto end = [&](ParityCase::Verdict verdict, std::string why) {
        result.verdict = verdict;
        result.why = std::move(why);
        return result;
    };
    using Verdict = ParityCase::Verdict;
    const std::string dtype_name = reader.text(source, "dtype", fmt::format("case '{}'", result.id));
    const std::optional<Dtype> dtype = dtype_named(dtype_name);
    const CatalogEntry* const op = find(result.op);
    if (op == nullptr)
        return end(
            Verdict::unsupported, fmt::format("there is no op '{}'; 'chalkgrad list ops' shows them all", result.op));
    if (!dtype)
        return end(Verdict::unsupported,
            fmt::format("there is no dtype '{}'; it may be float64, float32, float16 or bfloat16", dtype_name));

    const Case c = read_case(reader, source, *dtype);
    if (!c.mismatch.empty()) return end(Verdict::fail, c.mismatch);
    try {
        run(*op, c, result);
    } catch (const Error& error) { return end(Verdict::fail, error.what()); }
    return result;
}

} // namespace

const char* name(ParityCase::Verdict verdict) {
    using Verdict = ParityCase::Verdict;
    return verdict == Verdict::pass ? "pass" : verdict == Verdict::fail ? "fail" : "unsupported";
}

std::size_t ParityReport::count(ParityCase::Verdict verdict) const {
    return static_cast<std::size_t>(
        std::count_if(cases.begin(), cases.end(), [=](const ParityCase& c) { return c.verdict == verdict; }));
}

ParityReport replay(const fs::path& manifest, std::string_view op) {
    const std::string text = read_file(manifest);
    const Reader reader(manifest);
    const json document = json::parse(text, nullptr, false);
    if (document.is_discarded())
        reader.refuse("", "is not JSON; it must be a golden-1 manifest, written as UTF-8 and without NaN");
    if (const std::string format = reader.text(document, "format", ""); format != "golden-1")
        reader.refuse("", fmt::format("has format '{}'; only golden-1 is known", format));

    ParityReport report;
    std::vector<std::string> names;
    std::size_t number = 0;
    for (const json& source : reader.member(document, "cases", json::value_t::array, "")) {
        const std::string place = fmt::format("case {}", number++);
        reader.text(source, "id", place);
        const std::string name = reader.text(source, "op", place);
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
        if (op.empty() || op == name) report.cases.push_back(replay_case(reader, source));
    }
    if (report.cases.empty())
        reader.refuse(
            "", op.empty() ? "holds no case" : fmt::format("has no case of op '{}'{}", op, did_you_mean(op, names)));
    return report;
}

} // namespace chalkgrad
