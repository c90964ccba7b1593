// trace and present: the steps as JSON, and what a page must never hold.
#include <boost/test/unit_test.hpp>

#include <limits>

#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/tape/numbers.hpp>
#include <chalkgrad/autograd/tape/trace.hpp>
#include <chalkgrad/experiments/present/present_page.hpp>
#include <chalkgrad/nn/layers/catalog.hpp>
#include <chalkgrad/ops/catalog/catalog.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>

#include "../program/call.hpp"

namespace test_present {
BOOST_AUTO_TEST_SUITE(present)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

TracedComputation product(const std::string& name, double a = 2, double b = 3) {
    const Tape tape;
    const Var<double> x = tape.variable(a, name), y = tape.variable(b, "b");
    return {"product", "a b", x * y, {}, Array<double>(1.0)};
}

} // namespace

BOOST_AUTO_TEST_CASE(base64_of_the_standard) { // RFC 4648 §10
    const std::pair<const char*, const char*> given[] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"foobar", "Zm9vYmFy"}};
    for (const auto& [bytes, code] : given) BOOST_TEST(base64(bytes) == code);
    BOOST_TEST(base64(std::string("\xFF\x00\xFE", 3)) == "/wD+");
}

BOOST_AUTO_TEST_CASE(katex_is_read_whole_or_not_at_all) {
    const Folder folder;
    BOOST_TEST(!read_katex(folder.path));
    write_file(folder / "katex.min.js", "var katex;");
    BOOST_CHECK_THROW(read_katex(folder.path), Error); // no style
    write_file(folder / "katex.min.css",
        "@font-face{font-family:K;src:url(a.woff2) format('woff2'),url(a.ttf) "
        "format('truetype');font-weight:400}b{c:d}");
    BOOST_CHECK_THROW(read_katex(folder.path), Error); // no font
    write_file(folder / "a.woff2", "foo");
    BOOST_TEST(read_katex(folder.path)->style ==
               "@font-face{font-family:K;src:url(data:font/woff2;base64,Zm9v) format('woff2');font-weight:400}b{c:d}");
    write_file(folder / "katex.min.js", "'</script>'");
    BOOST_CHECK_THROW(read_katex(folder.path), Error);
}

BOOST_AUTO_TEST_CASE(steps_end_at_the_gradients_of_backward) {
    const TracedComputation subject = find_subject("present", "pre", 3);
    const nlohmann::json document = stepping_json(subject);
    const Tape tape = subject.y.tape();
    tape.zero_grad();
    subject.y.backward(subject.cotangent);
    BOOST_TEST(document["lines"].size() == tape.size());
    BOOST_TEST(document["steps"][0]["line"] == subject.y.line());
    std::map<std::size_t, nlohmann::json> end;
    for (const auto& step : document["steps"])
        for (const auto& passed : step["passed"]) end[passed["line"]] = passed["gradient"]["numbers"];
    BOOST_TEST(document["gradients"].size() > 5);
    for (const auto& gradient : document["gradients"]) {
        const std::size_t line = gradient["line"];
        const auto numbers = gradient["gradient"]["numbers"].get<std::vector<double>>();
        BOOST_TEST((end[line].get<std::vector<double>>() == numbers), "line " << line);
        const auto& state = (*tape.state())[static_cast<detail::Index>(line)];
        BOOST_TEST(std::equal(numbers.begin(), numbers.end(), static_cast<const double*>(state.grad)), "line " << line);
    }
    // Another seed draws other numbers, the same one the same.
    BOOST_TEST((stepping_json(find_subject("present", "pre", 3)) == document));
    BOOST_TEST((stepping_json(find_subject("present", "pre", 4)) != document));
}

BOOST_AUTO_TEST_CASE(every_block_and_op_can_be_shown) {
    for (const CatalogEntry& op : catalog()) BOOST_CHECK_NO_THROW(stepping_json(find_subject("present", op.name, 0)));
    for (const auto& block : nn::blocks()) BOOST_CHECK_NO_THROW(stepping_json(find_subject("present", block.name, 0)));
}

