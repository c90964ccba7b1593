// .npy files: every legal form loads with the right values, everything else is refused by name, and writing is NumPy's.
#include <boost/test/unit_test.hpp>

#include <bit>
#include <filesystem>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/numpy/npy.hpp>

#include "../../support.hpp"

namespace test_npy {
BOOST_AUTO_TEST_SUITE(npy)

using namespace chalkgrad;
using namespace chalkgrad::testing;
using nlohmann::json;

namespace {

const std::string data = CHALKGRAD_TEST_DATA;
const std::string forms = data + "/golden/npy_forms/";
const std::string cases = data + "/cases/npy/";

const json& manifest() {
    static const json files = json::parse(read_file(forms + "manifest.json")).at("files");
    return files;
}

// A 1.0 file with this header and these elements.
std::string file(const std::string& header, const std::string& elements) {
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes += static_cast<char>(header.size() & 0xff);
    bytes += static_cast<char>(header.size() >> 8);
    return bytes + header + elements;
}
std::string header(const std::string& descr, const std::string& shape) {
    return fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}\n", descr, shape);
}

void check_refused(const std::string& bytes, const std::string& part) {
    BOOST_CHECK_EXCEPTION(parse_npy(bytes, "here"), Error, [&](const Error& e) {
        const std::string says = e.what();
        BOOST_TEST_MESSAGE(says);
        return says.starts_with("here: ") && says.find(part) != std::string::npos &&
               says.find('\n') == std::string::npos;
    });
}

double number(const json& value) {
    if (value.is_string()) return std::stod(value.get<std::string>());
    return value.is_boolean() ? value.get<bool>() : value.get<double>();
}

bool same(double a, double b) {
    return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// The elements, each exact in its own type, against the manifest's numbers.
void check_values(const NpyArray& array, const json& want) {
    BOOST_TEST_REQUIRE(array.size() == want.size());
    if (array.type == NpyType::int64) {
        for (std::size_t i = 0; i < want.size(); ++i)
            BOOST_TEST(array.values<std::int64_t>()[i] == want[i].get<std::int64_t>());
    } else if (array.type == NpyType::uint64) {
        for (std::size_t i = 0; i < want.size(); ++i)
            BOOST_TEST(array.values<std::uint64_t>()[i] == want[i].get<std::uint64_t>());
    } else {
        const Array<double> got = to_array<double>(array);
        for (std::size_t i = 0; i < want.size(); ++i) BOOST_TEST(same(got.data()[i], number(want[i])), "element " << i);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(every_legal_form_loads) {
    int loaded = 0;
    for (const json& one : manifest()) {
        if (one.at("expect") != "load") continue;
        BOOST_TEST_CONTEXT(one.at("file")) {
            const NpyArray array = read_npy(forms + one.at("file").get<std::string>());
            BOOST_TEST(
                array.shape == one.at("shape").get<std::vector<std::size_t>>(), boost::test_tools::per_element());
            check_values(array, one.at("values_c_order"));

            // Written again it holds the same, and says the manifest's type.
            const std::string written = npy_file(array);
            BOOST_TEST(written.find("'descr': '" + one.at("dtype").get<std::string>() + "'") != std::string::npos);
            BOOST_TEST((written.size() - array.data.size()) % 64 == 0u);
            const NpyArray again = parse_npy(written);
            BOOST_TEST((again.type == array.type && again.shape == array.shape && again.data == array.data));
        }
        ++loaded;
    }
    BOOST_TEST(loaded == 44);
}

// N17: Python 2 on 64-bit Windows wrote 3L for 3; a writer that groups digits writes other extents.
BOOST_AUTO_TEST_CASE(extents_of_other_writers) {
    const std::string six(48, '\0');
    BOOST_TEST(parse_npy(file(header("<f8", "(2L, 3L)"), six)).shape == (std::vector<std::size_t>{2, 3}),
        boost::test_tools::per_element());
    BOOST_TEST(parse_npy(file(header("<f8", "(6L,)"), six)).shape == (std::vector<std::size_t>{6}),
        boost::test_tools::per_element());
    check_refused(file(header("<f8", "(2,621, 401)"), six), "(2, 621, 401)");
}

BOOST_AUTO_TEST_CASE(every_illegal_form_is_refused) {
    int refused = 0;
    for (const json& one : manifest()) {
        if (one.at("expect") != "refuse") continue;
        const std::string path = forms + one.at("file").get<std::string>();
        BOOST_CHECK_EXCEPTION(read_npy(path), Error, [&](const Error& e) {
            BOOST_TEST_MESSAGE(e.what());
            return std::string(e.what()).starts_with("read_npy: '" + path + "': ");
        });
        ++refused;
    }
    BOOST_TEST(refused == 26);
}

// What numpy.save writes is what is written here, byte for byte.
BOOST_AUTO_TEST_CASE(numpy_writes_the_same_bytes) {
    int compared = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(data + "/golden/rng")) {
        if (entry.path().extension() != ".npy") continue;
        const std::string bytes = read_file(entry.path());
        BOOST_TEST((npy_file(parse_npy(bytes)) == bytes), entry.path());
        ++compared;
    }
    BOOST_TEST(compared > 200);
}

// G43
BOOST_AUTO_TEST_CASE(stored_order_does_not_change_values) {
    const Array<double> rows{{1, 2, 3}, {4, 5, 6}}, columns{{1, 4}, {2, 5}, {3, 6}};
    for (const char* name : {"f", "c", "be", "keyorder", "v2", "v3", "extra"})
        BOOST_TEST((load_npy(cases + name + ".npy") == rows), name);
    BOOST_TEST((load_npy(cases + "T.npy") == columns));

    // Three axes, column-major: element (i, j, k) of shape (2, 3, 4) lies at i + 2 j + 6 k.
    std::string elements;
    for (int i = 0; i < 24; ++i) elements += static_cast<char>(i);
    const NpyArray cube = parse_npy(file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4)}", elements));
    const Array<int> x = to_array<int>(cube);
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j)
            for (int k = 0; k < 4; ++k) BOOST_TEST(x(i, j, k) == i + 2 * j + 6 * k);
}

BOOST_AUTO_TEST_CASE(small_files) {
    const Array<double> rows{{1, 2, 3}, {4, 5, 6}};
    for (const char* name : {"f16", "f32", "i64"}) BOOST_TEST((load_npy(cases + name + ".npy") == rows), name);
    BOOST_TEST((load_npy<std::int64_t>(cases + "i64.npy") == Array<std::int64_t>{{1, 2, 3}, {4, 5, 6}}));
    BOOST_TEST((load_npy<bool>(cases + "bool.npy") == Array<bool>{{false, false, true}, {true, true, true}}));
    BOOST_TEST((load_npy(cases + "one.npy") == Array<double>{1, 2, 3}));
    BOOST_TEST(load_npy(cases + "zero_d.npy").dimension() == 0u);
    BOOST_TEST(load_npy(cases + "zero_d.npy")() == 3.5);
    const Array<double> none = load_npy(cases + "empty.npy");
    BOOST_TEST((none.dimension() == 2 && none.shape()[0] == 0 && none.shape()[1] == 3));
    for (const char* name : {"badmagic", "neg", "obj", "overflow", "struct", "trunc"}) {
        const std::string path = cases + name + ".npy";
        BOOST_CHECK_EXCEPTION(load_npy(path), Error,
            [&](const Error& e) { return std::string(e.what()).find(path) != std::string::npos; });
    }
}

BOOST_AUTO_TEST_CASE(messages_say_what_is_wrong) {
    check_refused("", "it is empty");
    check_refused("PK\x03\x04 a zip archive", "no .npy file");
    check_refused(std::string("\x93NUMPY\x02\x01", 8), "format 2.1 is unknown");
    check_refused(std::string("\x93NUMPY\x02\x00\x01", 9), "truncated within its .npy header");
    check_refused(
        file(header("<f8", "(2, 3)"), std::string(47, 0)), "shape (2, 3) of float64 needs 48 bytes, 47 are there");
    check_refused(file(header("<f8", "(4294967296, 4294967296)"), ""), "needs 2^63 or more bytes");
    check_refused(file(header("<f8", "(4294967296, 0, 4294967296, 8)"), ""), "needs 2^63 or more bytes");
    check_refused(file(header("<f8", "(99999999999999999999,)"), ""), "exceeds 64 bits");
    check_refused(file(header("<f8", "(-2,)"), ""), "an extent, a whole number >= 0, is expected at byte");
    check_refused(file(header("<f8", "(2.0,)"), ""), "',' or ')' is expected");
    check_refused(file(header("<f8", "(02,)"), ""), "an extent");
    check_refused(file(header("<f8", "(2)"), ""), "shape (2) is a number, not a tuple");
    check_refused(file(header("<f8", "(,)"), ""), "an extent");
    check_refused(file(header("<f8", "(2,,3)"), ""), "an extent");
    check_refused(file(header("<f8", "(2 3)"), ""), "',' or ')' is expected");
    check_refused(file(header("<f8", "[2]"), ""), "a tuple of extents is expected");
    check_refused(file(header("|O", "(2,)"), ""), "holds Python objects ('|O')");
    check_refused(file(header("<c16", "(2,)"), ""), "holds complex numbers ('<c16')");
    check_refused(file(header("<U3", "(2,)"), ""), "holds text ('<U3')");
    check_refused(file(header("<M8[s]", "(2,)"), ""), "holds dates or times");
    check_refused(file(header("<f16", "(2,)"), ""), "holds an unknown type ('<f16')");
    check_refused(file(header("", "(2,)"), ""), "holds an unknown type ('')");
    check_refused(file("{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (2,)}", ""), "holds records");
    check_refused(file("{'descr': '<f8', 'shape': (2,)}", ""), "key 'fortran_order' is missing");
    check_refused(file("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': ()}", ""),
        "'descr' is unknown or there twice");
    check_refused(file("{'descr': '<f8', 'fortran_order': False, 'shape': (), 'x': 1}", ""), "'x' is unknown");
    check_refused(file("{'descr': '<f8', 'fortran_order': 1, 'shape': ()}", ""), "True or False is expected");
    check_refused(file("{'descr': '<f8' 'fortran_order': False, 'shape': ()}", ""), "',' or '}' is expected");
    check_refused(
        file("{'descr': '<f8', 'fortran_order': False, 'shape': ()} x", ""), "nothing after the dict is expected");
    check_refused(file("{'descr': '<f8", ""), "a closing quote is expected");
    check_refused(file("{'descr\n\x01': '<f8'}", ""), "key 'descr?\?' is unknown");
    check_refused(file("['<f8', False, ()]", ""), "a dict is expected at byte 0");
    check_refused(file("", ""), "a dict is expected");
    BOOST_CHECK_EXCEPTION(read_npy(cases + "absent.npy"), Error,
        [](const Error& e) { return std::string(e.what()).find("absent.npy") != std::string::npos; });
}

// No prefix of a file and no changed byte of its header does worse than an Error.
BOOST_AUTO_TEST_CASE(damaged_files_are_refused_or_read) {
    for (const char* name : {"v1_fortran_3d.npy", "v2_fortran_be.npy", "odd_spaces.npy", "dtype_b1.npy"}) {
        const std::string whole = read_file(forms + name);
        for (std::size_t n = 0; n < whole.size(); ++n) BOOST_CHECK_THROW(parse_npy(whole.substr(0, n)), Error);
        for (std::size_t i = 0; i < std::min<std::size_t>(whole.size(), 128); ++i)
            for (const char c : std::string("\0\xff'\"{}()[],:0x9- \n<>L", 22)) {
                std::string damaged = whole;
                damaged[i] = c;
                try {
                    const NpyArray array = parse_npy(damaged);
                    BOOST_TEST(array.data.size() <= whole.size());
                } catch (const Error&) {}
            }
    }
}

BOOST_AUTO_TEST_CASE(many_axes_and_empty_ones) {
    std::string shape = "(";
    for (int i = 0; i < 20; ++i) shape += "1, ";
    const NpyArray deep = parse_npy(file(header("<i2", shape + "2)"), std::string("\x01\x00\x02\x00", 4)));
    BOOST_TEST(to_array<double>(deep).dimension() == 21u);
    BOOST_TEST(to_array<double>(deep).data()[1] == 2);
    const NpyArray none =
        parse_npy(file("{'descr': '>f8', 'fortran_order': True, 'shape': (1099511627776, 0, 3)}", ""));
    BOOST_TEST(to_array<double>(none).size() == 0u);
    BOOST_CHECK_THROW(NpyArray({std::size_t{1} << 40, std::size_t{1} << 40}, NpyType::int8), Error);
}

BOOST_AUTO_TEST_CASE(conversions_are_exact_or_refused) {
    const auto refused = [](auto call, const std::string& part) {
        BOOST_CHECK_EXCEPTION(call(), Error, [&](const Error& e) {
            BOOST_TEST_MESSAGE(e.what());
            return std::string(e.what()).find(part) != std::string::npos;
        });
    };
    const auto of = [](auto... values) {
        using T = std::common_type_t<decltype(values)...>;
        return to_npy(Array<T>(xt::adapt(std::vector<T>{values...}, {sizeof...(values)})));
    };
    constexpr std::int64_t two53 = std::int64_t{1} << 53, lowest = std::numeric_limits<std::int64_t>::min();

    BOOST_TEST(to_array<double>(of(two53, two53 + 2, lowest)).data()[1] == 9007199254740994.0);
    refused([&] { to_array<double>(of(two53, two53 + 1)); },
        "element (1) = 9007199254740993 is no float64; load it as int64");
    refused(
        [&] { load_npy(forms + "i8_beyond_2_53.npy"); }, "load_npy: '" + forms + "i8_beyond_2_53.npy': element (0)");
    refused([&] { to_array<double>(of(~std::uint64_t{0})); }, "element (0) = 18446744073709551615 is no float64");
    refused([&] { to_array<float>(of(16777217)); }, "is no float32; load it as int32");
    BOOST_TEST((
        to_array<long double>(of(two53 + 1)).data()[0] == two53 + 1 || std::numeric_limits<long double>::digits == 53));

    BOOST_TEST(to_array<std::uint8_t>(of(0, 255)).data()[1] == 255);
    refused([&] { to_array<std::uint8_t>(of(0, 256)); }, "element (1) = 256 is no uint8");
    refused([&] { to_array<std::uint8_t>(of(-1)); }, "element (0) = -1 is no uint8");
    refused([&] { to_array<std::int64_t>(of(~std::uint64_t{0})); }, "is no int64");
    refused([&] { to_array<std::uint64_t>(of(lowest)); }, "is no uint64");
    refused([&] { to_array<bool>(of(0, 1, 2)); }, "element (2) = 2 is no bool");

    BOOST_TEST(to_array<std::int64_t>(of(3.0, -0x1p63)).data()[1] == lowest);
    for (const double bad : {0.5, 0x1p63, std::nan(""), -std::numeric_limits<double>::infinity()})
        refused([&] { to_array<std::int64_t>(of(bad)); }, "is no int64; load it as float64");
    refused([&] { to_array<std::uint32_t>(of(-1.0)); }, "is no uint32");

    BOOST_TEST(to_array<float>(of(0.1)).data()[0] == 0.1f);
    BOOST_TEST(std::isinf(to_array<float>(of(std::numeric_limits<double>::infinity())).data()[0]));
    refused([&] { to_array<float>(of(1e300)); }, "element (0) = 1e+300 is no float32");

    const NpyArray two = to_npy(Array<int>{{1, 2}, {3, 400}});
    refused([&] { to_array<std::int8_t>(two, "tokens"); }, "tokens: element (1, 1) = 400 is no int8; load it as int32");
}

BOOST_AUTO_TEST_CASE(half_and_bfloat16_keep_their_bits) {
    NpyArray all({65536}, NpyType::float16);
    std::iota(all.values<std::uint16_t>().begin(), all.values<std::uint16_t>().end(), std::uint16_t{0});
    const Array<half> halves = to_array<half>(all);
    const Array<double> doubles = to_array<double>(all);
    for (std::size_t i = 0; i < 65536; ++i) {
        BOOST_REQUIRE(Eigen::numext::bit_cast<std::uint16_t>(halves(i)) == i);
        BOOST_REQUIRE(same(doubles(i), static_cast<double>(static_cast<float>(halves(i)))));
    }
    BOOST_TEST((to_npy(halves).data == all.data && to_npy(halves).type == NpyType::float16));

    all.type = NpyType::uint16;
    const Array<bfloat16> brains = to_array<bfloat16>(all);
    BOOST_TEST(static_cast<float>(brains(0x3f80)) == 1);
    BOOST_TEST((to_npy(brains).data == all.data && to_npy(brains).type == NpyType::uint16));
    BOOST_CHECK_THROW(to_array<half>(all), Error);
    BOOST_CHECK_THROW(all.values<double>(), Error);
}

BOOST_AUTO_TEST_CASE(files_are_written_whole_or_not_at_all) {
    const Folder folder;
    const Array<float> x{{1, 2, 3}, {4, 5, 6}};
    save_npy(folder.path / "x.npy", x);
    BOOST_TEST((load_npy<float>(folder.path / "x.npy") == x));
    save_npy(folder.path / "x.npy", Array<bool>{true, false});
    BOOST_TEST((load_npy<bool>(folder.path / "x.npy") == Array<bool>{true, false}));
    BOOST_CHECK_THROW(save_npy(folder.path / "absent" / "x.npy", x), Error);
    BOOST_TEST(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);
    BOOST_CHECK_THROW(npy_type("complex64"), Error);
    BOOST_TEST((npy_type("float") == NpyType::float32));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_npy
