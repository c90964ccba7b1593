// Parity: the golden manifest passes, and a case that is broken in one place fails and says where.
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <functional>
#include <string>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/autograd/numpy/npy.hpp>
#include <chalkgrad/experiments/reference/parity.hpp>

#include "../../support.hpp"

namespace test_parity {
BOOST_AUTO_TEST_SUITE(parity)

using namespace chalkgrad;
using namespace chalkgrad::testing;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path golden = fs::path(CHALKGRAD_TEST_DATA) / "golden";
using Verdict = ParityCase::Verdict;

const json& golden_manifest() {
    static const json manifest = json::parse(read_file(golden / "manifest.json"));
    return manifest;
}

/// A copy of one golden case in a folder of its own, to be broken.
struct Copy {
    fs::path folder = fs::temp_directory_path() / fmt::format("chalkgrad-parity-{}", ::getpid());
    json manifest{{"format", "golden-1"}, {"cases", json::array()}};

    explicit Copy(const std::string& id) {
        fs::remove_all(folder);
        for (const json& source : golden_manifest()["cases"])
            if (source["id"] == id) manifest["cases"].push_back(source);
        BOOST_REQUIRE_EQUAL(manifest["cases"].size(), 1u);
        for (const char* const list : {"inputs", "constants", "outputs"})
            for (const json& tensor : the_case()[list])
                for (const auto& [key, value] : tensor.items())
                    if (key.ends_with("file")) {
                        fs::create_directories((folder / value).parent_path());
                        fs::copy_file(golden / value, folder / value, fs::copy_options::overwrite_existing);
                    }
    }
    ~Copy() { fs::remove_all(folder); }

