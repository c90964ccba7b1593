// Parity: a manifest becomes cases, each case one call of an op, each output and gradient one comparison.
#include <chalkgrad/experiments/reference/parity.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/autograd/base/suggest.hpp>
#include <chalkgrad/experiments/reference/operands.hpp>
#include <chalkgrad/experiments/report/compare.hpp>
#include <chalkgrad/experiments/report/json.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>

namespace chalkgrad {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// An object of a manifest. What is wrong with it is refused with its place, the manifest's path first.
struct Part {
    const json& object;
    std::string place;
    fs::path folder; ///< the manifest's

    Part inner(const json& its, const std::string& name) const {
        return {its, fmt::format("{}, {}", place, name), folder};
    }
    [[noreturn]] void refuse(const std::string& what) const { throw Error(fmt::format("{}: {}", place, what)); }

    /// The object must have it, and it must be of the type.
    const json& member(const char* key, json::value_t type) const {
        const auto found = object.is_object() ? object.find(key) : object.end();
        if (!object.is_object() || found == object.end())
            refuse(fmt::format("'{}' is missing; a golden-1 manifest has it", key));
        if (found->type() != type)
            refuse(fmt::format("'{}' is a {}; it must be a {}", key, found->type_name(), json(type).type_name()));
        return *found;
    }
    std::string text(const char* key) const { return member(key, json::value_t::string).get<std::string>(); }

