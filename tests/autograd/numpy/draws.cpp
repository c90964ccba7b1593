// Draws of default_rng one by one: integers of every width, shuffles, scalars beside arrays, seeds, and refused calls.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/autograd/numpy/ziggurat.hpp>

#include "sha256.hpp"

namespace test_draws {
BOOST_AUTO_TEST_SUITE(draws)

using namespace chalkgrad;

namespace {

Array<double> counted(const std::vector<std::size_t>& shape) {
    Array<double> x = Array<double>::from_shape(shape);
    std::iota(x.begin(), x.end(), 0.0);
    return x;
}

template <class I> void check_values(const Array<I>& got, const std::vector<I>& want) {
    BOOST_TEST(std::vector<I>(got.begin(), got.end()) == want, boost::test_tools::per_element());
}

bool says(const Error& error, const std::string& part) {
    return std::string(error.what()).find(part) != std::string::npos;
}

} // namespace

// Widths, heights and acceptance bounds, all of NumPy's bits: one bound too many or too few would show in the streams only
// after millions of draws.
BOOST_AUTO_TEST_CASE(layers_of_the_ziggurat) {
    const auto digest_of = [](const auto& layers) {
        static_assert(sizeof layers == sizeof layers.width + sizeof layers.height + sizeof layers.accept);
        return sha256(&layers, sizeof layers);
    };
    BOOST_TEST(
        digest_of(detail::ziggurat<double>()) == "7ef52d387d3e16335fd489f2f8f3c6583b18062e7d9615e86a7a3bac06ff63f5");
    BOOST_TEST(
        digest_of(detail::ziggurat<float>()) == "f22edc843a9c76240e7e3302e3847b255980ae6fa976e130f3b945d64c0c5066");
}

BOOST_AUTO_TEST_CASE(integers_of_every_width) {
    const Generator start(2024);
    const auto rng = [&] { return start; };
    check_values<std::int8_t>(rng().integers<std::int8_t>(-100, 101, {9}), {58, 66, -53, -33, -44, -98, 35, 70, 63});
    check_values<std::uint16_t>(
        rng().integers<std::uint16_t>(0, 65536, {9}), {51944, 15828, 18518, 44291, 53465, 6051, 58020, 14045, 24801});
    check_values<std::int16_t>(rng().integers<std::int16_t>(-30000, 30001, {9}),
        {17556, -15509, 10550, 18949, -24461, 23119, -17142, -7294, -10942});
    check_values<std::uint32_t>(
        rng().integers<std::uint32_t>(0, 4294967296, {5}), {1037355752, 2902673494, 396611801, 920511140, 1364287713});
    check_values<std::int32_t>(rng().integers<std::int32_t>(-2147483648, 2147483647, {5}, Endpoint::closed),
        {-1110127896, 755189846, -1750871847, -1226972508, -783195935});
    const int128 two63 = int128{1} << 63, two62 = int128{1} << 62;
    check_values<std::int64_t>(rng().integers(-two63, two63, {4}),
        {3243515691878632168, -5269806794554486567, -3514989620090543903, 5524174445958085604});
    check_values<std::uint64_t>(rng().integers<std::uint64_t>(0, 2 * two63, {4}),
        {12466887728733407976u, 3953565242300289241u, 5708382416764231905u, 14747546482812861412u});
    check_values<std::int64_t>(rng().integers(-two62, two62 + 12345, {4}),
        {-1757494810045268132, -3299829070622262049, -1294528934478085447, -3047224573767108463});
    std::string bits;
    for (const bool b : rng().integers<bool>(0, 2, {40})) bits += b ? '1' : '0';
    BOOST_TEST(bits == "0001011101010011001010111011110001101010");

    // A single value takes what an array of one takes: each drops the rest of its own 32-bit word.
    Generator one = start;
    for (const int want : {90, 33, 84, 88, 87}) BOOST_TEST(one.integers<std::uint8_t>(0, 100) == want);
    BOOST_TEST(one.bits().half() == 1329086352u);

    Generator unmoved = start;
    BOOST_TEST(unmoved.integers(5, 6) == 5);
    BOOST_TEST(unmoved.permutation(1).size() == 1u);
    BOOST_TEST(unmoved.permutation(0).size() == 0u);
    BOOST_TEST((unmoved.bits().state() == start.bits().state()));
}

// N18: ranges of 2^32 and one beside it, whole types, and 32-bit draws whose second half survives other draws.
BOOST_AUTO_TEST_CASE(integers_at_the_ends_of_their_words) {
    const auto rng = [] { return Generator(42); };
    const int128 two32 = int128{1} << 32, two63 = int128{1} << 63;
    check_values<std::int64_t>(
        rng().integers(0, two32, {11}), {383329928, 3324115917, 2811363265, 1884968545, 1859786276, 3687649986,
                                            369133709, 2995172878, 865305067, 404488629, 2261209996});
    check_values<std::int64_t>(
        rng().integers(0, two32 - 1, {11}), {383329927, 3324115916, 2811363264, 1884968544, 1859786275, 3687649985,
                                                369133708, 2995172877, 865305066, 404488628, 2261209995});
    check_values<std::int64_t>(
        rng().integers(0, two32 + 1, {11}), {3324115917, 1884968546, 3687649987, 2995172878, 404488629, 4190266094,
                                                3269070128, 3376120484, 550243862, 1934392874, 1592565387});
    check_values<std::int8_t>(rng().integers<std::int8_t>(0, 31, {11}), {16, 4, 26, 2, 24, 30, 3, 23, 23, 30, 17});
    check_values<std::int16_t>(rng().integers<std::int16_t>(0, 25000, {11}),
        {3762, 24589, 19348, 24975, 16363, 8435, 10971, 10825, 1831, 21464, 2148});
    const Array<std::uint64_t> words = rng().integers<std::uint64_t>(0, 2 * two63, {11}); // the words as they are
    const Array<std::int64_t> shifted = rng().integers(-two63, two63, {11});
    Generator raw = rng();
    for (std::size_t i = 0; i < 11; ++i) {
        BOOST_TEST(words(i) == raw.raw());
        BOOST_TEST(words(i) == static_cast<std::uint64_t>(shifted(i)) + (std::uint64_t{1} << 63));
    }

    std::ostringstream line;
    line.precision(17);
    const auto say = [&](const auto& drawn) {
        for (const auto v : drawn) line << +v << ' ';
    };
    Generator one = rng();
    say(one.integers(0, 10, {3}));
    say(one.random({1}));
    say(one.integers(0, 10, {2}));
    say(one.standard_normal({1}));
    say(one.integers(0, 10, {2}));
    say(one.permutation(7));
    Array<double> rows = counted({6, 2});
    one.shuffle(rows);
    say(rows);
    say(one.integers<std::int8_t>(0, 5, {3}));
    say(one.integers<std::uint16_t>(0, 1000, {3}));
    say(one.random<float>({3}));
    say(one.integers(0, 10, {2}));
    BOOST_TEST(line.str() ==
               "0 7 6 0.85859791991138246 4 0 -1.9510351886538364 6 5 6 4 2 3 0 1 5 8 9 0 1 4 5 6 7 10 11 2 3 0 1 4 "
               "627 402 505 0.54542911052703857 0.44341415166854858 0.45045953989028931 2 0 ");
}

BOOST_AUTO_TEST_CASE(permuted_rows) {
    Generator rng(2024);
    const Array<double> x = rng.permutation(counted({4, 3}));
    BOOST_TEST((x == Array<double>{{9, 10, 11}, {3, 4, 5}, {6, 7, 8}, {0, 1, 2}}));
    BOOST_TEST(rng.bits().half() == 920511140u);
    Array<double> scalar = counted({});
    BOOST_CHECK_EXCEPTION(rng.shuffle(scalar), Error, [](const Error& e) { return says(e, "shuffle: "); });
    BOOST_TEST(rng.permutation(counted({0, 3})).size() == 0u);
}

BOOST_AUTO_TEST_CASE(scalars_and_arrays_are_one_stream) {
    Generator a(7), b(7);
    const Array<double> normals = a.normal(1, 2, {3}), uniforms = a.uniform(-1, 1, {2, 2});
    for (const double x : normals) BOOST_TEST(b.normal(1, 2) == x);
    for (const double x : uniforms) BOOST_TEST(b.uniform(-1, 1) == x);
    for (const float x : a.random<float>({3})) BOOST_TEST(b.random<float>() == x);
    for (const auto x : a.integers(0, 1000, {3})) BOOST_TEST(b.integers(0, 1000) == x);
    BOOST_TEST(a.random() == b.random());
    BOOST_TEST(a.raw() == b.raw());
    BOOST_TEST(a.standard_normal({}).dimension() == 0u);
    BOOST_TEST(a.standard_normal({2, 0, 3}).size() == 0u);
}

BOOST_AUTO_TEST_CASE(seeds) {
    const auto first = [](const Seed& seed) { return Generator(seed).random(); };
    BOOST_TEST(first({1, 2, 3}) == 0.6704722626516632);
    BOOST_TEST(
        first(Seed::parse("1606938044258990275541962092341162602522202993782792835301393")) == 0.13682592594543386);
    BOOST_TEST(first(Seed::parse("1180591620717411303424").append(3)) == 0.9383840138377216);
    BOOST_TEST(first(5) == first({5}));
    BOOST_TEST(first(5) == first(Seed::parse("0005")));
    BOOST_TEST(first(0) == first({})); // the pool is filled up with zeros
    BOOST_TEST(first(~std::uint64_t{0}) == first(Seed::parse("18446744073709551615")));
    BOOST_TEST(first(uint128{1} << 64) == first(Seed::parse("18446744073709551616")));

    for (const char* bad : {"", "-1", "+1", "1.0", "1e3", " 1", "0x10", "five"})
        BOOST_CHECK_EXCEPTION(
            Seed::parse(bad), Error, [&](const Error& e) { return says(e, fmt::format("Seed: '{}'", bad)); });
    BOOST_CHECK_EXCEPTION(Generator(-1), Error, [](const Error& e) { return says(e, "Seed: -1 is negative"); });
    BOOST_CHECK_THROW(SeedSequence(5, {}, 3), Error);
}

BOOST_AUTO_TEST_CASE(refused_calls_draw_nothing) {
    Generator rng(5);
    const auto refused = [&](auto call, const char* part) {
        BOOST_CHECK_EXCEPTION(call(), Error, [&](const Error& e) { return says(e, part); });
    };
    const double inf = std::numeric_limits<double>::infinity();
    refused([&] { rng.normal(0, -1); }, "normal: scale -1");
    refused([&] { rng.normal(0, std::nan(""), {3}); }, "normal: scale nan");
    refused([&] { rng.uniform(3, 1); }, "uniform: from 3 to 1");
    refused([&] { rng.uniform(0, inf, {3}); }, "uniform: from 0 to inf");
    refused([&] { rng.uniform(-1e308, 1.7e308); }, "uniform: ");
    refused([&] { rng.integers(3, 3); }, "integers: [3, 3) is empty");
    refused([&] { rng.integers(4, 3, {2}, Endpoint::closed); }, "integers: [4, 3] is empty");
    refused([&] { rng.integers<std::uint8_t>(0, 257, {2}); }, "does not fit uint8, 0 … 255");
    refused([&] { rng.integers<std::int32_t>(0, int128{1} << 40); }, "does not fit int32");
    refused([&] { rng.integers<std::uint64_t>(-1, 3); }, "does not fit uint64");
    refused([&] { rng.random({std::size_t{1} << 32, std::size_t{1} << 32}); }, "4294967296");
    BOOST_TEST((rng.bits().state() == Generator(5).bits().state()));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_draws
