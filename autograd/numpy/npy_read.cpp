// Reads .npy files: the header's Python literal, then the elements in either byte order, C or Fortran order.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/autograd/numpy/npy_format.hpp>

namespace chalkgrad {
namespace {

using detail::npy_magic, detail::npy_types, detail::byte_count, detail::python_tuple;

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
        for (std::size_t i = 0; i < npy_types.size(); ++i)
            if (code == npy_types[i].code) return {static_cast<NpyType>(i), has_order && descr[0] == '>'};
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

void copy_elements(const Header& header, const char* from, NpyArray& array) {
    // Row-major order visits the file with its own strides: an odometer over the index.
    const std::size_t rank = header.shape.size();
    std::vector<std::size_t> stride(rank, 1), index(rank, 0);
    if (header.fortran_order)
        for (std::size_t k = 1; k < rank; ++k) stride[k] = stride[k - 1] * header.shape[k - 1];
    else
        for (std::size_t k = rank; k-- > 1;) stride[k - 1] = stride[k] * header.shape[k];
    const std::size_t width = bytes(header.type);
    std::size_t source = 0;
    for (std::byte* to = array.data.data(); to != array.data.data() + array.data.size(); to += width) {
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

} // namespace

NpyArray parse_npy(std::string_view file, const std::string& what) {
    if (file.size() < npy_magic.size() + 2 || file.substr(0, npy_magic.size()) != npy_magic)
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
                what, python_tuple(header.shape), name(header.type), wanted ? std::to_string(*wanted) : "2^63 or more",
                elements.size()));

    NpyArray array(header.shape, header.type);
    if (header.big_endian || header.fortran_order) copy_elements(header, elements.data(), array);
    else std::copy_n(reinterpret_cast<const std::byte*>(elements.data()), *wanted, array.data.begin());
    if (header.type == NpyType::boolean) // any other byte would be no value of a C++ bool
        for (std::byte& b : array.data) b = b != std::byte{0} ? std::byte{1} : std::byte{0};
    return array;
}

NpyArray read_npy(const std::filesystem::path& path) {
    return parse_npy(read_file(path), "read_npy: '" + path.string() + "'");
}

} // namespace chalkgrad
