// Reads the header's Python literal and the elements of .npy files; writes format 1.0.
#include <chalkgrad/autograd/numpy/npy.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>

namespace chalkgrad {
namespace {

static_assert(std::endian::native == std::endian::little, "NpyArray's bytes are little-endian");

struct TypeInfo {
    const char* name;
    std::string_view code; // after the byte order in a header's 'descr'
    std::size_t bytes;
};
constexpr std::array<TypeInfo, 12> types{{{"bool", "b1", 1}, {"int8", "i1", 1}, {"uint8", "u1", 1}, {"int16", "i2", 2},
    {"uint16", "u2", 2}, {"int32", "i4", 4}, {"uint32", "u4", 4}, {"int64", "i8", 8}, {"uint64", "u8", 8},
    {"float16", "f2", 2}, {"float32", "f4", 4}, {"float64", "f8", 8}}};
const TypeInfo& info(NpyType type) { return types[static_cast<std::size_t>(type)]; }

constexpr std::string_view magic{"\x93NUMPY", 6};

std::string tuple(const std::vector<std::size_t>& shape) {
    return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

/// Bytes of an array of this shape, if they fit in 63 bits. Extents beside a 0 must fit too: strides are made of them.
std::optional<std::size_t> byte_count(const std::vector<std::size_t>& shape, NpyType type) {
    std::size_t product = bytes(type);
    bool empty = false;
    for (const std::size_t extent : shape) {
        if (extent == 0) empty = true;
        else if (__builtin_mul_overflow(product, extent, &product)) return std::nullopt;
    }
    if (product > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max())) return std::nullopt;
    return empty ? 0 : product;
}

struct Header {
    NpyType type;
    bool big_endian;
    bool fortran_order;
    std::vector<std::size_t> shape;
};

/// Reads {'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), } with the keys in any order and Python's freedom of
/// spaces, quotes and trailing commas.
class HeaderParser {
public:
    HeaderParser(std::string_view text, const std::string& what) : text_(text), what_(what) {}

    Header parse() {
        std::optional<std::pair<NpyType, bool>> descr;
        std::optional<bool> order;
        std::optional<std::vector<std::size_t>> shape;
        expect('{', "a dict");
        while (!accept('}')) {
            const std::string_view key = string("a key");
            expect(':', "':' after a key");
            if (key == "descr" && !descr) descr = type();
            else if (key == "fortran_order" && !order) order = boolean();
            else if (key == "shape" && !shape) shape = extents();
            else fail(fmt::format("its key '{}' is unknown or there twice", printable(key)));
            if (!accept(',')) {
                expect('}', "',' or '}'");
                break;
            }
        }
        skip_space();
        if (at_ != text_.size()) expected("nothing after the dict");
        for (const auto& [key, there] : {std::pair("descr", descr.has_value()),
                 std::pair("fortran_order", order.has_value()), std::pair("shape", shape.has_value())})
            if (!there) fail(fmt::format("its key '{}' is missing", key));
        return {descr->first, descr->second, *order, std::move(*shape)};
    }

private:
    [[noreturn]] void fail(const std::string& why) const {
        throw Error(fmt::format("{}: bad .npy header: {}; write the file again with numpy.save", what_, why));
    }
    [[noreturn]] void expected(const char* what) const {
        const std::string_view rest = text_.substr(at_, 16);
        fail(fmt::format("{} is expected at byte {}, not '{}'", what, at_, printable(rest)));
    }
    static std::string printable(std::string_view text) {
        std::string out;
        for (const unsigned char c : text.substr(0, 40)) out += c >= 0x20 && c < 0x7f ? static_cast<char>(c) : '?';
        return out;
    }

    void skip_space() {
        while (at_ < text_.size() && std::string_view(" \t\n\r\f").find(text_[at_]) != std::string_view::npos) ++at_;
    }
    bool accept(char c) {
        skip_space();
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    void expect(char c, const char* what) {
        if (!accept(c)) expected(what);
    }
    bool accept_word(std::string_view word) {
        skip_space();
        if (text_.substr(at_, word.size()) != word) return false;
        at_ += word.size();
        return true;
    }

    std::string_view string(const char* what) {
        skip_space();
        if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) expected(what);
        const std::size_t end = text_.find(text_[at_], at_ + 1);
        if (end == std::string_view::npos) expected("a closing quote");
        const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        return inside;
    }

