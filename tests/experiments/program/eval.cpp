// eval: files in, files out, whole or not at all; comparisons that name the worst element.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/numpy/npy.hpp>

#include "call.hpp"

namespace test_eval {
BOOST_AUTO_TEST_SUITE(eval)

using namespace chalkgrad;
using namespace chalkgrad::testing;
namespace fs = std::filesystem;

namespace {

const fs::path data = fs::path(CHALKGRAD_TEST_DATA) / "golden/data";
std::string golden(const std::string& file) { return (data / file).string(); }
using Words = std::vector<std::string>;

/// The course's RMSNorm with everything compared.
Words rms_norm_call(const std::string& out) {
    const std::string at = golden("rms_norm/course_b07/");
    return {"eval", "rms_norm", "--in", "x=" + at + "x.npy", "--in", "gamma=" + at + "gamma.npy", "--attr", "eps=1e-6",
        "--cotangent", at + "y.ct.npy", "--out", out};
}
Words with(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

/// Refused, and no file.
void check_refused(const Words& words, const std::string& part) {
    const Folder folder;
    testing::check_refused(with(words, {"--out", folder / "out"}), part);
    BOOST_TEST(!fs::exists(folder / "out"));
}

std::string save(const Folder& folder, const std::string& name, const auto& array) {
    save_npy(folder / name, array);
    return folder / name;
}

} // namespace

BOOST_AUTO_TEST_CASE(output_and_gradients_become_files_and_are_compared) {
    const Folder folder;
    const std::string at = golden("rms_norm/course_b07/");
    const Words compared{"--compare", "y=" + at + "y.npy", "--compare", "x.grad=" + at + "x.grad.npy", "--compare",
        "gamma.grad=" + at + "gamma.grad.npy"};
    const Ended ended = call(with(rms_norm_call(folder / "new/out"), compared));
    BOOST_TEST(ended.status == 0, ended.out << ended.err);
    BOOST_TEST(ended.err.empty());
    for (const char* const name : {"y", "x.grad", "gamma.grad"}) {
        const Array<double> got = load_npy(folder / fmt::format("new/out/{}.npy", name)),
                            want = load_npy(at + name + ".npy");
        BOOST_REQUIRE(got.shape() == want.shape());
        for (std::size_t i = 0; i < got.size(); ++i) BOOST_TEST(std::abs(got.data()[i] - want.data()[i]) < 1e-11);
        BOOST_TEST(contains(ended.out, fmt::format("{}: agrees, worst at [", name)));
        BOOST_TEST(contains(ended.out, fmt::format("new/out/{}.npy (", name)));
    }
    BOOST_TEST(entries(folder / "new/out") == 3);

    // A named cotangent is the same; without one there are no gradients.
    Words words = rms_norm_call(folder / "named");
    std::replace(words.begin(), words.end(), at + "y.ct.npy", "y=" + at + "y.ct.npy");
    BOOST_TEST(call(words).status == 0);
    BOOST_TEST(read_file(folder / "named/x.grad.npy") == read_file(folder / "new/out/x.grad.npy"));
    const Words forward{"eval", "silu", "--in", "x=" + golden("silu/random/x.npy"), "--out", folder / "forward"};
    BOOST_TEST(call(forward).status == 0);
    BOOST_TEST(entries(folder / "forward") == 1);
}

BOOST_AUTO_TEST_CASE(a_comparison_that_fails_names_the_worst_element) {
    const Folder folder;
    const std::string at = golden("rms_norm/course_b07/");
    Array<double> want = load_npy(at + "y.npy");
    want(1, 2) *= 1 + 1e-3;
    want(2, 4) *= 1 + 1e-8;
    const std::string file = save(folder, "want.npy", want);
    const Ended ended = call(
        with(rms_norm_call(folder / "out"), {"--compare", "x.grad=" + at + "x.grad.npy", "--compare", "y=" + file}));
    BOOST_TEST(ended.status == 1);
    BOOST_TEST(contains(ended.out, "x.grad: agrees"));
    BOOST_TEST(contains(ended.out,
                   fmt::format("y: differs at [1, 2]: got {:.17g}, want {:.17g}, relative error 0.000999 (2 of 15",
                       load_npy(folder / "out/y.npy")(1, 2), want(1, 2))),
        ended.out);
    BOOST_TEST(
        call(with(rms_norm_call(folder / "out"), {"--compare", "gamma.grad=" + file})).status == 1); // another shape
}

BOOST_AUTO_TEST_CASE(attributes_are_json_or_words) {
    const Folder folder;
    const auto check = [&](const std::string& op, const std::string& at, const Words& more) {
        const Ended ended =
            call(with({"eval", op, "--compare", "y=" + golden(at + "/y.npy"), "--out", folder / "out"}, more));
        BOOST_TEST(ended.status == 0, op << ": " << ended.out << ended.err);
    };
    check("slice", "slice/range", {"--in", "x=" + golden("slice/range/x.npy"), "--attr", "slice=\"[1:3]\""});
    check("slice", "slice/stride2_odd",
        {"--in", "x=" + golden("slice/stride2_odd/x.npy"), "--attr", "slice=[..., 1::2]"});
    check("sum", "sum/ax0_2_drop",
        {"--in", "x=" + golden("sum/ax0_2_drop/x.npy"), "--attr", "axes=[0,2]", "--attr", "keepdims=false"});
    check("clamp", "clamp/two_sided",
        {"--in", "x=" + golden("clamp/two_sided/x.npy"), "--attr", "min=-7", "--attr", "max=7.0"});
    check("l2_normalize", "l2_normalize/additive",
        {"--in", "x=" + golden("l2_normalize/additive/x.npy"), "--attr", "guard=additive", "--attr", "eps=1e-12"});
    check("embedding", "embedding/repeated_ids",
        {"--in", "table=" + golden("embedding/repeated_ids/table.npy"), "--const",
            "ids=" + golden("embedding/repeated_ids/ids.npy")});
    check("where", "where/const_condition",
        {"--in", "a=" + golden("where/const_condition/a.npy"), "--in", "b=" + golden("where/const_condition/b.npy"),
            "--const", "cond=" + golden("where/const_condition/cond.npy")});
}

// N20: the simplest index reads as a number; steps may be negative, and a slice empty.
BOOST_AUTO_TEST_CASE(slices_are_text_whatever_they_read_as) {
    const Folder folder;
    const std::string x = save(folder, "x.npy", Array<double>{{1, 2}, {3, 4}, {5, 6}});
    const std::pair<const char*, Array<double>> rows[] = {{"2", Array<double>{5, 6}}, {"-1", Array<double>{5, 6}},
        {"::-1", Array<double>{{5, 6}, {3, 4}, {1, 2}}}, {"-1:-4:-2", Array<double>{{5, 6}, {1, 2}}},
        {"2::-1, ::-1", Array<double>{{6, 5}, {4, 3}, {2, 1}}}, {"[0, 1]", Array<double>(2.0)}};
    for (const auto& [slice, want] : rows) {
        const Ended ended = call({"eval", "slice", "--in", "x=" + x, "--attr", std::string("slice=") + slice,
            "--compare", "y=" + save(folder, "y.npy", want), "--out", folder / "out"});
        BOOST_TEST(ended.status == 0, slice << ": " << ended.out << ended.err);
    }
    const Ended none = call({"eval", "slice", "--in", "x=" + x, "--attr", "slice=0:-1:-1", "--out", folder / "out"});
    BOOST_TEST(none.status == 0, none.err);
    BOOST_TEST(load_npy(folder / "out/y.npy").size() == 0u);
}

BOOST_AUTO_TEST_CASE(narrow_types_are_kept_as_they_are) {
    const Folder folder;
    for (const char* const type : {"float32", "float16", "bfloat16"}) {
        const std::string dtype = type == std::string("float32")   ? "float"
                                  : type == std::string("float16") ? "half"
                                                                   : type;
        const std::string at = golden(fmt::format("rms_norm_lowp/random_{}/", type));
        const Ended ended = call({"eval", "rms_norm", "--in", "x=" + at + "x.npy", "--in", "gamma=" + at + "gamma.npy",
            "--dtype", dtype, "--compare", "y=" + at + "y.npy", "--compare", "y=" + at + "y.exact64.npy", "--cotangent",
            at + "y.exact64.npy", "--out", folder / "out"});
        BOOST_TEST(ended.status == 0, type << ended.out << ended.err);
        BOOST_TEST((read_npy(folder / "out/y.npy").type == read_npy(at + "y.npy").type));
        BOOST_TEST((read_npy(folder / "out/x.grad.npy").type == NpyType::float32));
    }
    // Doubles are rounded once, on the way in; what does not fit is refused.
    const std::string x = save(folder, "x.npy", Array<double>{1 + 0x1p-11 + 0x1p-40, 3});
    BOOST_TEST(call({"eval", "neg", "--in", "x=" + x, "--dtype", "half", "--out", folder / "out"}).status == 0);
    BOOST_TEST(
        static_cast<float>(load_npy<half>(folder / "out/y.npy")(0)) == -(1 + 0x1p-10f)); // through float it would be -1
    check_refused({"eval", "neg", "--in", "x=" + save(folder, "large.npy", Array<double>{1, 1e5}), "--dtype", "half"},
        "beyond the range of half");
    check_refused({"eval", "neg", "--in", "x=" + save(folder, "huge.npy", Array<double>{1, 1e300}), "--dtype", "float"},
        "huge.npy");
    check_refused({"eval", "neg", "--in", "x=" + golden("rms_norm_lowp/random_bfloat16/x.npy")}, "--dtype bfloat16");
    check_refused({"eval", "neg", "--in", "x=" + x, "--dtype", "flaot"}, "did you mean float?");
}

BOOST_AUTO_TEST_CASE(a_gradient_that_nothing_reaches_is_zero) {
    const Folder folder;
    const std::string x = save(folder, "x.npy", Array<double>{{1, 2}, {3, 4}}),
                      empty = save(folder, "e.npy", Array<double>(std::vector<std::size_t>{0, 2}));
    const Ended ended = call({"eval", "concat", "--in", "a=" + x, "--in", "b=" + empty, "--attr", "axis=0",
        "--cotangent", x, "--out", folder / "out"});
    BOOST_TEST(ended.status == 0, ended.err);
    BOOST_TEST(load_npy(folder / "out/a.grad.npy") == load_npy(x));
    BOOST_TEST(read_npy(folder / "out/b.grad.npy").shape == (std::vector<std::size_t>{0, 2}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(strict_refuses_what_is_not_finite) {
    const Folder folder;
    const std::string nan = save(folder, "nan.npy", Array<double>{1, NAN}),
                      x = save(folder, "x.npy", Array<double>{1, 2});
    const std::string mask = save(folder, "mask.npy", Array<double>{0, -HUGE_VAL}),
                      bad_mask = save(folder, "bad.npy", Array<double>{0, HUGE_VAL});
    BOOST_TEST(call({"eval", "rms_norm", "--in", "x=" + nan, "--out", folder / "out"}).status == 0);
    check_refused({"eval", "rms_norm", "--in", "x=" + nan, "--strict"}, "number 1 of 2 is nan");
    check_refused({"eval", "rms_norm", "--in", "x=" + x, "--in", "gamma=" + nan, "--strict"}, "gamma");
    BOOST_TEST(
        call({"eval", "softmax", "--in", "x=" + x, "--const", "mask=" + mask, "--strict", "--out", folder / "out"})
            .status == 0);
    check_refused(
        {"eval", "softmax", "--in", "x=" + x, "--const", "mask=" + bad_mask, "--strict"}, "number 1 of 2 is inf");
}

BOOST_AUTO_TEST_CASE(wrong_calls_leave_nothing) {
    const Folder folder;
    const std::string x = save(folder, "x.npy", Array<double>{1, 2}),
                      whole = save(folder, "whole.npy", Array<std::int64_t>{1, 2});
    const Words call_with_x{"eval", "silu", "--in", "x=" + x};
    check_refused({"eval", "sliu", "--in", "x=" + x}, "did you mean silu");
    check_refused({"eval", "silu"}, "the input 'x' is missing");
    check_refused({"eval", "silu", "--in", "z=" + x}, "'x' is missing");
    check_refused({"eval", "silu", "--in", x}, "NAME=FILE.npy");
    check_refused({"eval", "silu", "--in", "=" + x}, "NAME=FILE.npy");
    check_refused({"eval", "silu", "--in", "x="}, "NAME=FILE.npy");
    check_refused({"eval", "silu", "--in", "x=" + folder / "none.npy"}, "none.npy");
    check_refused({"eval", "silu", "--in", "x=" + folder.path.string()}, "is a folder");
    check_refused({"eval", "silu", "--in", "x=" + whole}, "holds int64, not floating-point numbers");
    check_refused(with(call_with_x, {"--in", "x=" + x}), "'x' is given twice");
    check_refused(with(call_with_x, {"--const", "x=" + x}), "'x' is given twice");
    check_refused(with(call_with_x, {"--in", "other=" + x}), "takes no input 'other'");
    check_refused(with(call_with_x, {"--const", "other=" + x}), "takes no constant 'other'");
    check_refused(with(call_with_x, {"--attr", "other=1"}), "takes no attribute 'other'");
    check_refused(with(call_with_x, {"--attr", "other"}), "KEY=VALUE");
    check_refused(with(call_with_x, {"--attr", "a=1", "--attr", "a=2"}), "'a' is given twice");
    check_refused(with(call_with_x, {"--attr", "a={\"b\": 1}"}), "is no number, word");
    check_refused(with(call_with_x, {"--cotangent", golden("silu/random/x.npy")}), "the cotangent has shape (3, 5)");
    check_refused(with(call_with_x, {"--cotangent", "z=" + x}), "the output of silu is 'y'");
    check_refused(with(call_with_x, {"--cotangent", whole}), "holds int64");
    check_refused(with(call_with_x, {"--compare", "z=" + x}), "there is no 'z', only y; gradients need a --cotangent");
    check_refused(with(call_with_x, {"--compare", "x.grad=" + x}), "gradients need a --cotangent");
    check_refused(with(call_with_x, {"--compare", "y=" + whole}), "holds int64");
    check_refused({"eval", "concat", "--in", "../a=" + x}, "is no name for a file");
    check_refused({"eval", "concat", "--in", ".a=" + x}, "is no name for a file");
    check_refused({"eval"}, "OP");
    BOOST_TEST(call({"eval", "silu", "--in", "x=" + x}).status == 2); // --out is missing
    BOOST_TEST(call({"eval", "silu", "--in", "x=" + x, "--out", x}).status == 2);
    BOOST_TEST(call({"eval", "silu", "--in", "x=" + x, "--out", ""}).status == 2);
}

BOOST_AUTO_TEST_CASE(files_appear_together_or_not_at_all) {
    const Folder folder;
    fs::create_directories(folder / "out/x.grad.npy"); // a folder in a file's place
    write_file(folder / "out/y.npy", "old");
    write_file(folder / "out/notes.txt", "mine");
    BOOST_TEST(call(rms_norm_call(folder / "out")).status == 2);
    BOOST_TEST(read_file(folder / "out/y.npy") == "old");
    BOOST_TEST(entries(folder / "out") == 3);
    fs::remove(folder / "out/x.grad.npy");
    BOOST_TEST(call(rms_norm_call(folder / "out")).status == 0);
    BOOST_TEST(load_npy(folder / "out/y.npy").dimension() == 2u);
    BOOST_TEST(read_file(folder / "out/notes.txt") == "mine");
}

BOOST_AUTO_TEST_CASE(parity_speaks_the_contract) {
    const std::string manifest = (fs::path(CHALKGRAD_TEST_DATA) / "golden/manifest.json").string();
    const Ended ended = call({"parity", manifest, "--op", "rms_norm", "--json"});
    BOOST_TEST(ended.status == 0);
    BOOST_TEST(ended.err.empty());
    const nlohmann::json found = nlohmann::json::parse(ended.out);
    BOOST_TEST(found.at("passed") == 36);
    BOOST_TEST(found.at("failed") == 0);
    BOOST_TEST(found.at("unsupported") == 0);
    for (const nlohmann::json& each : found.at("cases"))
        for (const char* const key : {"id", "verdict", "worst_forward", "worst_grad", "why"})
            BOOST_TEST(each.contains(key));
    const Ended text = call({"parity", manifest, "--op", "silu"});
    BOOST_TEST(contains(text.out, "silu/extreme"));
    BOOST_TEST(contains(text.out, "3 passed, 0 failed, 0 unsupported"));
    const Ended none = call({"parity", manifest, "--op", "sliu"});
    BOOST_TEST(none.status == 2);
    BOOST_TEST(contains(none.err, "did you mean silu"));
    BOOST_TEST(call({"parity", "none.json"}).status == 2);

    const Folder folder; // a case that fails
    nlohmann::json broken = nlohmann::json::parse(read_file(manifest));
    nlohmann::json one;
    for (const nlohmann::json& each : broken["cases"])
        if (each["id"] == "silu/random") one = each;
    fs::create_directories(folder.path / "data");
    fs::copy(data / "silu", folder.path / "data/silu", fs::copy_options::recursive);
    one["outputs"][0]["file"] = one["inputs"][0]["file"];
    write_file(folder / "manifest.json", nlohmann::json{{"format", "golden-1"}, {"cases", {one}}}.dump());
    const Ended failed = call({"parity", folder / "manifest.json", "--json"});
    BOOST_TEST(failed.status == 1);
    BOOST_TEST(nlohmann::json::parse(failed.out).at("failed") == 1);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_eval
