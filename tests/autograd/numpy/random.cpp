// NumPy's default_rng bit for bit: every stream of the reference data, long checksums, and the course's stream.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/autograd/numpy/npy.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>

#include "sha256.hpp"

namespace test_random {
BOOST_AUTO_TEST_SUITE(random)

using namespace chalkgrad;
using nlohmann::json;

namespace {

const std::string data = CHALKGRAD_TEST_DATA;

const json& manifest() {
    static const json entries = json::parse(read_file(data + "/golden/rng/manifest.json")).at("entries");
    return entries;
}

std::string decimal(uint128 n) { return fmt::format("{}", n); }

Seed seed_of(const json& entropy) {
    if (entropy.is_string()) return Seed::parse(entropy.get<std::string>());
    Seed seed{};
    for (const json& number : entropy) seed.append(Seed::parse(number.get<std::string>()));
    return seed;
}

template <class T> std::string digest(const Array<T>& x) { return sha256(x.data(), x.size() * sizeof(T)); }

void check_same(const NpyArray& got, const std::string& file) {
    const NpyArray want = read_npy(data + "/golden/rng/" + file);
    BOOST_TEST(name(got.type) == name(want.type), file);
    BOOST_TEST(got.shape == want.shape, boost::test_tools::per_element());
    BOOST_TEST((got.data == want.data), file << " differs");
}

template <class T> void append(std::vector<double>& to, const Array<T>& x) { to.insert(to.end(), x.begin(), x.end()); }

Array<double> mixed_calls(Generator& rng) {
    std::vector<double> all;
    append(all, rng.integers(0, 10, {3}));
    append(all, rng.random({2}));
    append(all, rng.integers(0, 10, {2}));
    append(all, rng.standard_normal({2}));
    append(all, rng.random<float>({3}));
    append(all, rng.integers(0, int128{1} << 40, {2}));
    append(all, rng.uniform(-1, 1, {2}));
    append(all, rng.integers(0, 10, {1}));
    append(all, rng.standard_normal<float>({3}));
    append(all, rng.random({1}));
    return xt::adapt(all, {all.size()});
}

Array<double> counted(const std::vector<std::size_t>& shape) {
    Array<double> x = Array<double>::from_shape(shape);
    std::iota(x.begin(), x.end(), 0.0);
    return x;
}

using Call = NpyArray (*)(Generator&);
// What the manifest calls them, up to "#" or ":".
const std::map<std::string, Call> calls{
    {"bit_generator.random_raw(64)", [](Generator& g) { return to_npy(g.raw({64})); }},
    {"random(64)", [](Generator& g) { return to_npy(g.random({64})); }},
    {"random(64, dtype=float32)", [](Generator& g) { return to_npy(g.random<float>({64})); }},
    {"standard_normal(64)", [](Generator& g) { return to_npy(g.standard_normal({64})); }},
    {"standard_normal(64, dtype=float32)", [](Generator& g) { return to_npy(g.standard_normal<float>({64})); }},
    {"normal(1.5, 0.25, 64)", [](Generator& g) { return to_npy(g.normal(1.5, 0.25, {64})); }},
    {"uniform(-4.0, 4.0, (3, 5))",
        [](Generator& g) {
            return to_npy(g.uniform(-4, 4, {3, 5}));
        }},
    {"integers(0, 10, 64)", [](Generator& g) { return to_npy(g.integers(0, 10, {64})); }},
    {"integers(-5, 6, 64)", [](Generator& g) { return to_npy(g.integers(-5, 6, {64})); }},
    {"integers(0, 4294967296, 64)", [](Generator& g) { return to_npy(g.integers(0, 4294967296, {64})); }},
    {"integers(0, 1099511627776, 64)", [](Generator& g) { return to_npy(g.integers(0, 1099511627776, {64})); }},
    {"integers(0, 8589934589, 64)", [](Generator& g) { return to_npy(g.integers(0, 8589934589, {64})); }},
    {"integers(0, 256, 64, dtype=uint8)", [](Generator& g) { return to_npy(g.integers<std::uint8_t>(0, 256, {64})); }},
    {"integers(0, 10, 64, dtype=int32)", [](Generator& g) { return to_npy(g.integers<std::int32_t>(0, 10, {64})); }},
    {"integers(0, 10, 64, endpoint=True)",
        [](Generator& g) { return to_npy(g.integers(0, 10, {64}, Endpoint::closed)); }},
    {"permutation(10)", [](Generator& g) { return to_npy(g.permutation(10)); }},
    {"permutation(1000)", [](Generator& g) { return to_npy(g.permutation(1000)); }},
    {"a=arange(10.0); shuffle(a)",
        [](Generator& g) {
            Array<double> x = counted({10});
            g.shuffle(x.begin(), x.end());
            return to_npy(x);
        }},
    {"m=arange(12.0).reshape(4,3); shuffle(m)  ",
        [](Generator& g) {
            Array<double> x = counted({4, 3});
            g.shuffle(x);
            return to_npy(x);
        }},
    {"one generator", [](Generator& g) { return to_npy(mixed_calls(g)); }},
};

void check_state(const Generator& rng, const json& state) {
    BOOST_TEST(decimal(rng.bits().state()) == state.at("state").get<std::string>());
    BOOST_TEST(decimal(rng.bits().increment()) == state.at("inc").get<std::string>());
    BOOST_TEST(rng.bits().has_half() == (state.at("has_uint32") == 1));
    BOOST_TEST(rng.bits().half() == state.at("uinteger").get<std::uint32_t>());
}

/// Course section 6: the RMS after each of 36 steps of h <- h + W f(h), f the identity ('none') or the norm ('pre'),
/// or h <- norm(h + W h) ('post').
std::vector<double> depth36(const std::string& placement) {
    Generator rng(5);
    constexpr std::size_t d = 256;
    const auto rms = [](const std::vector<double>& h) {
        return std::sqrt(std::inner_product(h.begin(), h.end(), h.begin(), 0.0) / d);
    };
    const auto normalized = [&](std::vector<double> h) {
        const double r = rms(h);
        for (double& x : h) x /= r;
        return h;
    };
    std::vector<double> h(d);
    rng.fill_standard_normal(h);
    std::vector<double> result{rms(h)};
    for (int step = 0; step < 36; ++step) {
        const Array<double> w = rng.normal(0, 1.0 / 16, {d, d});
        const std::vector<double> in = placement == "pre" ? normalized(h) : h;
        for (std::size_t i = 0; i < d; ++i) h[i] += std::inner_product(in.begin(), in.end(), w.data() + i * d, 0.0);
        if (placement == "post") h = normalized(h);
        result.push_back(rms(h));
    }
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_reference_stream) {
    std::size_t streams = 0;
    std::set<std::string> seeds;
    for (const json& entry : manifest()) {
        if (!entry.contains("file") || !entry.contains("seed") || entry.contains("indices")) continue;
        const std::string file = entry.at("file"), call = entry.at("call");
        BOOST_TEST_CONTEXT(file) {
            Generator rng(seed_of(entry.at("seed")));
            const auto known = calls.find(call.substr(0, call.find_first_of("#:")));
            BOOST_REQUIRE(known != calls.end());
            check_same(known->second(rng), file);
            if (entry.contains("final_state")) check_state(rng, entry.at("final_state"));
        }
        seeds.insert(entry.at("seed").get<std::string>());
        ++streams;
    }
    BOOST_TEST(seeds.size() == 7u);
    BOOST_TEST(streams == 7 * calls.size());
}

BOOST_AUTO_TEST_CASE(state_after_seeding) {
    int states = 0;
    for (const json& entry : manifest())
        if (entry.value("kind", "") == "state_after_seeding") {
            check_state(Generator(seed_of(entry.at("seed"))), entry);
            ++states;
        }
    BOOST_TEST(states == 7);
}

BOOST_AUTO_TEST_CASE(a_million_draws) {
    int checked = 0;
    const Shape million{1000000};
    for (const json& entry : manifest()) {
        if (entry.value("kind", "") == "checksum_1e6") BOOST_TEST_CONTEXT("seed " << entry.at("seed")) {
                const Generator start(seed_of(entry.at("seed")));
                const auto fresh = [&] { return start; };
                BOOST_TEST(digest(fresh().raw(million)) == entry.at("raw64"));
                BOOST_TEST(digest(fresh().random(million)) == entry.at("random"));
                BOOST_TEST(digest(fresh().random<float>(million)) == entry.at("random_f32"));
                BOOST_TEST(digest(fresh().standard_normal<float>(million)) == entry.at("standard_normal_f32"));
                BOOST_TEST(digest(fresh().integers(0, 10, million)) == entry.at("integers_0_10"));
                BOOST_TEST(digest(fresh().uniform(-4, 4, million)) == entry.at("uniform_m4_4"));

                Generator rng = start;
                const Array<double> x = rng.standard_normal(million);
                BOOST_TEST(digest(x) == entry.at("standard_normal"));
                check_state(rng, entry.at("state_after_1e6_normals"));
                BOOST_TEST(x(999999) == std::stod(entry.at("standard_normal_last").get<std::string>()));
                BOOST_TEST(std::count_if(x.begin(), x.end(), [](double v) {
                    return std::abs(v) > detail::ziggurat_tail;
                }) == entry.at("ziggurat_tail_count"));
                ++checked;
            }
        if (entry.contains("indices")) BOOST_TEST_CONTEXT(entry.at("file")) {
                Generator rng(seed_of(entry.at("seed")));
                const Array<double> x = rng.standard_normal(million);
                const Array<double> want = load_npy(data + "/golden/rng/" + entry.at("file").get<std::string>());
                for (std::size_t i = 0; i < want.size(); ++i)
                    BOOST_TEST(x(entry.at("indices").at(i).get<std::size_t>()) == want(i));
                ++checked;
            }
    }
    BOOST_TEST(checked == 14);
}

BOOST_AUTO_TEST_CASE(seed_sequences) {
    int checked = 0;
    for (const json& entry : manifest()) {
        if (!entry.contains("pool_size")) continue;
        const std::string file = entry.at("file"), call = entry.at("call");
        const bool child = entry.contains("child_spawn_key");
        const auto key = entry.at(child ? "child_spawn_key" : "spawn_key").get<std::vector<std::uint32_t>>();
        const SeedSequence seed(seed_of(entry.at("entropy")), key, entry.at("pool_size").get<std::size_t>());
        Generator rng(seed);
        BOOST_TEST_CONTEXT(file) {
            if (call == "pool") check_same(to_npy(Array<std::uint32_t>(xt::adapt(seed.pool()))), file);
            else if (call == "generate_state(16, uint32)")
                check_same(to_npy(Array<std::uint32_t>(xt::adapt(seed.generate_state32(16)))), file);
            else if (call == "generate_state(8, uint64)")
                check_same(to_npy(Array<std::uint64_t>(xt::adapt(seed.generate_state64(8)))), file);
            else if (child && call.ends_with("random(16)")) check_same(to_npy(rng.random({16})), file);
            else if (child && call.ends_with("standard_normal(16)"))
                check_same(to_npy(rng.standard_normal({16})), file);
            else BOOST_ERROR("unknown call " << call);
        }
        ++checked;
    }
    BOOST_TEST(checked == 9 * 9);
}

// G42
BOOST_AUTO_TEST_CASE(the_course_stream) {
    json expected;
    for (const json& one : json::parse(read_file(data + "/cases/given.json")))
        if (one.at("id") == "G42") expected = one.at("expected");
    BOOST_REQUIRE(!expected.is_null());

    const std::vector<std::uint64_t> state = SeedSequence(5).generate_state64(4);
    for (std::size_t i = 0; i < 4; ++i)
        BOOST_TEST(std::to_string(state[i]) == expected.at("seedsequence_generate_state_4x64").at(i));
    Generator words(5);
    BOOST_TEST(decimal(words.bits().state()) == expected.at("pcg64_state"));
    BOOST_TEST(decimal(words.bits().increment()) == expected.at("pcg64_inc"));
    for (const json& word : expected.at("random_raw_first4")) BOOST_TEST(std::to_string(words.raw()) == word);

    Generator scalars(5);
    for (const json& x : expected.at("standard_normal_first5"))
        BOOST_TEST(scalars.standard_normal() == x.get<double>());

    Generator rng(5);
    const Array<double> x = rng.standard_normal({200000});
    const json& draws = expected.at("draws_200000");
    BOOST_TEST(digest(x) == draws.at("sha256_of_little_endian_bytes"));
    BOOST_TEST(std::max_element(x.begin(), x.end()) - x.begin() == draws.at("argmax"));
    BOOST_TEST(std::min_element(x.begin(), x.end()) - x.begin() == draws.at("argmin"));

    const json& rms = expected.at("section6");
    for (const std::string placement : {"none", "pre", "post"}) BOOST_TEST_CONTEXT(placement) {
            const std::vector<double> got = depth36(placement);
            const Array<double> want = load_npy(data + "/golden/rng/experiments/depth36_seed5_" + placement + ".npy");
            BOOST_TEST_REQUIRE(got.size() == want.size());
            for (std::size_t i = 0; i < got.size(); ++i) BOOST_TEST(std::abs(got[i] - want(i)) <= 1e-9 * want(i));
            const double last = rms.at("rms_" + placement);
            BOOST_TEST(std::abs(got.back() - last) <= 1e-9 * last);
        }

    // The tanh that fits the norm best: its mean square error at the optimum, and more on both sides.
    const double scale = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0) / 200000);
    const auto error = [&](double alpha) {
        double sum = 0;
        for (const double v : x) sum += std::pow(std::tanh(alpha * v) - v / scale, 2);
        return sum / 200000;
    };
    const double alpha = expected.at("dyt_fit").at("alpha"), least = expected.at("dyt_fit").at("mse");
    BOOST_TEST(std::abs(error(alpha) - least) <= 1e-9 * least);
    BOOST_TEST((error(alpha - 0.01) > least && error(alpha + 0.01) > least));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_random