    bool boolean() {
        if (accept_word("True")) return true;
        if (accept_word("False")) return false;
        expected("True or False");
    }

    std::pair<NpyType, bool> type() {
        skip_space();
        if (at_ < text_.size() && text_[at_] == '[')
            throw Error(what_ + ": holds records (a structured type); save each field as an array of its own");
        const std::string_view descr = string("a type");
        std::string_view code = descr;
        const bool has_order = !code.empty() && std::string_view("<>|=").find(code[0]) != std::string_view::npos;
        if (has_order) code.remove_prefix(1);
        for (std::size_t i = 0; i < types.size(); ++i)
            if (code == types[i].code) return {static_cast<NpyType>(i), has_order && descr[0] == '>'};
        const char kind = code.empty() ? ' ' : code[0];
        const char* meaning = kind == 'O'                                 ? "Python objects"
                              : kind == 'c'                               ? "complex numbers"
                              : kind == 'S' || kind == 'U' || kind == 'a' ? "text"
                              : kind == 'M' || kind == 'm'                ? "dates or times"
                              : kind == 'V'                               ? "raw records"
                                                                          : "an unknown type";
        throw Error(fmt::format(
            "{}: holds {} ('{}'); only bool, int8 to int64, uint8 to uint64 and float16 to float64 are read: "
            "convert with astype first",
            what_, meaning, printable(descr)));
    }

    std::vector<std::size_t> extents() {
        std::vector<std::size_t> shape;
        expect('(', "a tuple of extents");
        bool comma = true;
        while (!accept(')')) {
            if (!comma) expected("',' or ')'");
            shape.push_back(extent());
            comma = accept(',');
        }
        if (shape.size() == 1 && !comma) fail(fmt::format("shape ({}) is a number, not a tuple", shape[0]));
        return shape;
    }

    std::size_t extent() {
        skip_space();
        const std::size_t first = at_;
        std::size_t value = 0;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
            if (__builtin_mul_overflow(value, std::size_t{10}, &value) ||
                __builtin_add_overflow(value, static_cast<std::size_t>(text_[at_] - '0'), &value))
                fail("an extent of its shape exceeds 64 bits");
        if (at_ == first || (text_[first] == '0' && at_ - first > 1)) {
            at_ = first;
            expected("an extent, a whole number >= 0,");
        }
        if (at_ < text_.size() && text_[at_] == 'L') ++at_; // Python 2
        return value;
    }

