// Slices: the places Python takes, texts, typed indices, refusals.
#include "../arrays.hpp"

#include <chalkgrad/ops/shape/slice.hpp>

namespace test_slice {
BOOST_AUTO_TEST_SUITE(slice)

using namespace chalkgrad;
using namespace chalkgrad::testing;

namespace {

/// The places of start:stop:step among n, one at a time: Python's rule, after its reference manual.
std::vector<double> places(
    std::optional<std::ptrdiff_t> start, std::optional<std::ptrdiff_t> stop, std::ptrdiff_t step, std::ptrdiff_t n) {
    const auto clipped = [&](std::ptrdiff_t i, std::ptrdiff_t low, std::ptrdiff_t high) {
        return std::min(std::max(i < 0 ? i + n : i, low), high);
    };
    std::vector<double> result;
    if (step > 0) {
        const std::ptrdiff_t end = stop ? clipped(*stop, 0, n) : n;
        for (std::ptrdiff_t i = start ? clipped(*start, 0, n) : 0; i < end; i += step)
            result.push_back(static_cast<double>(i));
    } else {
        const std::ptrdiff_t end = stop ? clipped(*stop, -1, n - 1) : -1;
        for (std::ptrdiff_t i = start ? clipped(*start, -1, n - 1) : n - 1; i > end; i += step)
            result.push_back(static_cast<double>(i));
    }
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(places_are_those_of_python) {
    for (const std::size_t n : {0u, 1u, 3u, 4u})
        for (int a = -5; a <= 5; ++a)
            for (int b = -5; b <= 5; ++b)
                for (const int step : {-4, -2, -1, 1, 2, 3}) {
                    const auto end = [](int i) {
                        return i == 5 ? std::optional<std::ptrdiff_t>() : std::optional<std::ptrdiff_t>(i);
                    };
                    Tape tape;
                    const Var<double> y = chalkgrad::slice(tape.variable(counting({n})), {Range{end(a), end(b), step}});
                    const std::vector<double> wanted = places(end(a), end(b), step, static_cast<std::ptrdiff_t>(n));
                    BOOST_TEST_CONTEXT(a << ":" << b << ":" << step << " of " << n)
                    check_array(y.value(), array({wanted.size()}, wanted));
                }
}

BOOST_AUTO_TEST_CASE(texts) {
    Tape tape;
    const Var<double> x = tape.variable(counting({2, 3, 4}));
    const auto check = [&](const char* text, const Array<double>& wanted) {
        BOOST_TEST_CONTEXT(text) check_array(chalkgrad::slice(x, text).value(), wanted);
    };
    check("[1, 2]", array({4}, {20, 21, 22, 23}));
    check("1,-1 , -1", array({}, {23}));
    check("[..., ::2]", array({2, 3, 2}, {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22}));
    check(" [ ... , 3 ] ", array({2, 3}, {3, 7, 11, 15, 19, 23}));
    check("[0, ..., 1:3]", array({3, 2}, {1, 2, 5, 6, 9, 10}));
    check("[1, ::-2, +1:None:2]", array({2, 2}, {21, 23, 13, 15}));
    check("[0, None, 1:2, 0,]", array({1, 1}, {4}));
    check("[..., 100:, 0]", Array<double>::from_shape({2, 0}));
    check("[0, 0, ::9223372036854775807]", array({1}, {0}));
    check("[0, 0, ::-9223372036854775808]", array({1}, {3}));
    check_array(chalkgrad::slice(x, {Ellipsis{}, 1, Range{.start = -1}}).value(), array({2, 1}, {7, 19}));
}

BOOST_AUTO_TEST_CASE(outside_the_gradient_is_zero) {
    Tape tape;
    const Var<double> x = tape.variable(counting({2, 5}));
    chalkgrad::slice(x, "[:, 3:0:-2]").backward(array({2, 2}, {1, 2, 3, 4}));
    check_array(x.grad(), array({2, 5}, {0, 2, 0, 1, 0, 0, 4, 0, 3, 0}));
    chalkgrad::slice(x, "[0, 1:3]").backward(array({2}, {10, 20})); // overlaps, and adds up
    check_array(x.grad(), array({2, 5}, {0, 12, 20, 1, 0, 0, 4, 0, 3, 0}));
}

BOOST_AUTO_TEST_CASE(refusals) {
    Tape tape;
    const Var<double> x = tape.variable(counting({2, 3}));
    const auto refused = [&](const char* text, const std::vector<std::string>& words) {
        BOOST_TEST_CONTEXT(text) check_refused([&] { chalkgrad::slice(x, text); }, "slice", words);
    };
    refused("[2]", {"out of range", "(2, 3)"});
    refused("[0, -4]", {"out of range", "axis 1"});
    refused("[0, 0, 0]", {"3 indices for 2 axes"});
    refused("[..., ...]", {"one ellipsis"});
    refused("[::0]", {"step is 0"});
    for (const char* text : {"", "[]", "[", "[1", "a", "[1 2]", "[1:2:3:4]", "[1.5]", "[,]", "[1,,2]", "[+-1]",
             "[99999999999999999999]", "[None:None:x]"})
        refused(text, {"is no slice"});
    check_refused([&] { chalkgrad::slice(x, std::vector<Index>(20, NewAxis{})); }, "slice", {"20"});
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_slice