    /// The array of a file, which must lie in the manifest's folder.
    NpyArray file(const char* key) const {
        const fs::path named = text(key), path = fs::weakly_canonical(folder / named);
        const auto [end, _] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
        if (named.is_absolute() || end != folder.end())
            refuse(fmt::format("'{}' is outside the manifest's folder; name files relative to it", named.string()));
        try {
            return read_npy(path);
        } catch (const Error& error) { refuse(error.what()); }
    }
    /// A tolerance: {rtol, atol}, or {max_ulp, fp32_atol} in units of the storage type.
    Allowance tolerance(const char* key, Dtype storage) const {
        const json& tolerance = member(key, json::value_t::object);
        const auto number = [&](const char* name) {
            const json value = tolerance.value(name, json(0));
            if (!value.is_number() || !(value >= 0 && std::isfinite(value.get<double>())))
                refuse(fmt::format("'{}' is {}; a tolerance is a number >= 0", name, value.dump()));
            return value.get<double>();
        };
        if (!tolerance.contains("rtol") && !tolerance.contains("max_ulp"))
            refuse(fmt::format("'{}' has neither rtol nor max_ulp", key));
        return {number("rtol"), number("atol") + number("fp32_atol"), number("max_ulp"), storage};
    }
};

/// What an output or a gradient must be.
struct Wanted {
    NpyArray values;
    Allowance allowance;
};

struct Case {
    OpArguments given;
    std::vector<std::optional<Wanted>> gradients; ///< one for each input
    std::vector<std::pair<std::string, Wanted>> outputs;
    std::optional<NpyArray> cotangent;
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

/// Whether an attribute only describes the case (where numbers came from, what they stand for).
bool describes(const std::string& key, const json& value) {
    return key == "input" || key == "layout" || key == "formula" || key == "seed" || key == "row_rms" ||
           (key == "b" && value.is_string());
}

Case read_case(const Part& source, Dtype dtype) {
    Case c;
    for (const auto& [key, value] : source.member("attrs", json::value_t::object).items()) {
        if (describes(key, value)) continue;
        if (const std::optional<Attribute> attribute = to_attribute(value)) c.given.attributes.set(key, *attribute);
        else c.mismatch = fmt::format("attribute '{}' is {}; no op takes that", key, value.dump());
    }
    // A file whose shape is not the announced one fails the case.
    const auto read = [&](const Part& tensor, const char* key) {
        NpyArray file = tensor.file(key);
        const json& shape = tensor.member("shape", json::value_t::array);
        if (shape != json(file.shape) && c.mismatch.empty())
            c.mismatch = fmt::format("{} of '{}' has shape {}; the manifest says {}", key, tensor.text("name"),
                json(file.shape).dump(), shape.dump());
        return file;
    };
    std::set<std::string> names;
    const auto each = [&](const char* list, const std::function<void(const std::string&, const Part&)>& take) {
        for (const json& tensor : source.member(list, json::value_t::array)) {
            const std::string name = source.inner(tensor, list).text("name");
            if (!names.insert(name).second) source.refuse(fmt::format("'{}' is given twice", name));
            take(name, source.inner(tensor, fmt::format("'{}'", name)));
        }
    };
    each("inputs", [&](const std::string& name, const Part& x) {
        c.given.inputs.push_back({name, fmt::format("input '{}'", name), read(x, "file")});
        std::optional<Wanted>& gradient = c.gradients.emplace_back();
        if (x.object.contains("grad_file")) gradient = {read(x, "grad_file"), x.tolerance("grad_tol", dtype)};
    });
    each("constants", [&](const std::string& name, const Part& x) {
        c.given.constants.push_back({name, fmt::format("constant '{}'", name), read(x, "file")});
    });
    names.clear(); // an output may be named like an input
    each("outputs", [&](const std::string& name, const Part& y) {
        const char* const key = y.object.contains("exact_file") ? "exact_file" : "file";
        c.outputs.push_back({name, {read(y, key), y.tolerance("tol", dtype)}});
        if (y.object.contains("cotangent_file")) c.cotangent = read(y, "cotangent_file");
    });
    if (c.outputs.size() != 1 ||
        (std::ranges::count(c.gradients, true, &std::optional<Wanted>::has_value) && !c.cotangent))
        source.refuse("a case has one output, and with gradients also its cotangent");
    return c;
}

/// One comparison; its worst error into `worst`, what is wrong into the case.
void judge(ParityCase& result, std::optional<double>& worst, const std::string& what, const Array<double>& got,
    const Wanted& wanted) {
    const Comparison comparison = compare(got, to_doubles(wanted.values, true, what), wanted.allowance);
    if (comparison.shapes.empty()) worst = std::max(worst.value_or(0), comparison.error);
    if (comparison.holds) return;
    result.verdict = ParityCase::Verdict::fail;
    result.why += fmt::format("{}{} {}", result.why.empty() ? "" : "; ", what, to_string(comparison));
}

void run(const CatalogEntry& op, Dtype dtype, const Case& c, ParityCase& result) {
    const OpCall call = call_op(op, dtype, c.given);
    const auto& [output, wanted] = c.outputs[0];
    judge(result, result.worst_forward, output, call.y.values, wanted);
    if (!c.cotangent) return;
    const std::vector<OpResult> gradients = call.backward(*c.cotangent, "the cotangent");
    for (std::size_t i = 0; i < gradients.size(); ++i)
        if (c.gradients[i])
            judge(result, result.worst_grad, "d/d" + c.given.inputs[i].name, gradients[i].values, *c.gradients[i]);
}

ParityCase replay_case(const Part& source) {
    static const std::map<std::string, Dtype> dtypes = {
        {"float64", Dtype::f64}, {"float32", Dtype::f32}, {"float16", Dtype::f16}, {"bfloat16", Dtype::bf16}};
    using Verdict = ParityCase::Verdict;
    ParityCase result{source.text("id"), source.text("op")};
    const auto end = [&](Verdict verdict, std::string why) {
        result.verdict = verdict;
        result.why = std::move(why);
        return result;
    };
    const std::string dtype_name = source.text("dtype");
    const auto dtype = dtypes.find(dtype_name);
    const CatalogEntry* const op = find(result.op);
    if (op == nullptr)
        return end(
            Verdict::unsupported, fmt::format("there is no op '{}'; 'chalkgrad list ops' shows them all", result.op));
    if (dtype == dtypes.end())
        return end(Verdict::unsupported,
            fmt::format("there is no dtype '{}'; it may be float64, float32, float16 or bfloat16", dtype_name));

    const Case c = read_case(source, dtype->second);
    if (!c.mismatch.empty()) return end(Verdict::fail, c.mismatch);
    try {
        run(*op, dtype->second, c, result);
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
    const json document = json::parse(read_file(manifest), nullptr, false);
    const Part whole{document, fmt::format("parity: '{}'", manifest.string()),
        fs::weakly_canonical(fs::absolute(manifest)).parent_path()};
    if (document.is_discarded())
        whole.refuse("is not JSON; it must be a golden-1 manifest, written as UTF-8 and without NaN");
    if (const std::string format = whole.text("format"); format != "golden-1")
        whole.refuse(fmt::format("has format '{}'; only golden-1 is known", format));

    ParityReport report;
    std::vector<std::string> names;
    std::size_t number = 0;
    for (const json& source : whole.member("cases", json::value_t::array)) {
        const Part numbered = whole.inner(source, fmt::format("case {}", number++));
        const std::string id = numbered.text("id"), name = numbered.text("op");
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
        if (op.empty() || op == name)
            report.cases.push_back(replay_case(whole.inner(source, fmt::format("case '{}'", id))));
    }
    if (report.cases.empty())
        whole.refuse(
            op.empty() ? "holds no case" : fmt::format("has no case of op '{}'{}", op, did_you_mean(op, names)));
    return report;
}

} // namespace chalkgrad