    std::string_view text_;
    const std::string& what_;
    std::size_t at_ = 0;
};

template <std::size_t width>
void copy_elements(const Header& header, std::size_t count, const char* from, std::byte* to) {
    // Row-major order visits the file with its own strides: an odometer over the index.
    const std::size_t rank = header.shape.size();
    std::vector<std::size_t> stride(rank, 1), index(rank, 0);
    if (header.fortran_order)
        for (std::size_t k = 1; k < rank; ++k) stride[k] = stride[k - 1] * header.shape[k - 1];
    else
        for (std::size_t k = rank; k-- > 1;) stride[k - 1] = stride[k] * header.shape[k];
    std::size_t source = 0;
    for (std::size_t i = 0; i < count; ++i, to += width) {
        std::memcpy(to, from + source * width, width);
        if (header.big_endian) std::reverse(to, to + width);
        for (std::size_t k = rank; k-- > 0;) {
            source += stride[k];
            if (++index[k] < header.shape[k]) break;
            source -= stride[k] * header.shape[k];
            index[k] = 0;
        }
    }
}

double widen(std::uint16_t bits) { // IEEE binary16
    const int exponent = bits >> 10 & 0x1f;
    const int fraction = bits & 0x3ff;
    const double size =
        exponent == 31 ? (fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
        : exponent == 0 ? std::ldexp(fraction, -24)
                        : std::ldexp(fraction + 1024, exponent - 25);
    return bits >> 15 ? -size : size;
}

/// Calls visit(values) with the elements in the type they are stored in, float16 as its bits.
template <class Visit> void visit_values(const NpyArray& file, Visit visit) {
    switch (file.type) {
        case NpyType::boolean:
            return visit(file.values<bool>());
        case NpyType::int8:
            return visit(file.values<std::int8_t>());
        case NpyType::uint8:
            return visit(file.values<std::uint8_t>());
        case NpyType::int16:
            return visit(file.values<std::int16_t>());
        case NpyType::uint16:
        case NpyType::float16:
            return visit(file.values<std::uint16_t>());
        case NpyType::int32:
            return visit(file.values<std::int32_t>());
        case NpyType::uint32:
            return visit(file.values<std::uint32_t>());
        case NpyType::int64:
            return visit(file.values<std::int64_t>());
        case NpyType::uint64:
            return visit(file.values<std::uint64_t>());
        case NpyType::float32:
            return visit(file.values<float>());
        case NpyType::float64:
            return visit(file.values<double>());
    }
}

/// Whether `to` can stand for `from` under the rules of to_array; sets it if so.
template <class To, class From> bool convert_one(From from, To& to) {
    if constexpr (std::is_floating_point_v<From> && std::is_floating_point_v<To>) {
        to = static_cast<To>(from);
        return std::isfinite(to) || !std::isfinite(from);
    } else if constexpr (std::is_floating_point_v<From>) {
        // 2^digits is the first value too large; the lowest is exact in every From.
        const From above = std::ldexp(From(1), std::numeric_limits<To>::digits);
        if (!(from >= static_cast<From>(std::numeric_limits<To>::min()) && from < above && from == std::trunc(from)))
            return false;
        to = static_cast<To>(from);
        return true;
    } else if constexpr (std::is_floating_point_v<To>) {
        to = static_cast<To>(from);
        const auto whole = +from; // + turns bool into int
        const std::uint64_t magnitude =
            whole < 0 ? 0 - static_cast<std::uint64_t>(whole) : static_cast<std::uint64_t>(whole);
        return magnitude == 0 ||
               std::bit_width(magnitude) - std::countr_zero(magnitude) <= std::numeric_limits<To>::digits;
    } else {
        to = static_cast<To>(from);
        using Limits = std::numeric_limits<To>;
        return std::cmp_less_equal(+Limits::min(), +from) && std::cmp_less_equal(+from, +Limits::max());
    }
}

template <class T> std::string type_name() {
    if constexpr (std::is_same_v<T, long double>) return "long double";
    else return name(npy_type_of<T>);
}

std::string multi_index(std::size_t i, const std::vector<std::size_t>& shape) {
    std::vector<std::size_t> index(shape.size());
    for (std::size_t k = shape.size(); k-- > 0; i /= shape[k]) index[k] = i % shape[k];
    return fmt::format("({})", fmt::join(index, ", "));
}

} // namespace

const char* name(NpyType type) { return info(type).name; }

std::size_t bytes(NpyType type) { return info(type).bytes; }

NpyType npy_type(std::string_view name) {
    if (name == "double") return NpyType::float64;
    if (name == "float") return NpyType::float32;
    if (name == "half") return NpyType::float16;
    for (std::size_t i = 0; i < types.size(); ++i)
        if (name == types[i].name) return static_cast<NpyType>(i);
    throw Error(fmt::format(
        "npy_type: '{}' is no element type; choose bool, int8 to int64, uint8 to uint64, float16, float32 or float64",
        name));
}

NpyArray::NpyArray(std::vector<std::size_t> shape, NpyType type) : shape(std::move(shape)), type(type) {
    const auto count = byte_count(this->shape, type);
    if (!count)
        throw Error(fmt::format(
            "NpyArray: an array of shape {} exceeds 63 bits of bytes; make it smaller", tuple(this->shape)));
    data.resize(*count);
}

NpyArray parse_npy(std::string_view file, const std::string& what) {
    if (file.size() < magic.size() + 2 || file.substr(0, magic.size()) != magic)
        throw Error(fmt::format("{}: is no .npy file ({}); write it with numpy.save", what,
            file.empty() ? "it is empty" : "it does not begin with \\x93NUMPY and a version"));
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(file[i])); };
    const std::size_t major = byte(6), minor = byte(7);
    if (major < 1 || major > 3 || minor != 0)
        throw Error(
            fmt::format("{}: .npy format {}.{} is unknown; only 1.0, 2.0 and 3.0 are read: save it again with NumPy",
                what, major, minor));

    const std::size_t begin = major == 1 ? 10 : 12;
    std::size_t length = 0;
    if (file.size() >= begin)
        for (std::size_t i = begin; i-- > 8;) length = length << 8 | byte(i);
    if (file.size() < begin || length > file.size() - begin)
        throw Error(fmt::format(
            "{}: truncated within its .npy header ({} bytes in all); copy or save it again", what, file.size()));