    json& the_case() { return manifest["cases"][0]; }
    json& tensor(const char* list, const std::string& name) {
        for (json& each : the_case()[list])
            if (each["name"] == name) return each;
        throw std::logic_error("no tensor " + name);
    }
    /// Adds to one number of a file.
    void shift(const json& tensor, const char* key, std::size_t i, double by) const {
        const fs::path path = folder / tensor.at(key).get<std::string>();
        Array<double> x = load_npy(path);
        x.data()[i] += by;
        save_npy(path, x);
    }
    ParityReport replay() const {
        write_file(folder / "manifest.json", manifest.dump());
        return chalkgrad::replay(folder / "manifest.json");
    }
    ParityCase only() const {
        const ParityReport report = replay();
        BOOST_REQUIRE_EQUAL(report.cases.size(), 1u);
        return report.cases[0];
    }
};

void check_fails(const Copy& copy, const std::string& part) {
    const ParityCase result = copy.only();
    BOOST_TEST(name(result.verdict) == std::string("fail"), part);
    BOOST_TEST(contains(result.why, part), "'" << part << "' in: " << result.why);
}

void check_refused(const Copy& copy, const std::string& part) {
    try {
        copy.replay();
        BOOST_ERROR("no Error for " + part);
    } catch (const Error& error) {
        BOOST_TEST(contains(error.what(), "parity: '"), error.what());
        BOOST_TEST(contains(error.what(), part), "'" << part << "' in: " << error.what());
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(every_golden_case_passes) {
    const ParityReport report = replay(golden / "manifest.json");
    BOOST_TEST(report.cases.size() == 309u);
    BOOST_TEST(report.count(Verdict::pass) == 309u);
    for (const ParityCase& c : report.cases) {
        BOOST_TEST(name(c.verdict) == std::string("pass"), c.id << ": " << c.why);
        BOOST_TEST(c.why.empty());
        BOOST_TEST(c.worst_forward.has_value(), c.id);
    }
}

BOOST_AUTO_TEST_CASE(one_op_can_be_chosen) {
    const ParityReport report = replay(golden / "manifest.json", "rms_norm");
    BOOST_TEST(report.cases.size() == 36u);
    for (const ParityCase& c : report.cases) BOOST_TEST(c.op == "rms_norm");
    BOOST_CHECK_EXCEPTION(replay(golden / "manifest.json", "rmsnorm"), Error,
        [](const Error& error) { return contains(error.what(), "did you mean rms_norm?"); });
}

BOOST_AUTO_TEST_CASE(wrong_numbers_fail_and_are_named) {
    for (const char* const id :
        {"rms_norm/course_b07", "mul/same_tensor_twice", "swiglu_act/course_diag_same_variable"})
        BOOST_TEST(name(Copy(id).only().verdict) == std::string("pass"), id);
    {
        Copy copy("rms_norm/course_b07");
        copy.shift(copy.tensor("outputs", "y"), "file", 7, 1e-8); // of (3, 5)
        check_fails(copy, "y at [1, 2]: got ");
        BOOST_TEST(*copy.only().worst_forward > 1e-9);
        BOOST_TEST(*copy.only().worst_grad < 1e-9);
    }
    {
        Copy copy("rms_norm/course_b07");
        copy.shift(copy.tensor("inputs", "gamma"), "grad_file", 3, -1e-6);
        check_fails(copy, "d/dgamma at [3]: got ");
        BOOST_TEST(contains(copy.only().why, "1 of 5 numbers"));
        BOOST_TEST(*copy.only().worst_grad > 1e-9);
    }
    {
        Copy copy("rms_norm/course_b07");
        copy.shift(copy.tensor("outputs", "y"), "cotangent_file", 0, 1);
        check_fails(copy, "d/dx at [0, ");
        BOOST_TEST(contains(copy.only().why, "d/dgamma at [0]"));
    }
    {
        Copy copy("rms_norm/course_b07");
        copy.shift(copy.tensor("outputs", "y"), "file", 0, HUGE_VAL);
        check_fails(copy, "want inf");
        BOOST_TEST(std::isinf(*copy.only().worst_forward));
    }
}

BOOST_AUTO_TEST_CASE(tolerances_are_the_manifests) {
    Copy copy("rms_norm/course_b07");
    json& y = copy.tensor("outputs", "y");
    copy.shift(y, "file", 7, 1e-6);
    y["tol"] = {{"rtol", 0}, {"atol", 1.001e-6}};
    BOOST_TEST(name(copy.only().verdict) == std::string("pass"));
    y["tol"] = {{"rtol", 0}, {"atol", 0.999e-6}};
    check_fails(copy, "y at [1, 2]");
}

BOOST_AUTO_TEST_CASE(low_precision_is_judged_in_units_of_its_storage) {
    for (const char* const type : {"float32", "float16", "bfloat16"}) {
        Copy copy(fmt::format("rms_norm_lowp/random_{}", type));
        BOOST_TEST(name(copy.only().verdict) == std::string("pass"), type);
        json& y = copy.tensor("outputs", "y");
        const Array<double> exact = load_npy(copy.folder / y["exact_file"].get<std::string>());
        const int digits = type == std::string("float32") ? 23 : type == std::string("float16") ? 10 : 7;
        y["tol"]["fp32_atol"] = 0;
        copy.shift(y, "exact_file", 9, 6 * std::ldexp(1, std::ilogb(exact.data()[9]) - digits)); // of (4, 8)
        check_fails(copy, "y at [1, 1]: got ");
    }
}

BOOST_AUTO_TEST_CASE(what_an_op_refuses_is_a_failed_case) {
    const auto broken = [](const std::function<void(Copy&)>& change, const std::string& part) {
        Copy copy("rms_norm/course_b07");
        change(copy);
        check_fails(copy, part);
    };
    broken([](Copy& copy) { copy.the_case()["attrs"]["epsilon"] = 1; }, "takes no attribute 'epsilon'");
    broken([](Copy& copy) { copy.the_case()["attrs"]["eps"] = -1; }, "eps is -1");
    broken([](Copy& copy) { copy.the_case()["attrs"]["eps"] = json::array({1, "x"}); }, "attribute 'eps' is [1,\"x\"]");
    broken([](Copy& copy) { copy.the_case()["attrs"]["eps"] = {{"a", 1}}; }, "attribute 'eps'");
    broken([](Copy& copy) { copy.tensor("inputs", "gamma")["name"] = "weight"; }, "takes no input 'weight'");
    broken([](Copy& copy) { copy.the_case()["inputs"].erase(0); }, "the input 'x' is missing");
    broken(
        [](Copy& copy) {
            copy.tensor("inputs", "x")["shape"] = {5, 3};
        },
        "file of 'x' has shape [3,5]; the manifest says [5,3]");
    broken([](Copy& copy) { copy.tensor("outputs", "y")["shape"] = {15}; }, "'y' has shape [3,5]");
    broken([](Copy& copy) { std::swap(copy.tensor("inputs", "x")["file"], copy.tensor("inputs", "gamma")["file"]); },
        "shape");
    // Descriptions are no attributes.
    Copy described("rms_norm/course_b07");
    described.the_case()["attrs"].update(
        {{"layout", "rows"}, {"formula", "x / rms"}, {"input", "x"}, {"seed", 7}, {"row_rms", 0.5}, {"b", "none"}});
    BOOST_TEST(name(described.only().verdict) == std::string("pass"));
}

BOOST_AUTO_TEST_CASE(unknown_ops_and_types_are_unsupported) {
    Copy copy("rms_norm/course_b07");
    copy.the_case()["op"] = "rms_norm_of_the_future";
    BOOST_TEST(name(copy.only().verdict) == std::string("unsupported"));
    BOOST_TEST(contains(copy.only().why, "no op 'rms_norm_of_the_future'"));
    copy.the_case()["op"] = "rms_norm";
    copy.the_case()["dtype"] = "complex128";
    BOOST_TEST(name(copy.only().verdict) == std::string("unsupported"));
    BOOST_TEST(contains(copy.only().why, "no dtype 'complex128'"));
}

BOOST_AUTO_TEST_CASE(malformed_manifests_are_refused_with_their_place) {
    const auto malformed = [](const std::function<void(Copy&)>& change, const std::string& part) {
        Copy copy("rms_norm/course_b07");
        change(copy);
        check_refused(copy, part);
    };
    malformed([](Copy& copy) { copy.manifest["format"] = "golden-2"; }, "'golden-2'; only golden-1");
    malformed([](Copy& copy) { copy.manifest.erase("format"); }, "'format' is missing");
    malformed([](Copy& copy) { copy.manifest = json::array(); }, "'format' is missing");
    malformed([](Copy& copy) { copy.manifest.erase("cases"); }, "'cases' is missing");
    malformed([](Copy& copy) { copy.manifest["cases"] = "x"; }, "'cases' is a string; it must be a array");
    malformed([](Copy& copy) { copy.manifest["cases"] = json::array(); }, "holds no case");
    malformed([](Copy& copy) { copy.manifest["cases"][0] = 7; }, "case 0: 'id' is missing");
    for (const char* const key : {"id", "op", "dtype", "attrs", "inputs", "constants", "outputs"})
        malformed([&](Copy& copy) { copy.the_case().erase(key); }, fmt::format("'{}' is missing", key));
    for (const char* const key : {"name", "shape", "file", "tol"})
        malformed([&](Copy& copy) { copy.tensor("outputs", "y").erase(key); }, fmt::format("'{}' is missing", key));
    malformed([](Copy& copy) { copy.tensor("inputs", "x").erase("grad_tol"); },
        "case 'rms_norm/course_b07', 'x': 'grad_tol' is missing");
    malformed([](Copy& copy) { copy.tensor("outputs", "y").erase("cotangent_file"); }, "cotangent");
    malformed([](Copy& copy) { copy.tensor("outputs", "y")["tol"] = json::object(); }, "neither rtol nor max_ulp");
    malformed([](Copy& copy) { copy.tensor("outputs", "y")["tol"]["rtol"] = -1; }, "'rtol' is -1");
    malformed([](Copy& copy) { copy.tensor("outputs", "y")["tol"]["rtol"] = "x"; }, "'rtol' is \"x\"");
    malformed([](Copy& copy) { copy.tensor("inputs", "gamma")["name"] = "x"; }, "'x' is given twice");
    malformed([](Copy& copy) { copy.the_case()["outputs"].push_back(copy.the_case()["outputs"][0]); }, "given twice");
    malformed([](Copy& copy) { copy.tensor("inputs", "x")["file"] = "data/none.npy"; }, "none.npy");
    malformed([](Copy& copy) { write_file(copy.folder / copy.tensor("inputs", "x")["file"].get<std::string>(), "x"); },
        "is no .npy file");
    malformed(
        [](Copy& copy) { fs::resize_file(copy.folder / copy.tensor("inputs", "x")["file"].get<std::string>(), 150); },
        "'x': ");

    Copy copy("rms_norm/course_b07");
    for (const char* const text : {"", "{", "{\"format\": \"golden-1\", \"cases\": [NaN]}", "\xff"}) {
        write_file(copy.folder / "manifest.json", text);
        BOOST_CHECK_EXCEPTION(replay(copy.folder / "manifest.json"), Error,
            [](const Error& error) { return contains(error.what(), "is not JSON"); });
    }
    BOOST_CHECK_THROW(replay(copy.folder / "none.json"), Error);
    BOOST_CHECK_THROW(replay(copy.folder), Error);
}

BOOST_AUTO_TEST_CASE(files_outside_the_manifests_folder_are_refused) {
    Copy copy("rms_norm/course_b07");
    const fs::path file = copy.folder / copy.tensor("inputs", "x")["file"].get<std::string>();
    copy.tensor("inputs", "x")["file"] = file.string();
    check_refused(copy, "is outside the manifest's folder");
    copy.tensor("inputs", "x")["file"] = "../x.npy";
    check_refused(copy, "'../x.npy' is outside");
    copy.tensor("inputs", "x")["file"] = "data/../../x.npy";
    check_refused(copy, "is outside");
    copy.tensor("inputs", "x")["file"] = "data/../" + fs::relative(file, copy.folder).string();
    BOOST_TEST(name(copy.only().verdict) == std::string("pass"));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_parity