BOOST_AUTO_TEST_CASE(names_stay_text) {
    const std::string hostile = "</script><script>alert(1)</script><!--\"'&{{data}}";
    TracedComputation subject = product(hostile);
    subject.name = subject.title = hostile;
    const std::string page = present_page(subject, {});
    const std::string plain = present_page(product("a"), {});
    BOOST_TEST(count(page, "<script") == count(plain, "<script"));
    BOOST_TEST(count(page, "</script") == count(plain, "</script"));
    BOOST_TEST(!contains(page, "alert(1)</script>"));
    BOOST_TEST(contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;"));
    BOOST_TEST(contains(page, "\\u003cscript>alert(1)"));
    BOOST_TEST((present_page(subject, {}) == page)); // equal subjects, equal bytes
}

BOOST_AUTO_TEST_CASE(a_page_asks_for_nothing) {
    const std::string page = present_page(product("a"), {});
    BOOST_TEST(contains(page, "default-src 'none'"));
    for (const char* const part : {"src=\"", "@import", "<link", "<base", "url(http"})
        BOOST_TEST(!contains(page, part), part);
    BOOST_TEST(!contains(page, "Khan Academy"));
    BOOST_TEST(contains(present_page(product("a"), Katex{"var katex;", ""}), "Khan Academy"));
}

BOOST_AUTO_TEST_CASE(a_tape_too_long_to_step_through_is_refused) {
    const Tape tape;
    Var<double> x = tape.variable(1.0, "x");
    while (tape.size() <= 600) x = x + x;
    BOOST_CHECK_EXCEPTION(present_page({"long", "", x, {}, Array<double>(1.0)}, {}), Error, [](const Error& e) {
        return contains(e.what(), "601 lines and a page shows 600") && contains(e.what(), "chalkgrad trace long");
    });
}

BOOST_AUTO_TEST_CASE(numbers_that_are_not_finite_are_shown_as_what_they_are) {
    const double infinity = std::numeric_limits<double>::infinity();
    const nlohmann::json document = stepping_json(product("a", infinity, 0));
    BOOST_TEST(document["lines"][0]["value"]["numbers"][0] == "inf");
    BOOST_TEST(document["lines"][2]["value"]["numbers"][0] == "nan");
    BOOST_TEST(document["gradients"][1]["gradient"]["numbers"][0] == "inf");
}

BOOST_AUTO_TEST_CASE(trace_as_text_and_json) {
    const auto text = call({"trace", "rms_norm"});
    BOOST_TEST(text.status == 0);
    BOOST_TEST(contains(text.out, "line  name   op        inputs  shape"));
    BOOST_TEST(contains(text.out, "2            rms_norm  0 1     (4, 6)"));
    BOOST_TEST(!contains(text.out, "not computed"));
    const auto json = call({"trace", "pre", "--json"});
    BOOST_TEST(json.status == 0);
    const nlohmann::json document = nlohmann::json::parse(json.out);
    BOOST_TEST(document["name"] == "pre");
    for (const auto& line : document["lines"]) {
        BOOST_TEST((line["kind"] == "constant") == line["adjoint"].is_null(), line.dump());
        for (const char* const key : {"line", "op", "inputs", "shape", "value", "scope"})
            BOOST_TEST(line.contains(key));
    }
    BOOST_TEST(call({"trace", "pre", "--seed", "1"}).out != call({"trace", "pre"}).out);
    // An experiment's tape shows this sweep alone, not those that the experiment made: a loss begins with 1.
    const nlohmann::json coupling = nlohmann::json::parse(call({"trace", "head_coupling", "--json"}).out);
    BOOST_TEST(coupling["lines"].back()["adjoint"]["numbers"][0] == 1);
    const TracedComputation subject = find_subject("trace", "head_coupling", 0);
    subject.y.backward();
    BOOST_TEST((coupling["lines"][0]["adjoint"]["numbers"] == nlohmann::json(*gradient_of(subject.y.tape(), 0))));
}

BOOST_AUTO_TEST_CASE(wrong_calls) {
    const Folder folder;
    check_refused({"trace", "prr"}, "no block, op or experiment 'prr'; did you mean pre");
    check_refused({"present", "prr", "-o", folder / "x.html"}, "did you mean pre");
    check_refused({"present", "pre"}, "-o PAGE.html");
    check_refused({"present", "pre", "-o", folder.path.string()}, "folder");
    check_refused({"present", "pre", "-o", folder / "none/x.html", "--seed", "-1"}, "--seed");
    BOOST_TEST(std::filesystem::is_empty(folder.path));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_present