    const Header header = HeaderParser(file.substr(begin, length), what).parse();
    const std::string_view elements = file.substr(begin + length);
    const auto wanted = byte_count(header.shape, header.type);
    if (!wanted || *wanted > elements.size())
        throw Error(
            fmt::format("{}: truncated or corrupt: shape {} of {} needs {} bytes, {} are there; copy or save it again",
                what, tuple(header.shape), name(header.type), wanted ? std::to_string(*wanted) : "2^63 or more",
                elements.size()));

    NpyArray array(header.shape, header.type);
    if (!array.data.empty() && !header.big_endian && !header.fortran_order) {
        std::memcpy(array.data.data(), elements.data(), *wanted);
    } else {
        const std::size_t count = array.size();
        switch (bytes(header.type)) {
            case 1:
                copy_elements<1>(header, count, elements.data(), array.data.data());
                break;
            case 2:
                copy_elements<2>(header, count, elements.data(), array.data.data());
                break;
            case 4:
                copy_elements<4>(header, count, elements.data(), array.data.data());
                break;
            default:
                copy_elements<8>(header, count, elements.data(), array.data.data());
        }
    }
    if (header.type == NpyType::boolean) // any other byte would be no value of a C++ bool
        for (std::byte& b : array.data) b = b != std::byte{0} ? std::byte{1} : std::byte{0};
    return array;
}

NpyArray read_npy(const std::filesystem::path& path) {
    return parse_npy(read_file(path), "read_npy: '" + path.string() + "'");
}

std::string npy_file(const NpyArray& array) {
    const std::string_view order = bytes(array.type) == 1 ? "|" : "<";
    std::string header = fmt::format(
        "{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}", order, info(array.type).code, tuple(array.shape));
    const std::size_t begin = magic.size() + 4;
    header.resize((begin + header.size() + 1 + 63) / 64 * 64 - begin, ' '); // the elements begin at a multiple of 64
    header.back() = '\n';
    if (header.size() > 0xffff)
        throw Error(fmt::format(
            "npy_file: an array of {} axes has too long a header; drop axes of extent 1", array.shape.size()));

    std::string file;
    file.reserve(begin + header.size() + array.data.size());
    file += magic;
    file += '\x01';
    file += '\x00';
    file += static_cast<char>(header.size() & 0xff);
    file += static_cast<char>(header.size() >> 8);
    file += header;
    file.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
    return file;
}

void write_npy(const std::filesystem::path& path, const NpyArray& array) { write_file(path, npy_file(array)); }

namespace detail {

void refuse_type(const NpyArray& array, NpyType wanted, const std::string& what) {
    throw Error(fmt::format("{}: holds {} of shape {}, not {}; convert it first", what, name(array.type),
        tuple(array.shape), name(wanted)));
}

template <class T> void convert(const NpyArray& file, T* out, const std::string& what) {
    const bool is_half = file.type == NpyType::float16;
    visit_values(file, [&](auto values) {
        using From = typename decltype(values)::value_type;
        const auto store = [&](std::size_t i, auto value) {
            if (!convert_one(value, out[i]))
                throw Error(fmt::format("{}: element {} = {} is no {}; load it as {}", what, multi_index(i, file.shape),
                    value, type_name<T>(), name(file.type)));
        };
        if constexpr (std::is_same_v<From, std::uint16_t>)
            if (is_half) {
                for (std::size_t i = 0; i < values.size(); ++i) store(i, widen(values[i]));
                return;
            }
        for (std::size_t i = 0; i < values.size(); ++i) store(i, values[i]);
    });
}

template void convert(const NpyArray&, bool*, const std::string&);
template void convert(const NpyArray&, std::int8_t*, const std::string&);
template void convert(const NpyArray&, std::uint8_t*, const std::string&);
template void convert(const NpyArray&, std::int16_t*, const std::string&);
template void convert(const NpyArray&, std::uint16_t*, const std::string&);
template void convert(const NpyArray&, std::int32_t*, const std::string&);
template void convert(const NpyArray&, std::uint32_t*, const std::string&);
template void convert(const NpyArray&, std::int64_t*, const std::string&);
template void convert(const NpyArray&, std::uint64_t*, const std::string&);
template void convert(const NpyArray&, float*, const std::string&);
template void convert(const NpyArray&, double*, const std::string&);
template void convert(const NpyArray&, long double*, const std::string&);

} // namespace detail
} // namespace chalkgrad
