// Reading .safetensors: eight bytes of header length, the header as JSON, the numbers.
#include <chalkgrad/nn/checkpoint/safetensors.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/kernel/convert.hpp>

namespace chalkgrad::nn {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "the numbers of a .safetensors file are little-endian");

constexpr std::uint64_t longest_header = 100'000'000; // as Hugging Face's own reader
constexpr int deepest_header = 4;

[[noreturn]] void refuse_file(const fs::path& path, const std::string& what) {
    throw Error(fmt::format("checkpoint: '{}' {}", path.string(), what));
}

struct FileType {
    std::string_view name;
    std::size_t bytes;
};
/// All that the format knows; only the first four are read as numbers.
constexpr FileType file_types[] = {{"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8}, {"I32", 4}, {"I16", 2},
    {"I8", 1}, {"U64", 8}, {"U32", 4}, {"U16", 2}, {"U8", 1}, {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1},
    {"F8_E8M0", 1}};

std::size_t bytes_of_type(std::string_view type) {
    const auto same = [&](const FileType& known) { return known.name == type; };
    const auto* const found = std::find_if(std::begin(file_types), std::end(file_types), same);
    return found == std::end(file_types) ? 0 : found->bytes;
}

/// One object of few levels, without a name that is there twice.
json parse_object(std::string_view text, const fs::path& path, const char* part) {
    std::vector<std::set<std::string>> names;
    const auto look = [&](int depth, json::parse_event_t event, json& value) {
        if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start) {
            if (depth >= deepest_header)
                refuse_file(path, fmt::format("has {} nested too deeply; it is no checkpoint", part));
            names.resize(static_cast<std::size_t>(depth) + 1);
            names.back().clear();
        } else if (event == json::parse_event_t::key &&
                   !names[static_cast<std::size_t>(depth) - 1].insert(value).second) {
            refuse_file(path, fmt::format("names {} twice; the file is damaged", value.dump()));
        }
        return true;
    };
    json object;
    try {
        object = json::parse(text, look);
    } catch (const json::exception&) {
        refuse_file(path, fmt::format("has {} that is no JSON; the file is damaged, or no checkpoint", part));
    }
    if (!object.is_object()) refuse_file(path, fmt::format("has {} that is no JSON object", part));
    return object;
}

struct MappedFile {
    const std::byte* data = nullptr;
    std::size_t size = 0;

    explicit MappedFile(const fs::path& path) {
        // Without waiting: a pipe in the file's place is refused below.
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        const auto reason = [] { return std::generic_category().message(errno); };
        if (file < 0) refuse_file(path, fmt::format("cannot be opened ({})", reason()));
        struct stat info {};
        const bool regular = ::fstat(file, &info) == 0 && S_ISREG(info.st_mode);
        if (regular) size = static_cast<std::size_t>(info.st_size);
        void* const mapped = size == 0 ? nullptr : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
        const std::string why = mapped == MAP_FAILED ? reason() : "";
        ::close(file);
        if (!regular) refuse_file(path, "is no regular file");
        if (mapped == MAP_FAILED) refuse_file(path, fmt::format("cannot be mapped into memory ({})", why));
        data = static_cast<const std::byte*>(mapped);
    }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile() {
        if (data != nullptr) ::munmap(const_cast<std::byte*>(data), size);
    }
};

/// A list of whole numbers from 0.
std::vector<std::size_t> whole_numbers(const json& list) {
    std::vector<std::size_t> numbers;
    if (!list.is_array()) return {};
    for (const json& one : list) {
        if (!one.is_number_unsigned()) return {};
        numbers.push_back(one.get<std::size_t>());
    }
    return numbers;
}

struct TensorPlace {
    std::size_t begin, end;
    FileTensor tensor;
};

/// What the header says of one tensor, held against the `room` bytes of numbers.
TensorPlace place_of(const std::string& name, const json& entry, std::size_t room, const fs::path& path) {
    const auto refuse = [&](const std::string& what) {
        refuse_file(path, fmt::format("'{}' {}", name, what).insert(0, "says of "));
    };
    if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets"))
        refuse("no dtype, shape and data_offsets; the header is damaged");
    if (!entry["dtype"].is_string() || bytes_of_type(entry["dtype"].get<std::string>()) == 0)
        refuse(fmt::format("the type {}, which is not known", entry["dtype"].dump()));
    const std::string type = entry["dtype"];
    const std::vector<std::size_t> extents = whole_numbers(entry["shape"]),
                                   offsets = whole_numbers(entry["data_offsets"]);
    if (!entry["shape"].is_array() || extents.size() != entry["shape"].size())
        refuse("a shape that is no list of whole numbers");
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > room)
        refuse(
            fmt::format("data_offsets {}; they must be [begin, end] within the {} bytes that the file has for numbers",
                entry["data_offsets"].dump(), room));
    Shape shape;
    try {
        shape = Shape(extents);
    } catch (const Error& error) { refuse(fmt::format("an impossible shape: {}", error.what())); }
    const std::size_t stored = offsets[1] - offsets[0], width = bytes_of_type(type);
    if (stored % width != 0 || stored / width != shape.size())
        refuse(fmt::format("shape {} of {} and {} bytes; they do not fit", to_string(shape), type, stored));
    return {offsets[0], offsets[1], {name, type, shape, path.filename().string(), nullptr, nullptr}};
}

/// Name of the file that holds each tensor.
std::map<std::string, std::string> read_index(const fs::path& path) {
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) refuse_file(path, "is no regular file");
    const json index = parse_object(read_file(path, longest_header), path, "an index");
    if (!index.contains("weight_map") || !index["weight_map"].is_object())
        refuse_file(path, "has no weight_map; it is no index of shards");
    std::map<std::string, std::string> files;
    for (const auto& [tensor, file] : index["weight_map"].items()) {
        const std::string name = file.is_string() ? file.get<std::string>() : "";
        if (name.empty() || name.find('/') != std::string::npos || name.find('\0') != std::string::npos ||
            name[0] == '.')
            refuse_file(path,
                fmt::format("names {} as the file of '{}'; it must be a file of the same folder", file.dump(), tensor));
        files[tensor] = name;
    }
    return files;
}

} // namespace

bool FileTensor::is_real() const { return type == "F64" || type == "F32" || type == "F16" || type == "BF16"; }
std::size_t FileTensor::bytes() const { return shape.size() * bytes_of_type(type); }

void FileTensor::read(std::size_t first, std::size_t count, double* to) const {
    const auto in_pieces = [&]<class T>(const T&, const auto& widen) {
        T piece[512]; // aligned; a file's numbers need not be
        for (std::size_t done = 0; done < count;) {
            const std::size_t n = std::min(count - done, std::size(piece));
            std::memcpy(piece, data + (first + done) * sizeof(T), n * sizeof(T));
            widen(n, static_cast<const T*>(piece), to + done);
            done += n;
        }
    };
    if (type == "F64") std::memcpy(to, data + first * sizeof(double), count * sizeof(double));
    else if (type == "F32") in_pieces(float(), [](std::size_t n, const float* x, double* y) { std::copy_n(x, n, y); });
    else if (type == "F16") in_pieces(half(), [](std::size_t n, const half* x, double* y) { convert(n, x, y); });
    else if (type == "BF16")
        in_pieces(bfloat16(), [](std::size_t n, const bfloat16* x, double* y) { convert(n, x, y); });
    else
        throw Error(
            fmt::format("checkpoint: '{}' of {} is stored as {}; F64, F32, F16 and BF16 are read", name, file, type));
}

std::vector<FileTensor> read_safetensors(const fs::path& path) {
    const auto mapped = std::make_shared<const MappedFile>(path);
    return read_safetensors({mapped->data, mapped->size}, path, mapped);
}

std::vector<FileTensor> read_safetensors(
    std::span<const std::byte> bytes, const fs::path& path, const std::shared_ptr<const void>& mapping) {
    std::uint64_t length = 0;
    if (bytes.size() < sizeof(length)) refuse_file(path, fmt::format("has {} bytes; it is cut short", bytes.size()));
    std::memcpy(&length, bytes.data(), sizeof(length));
    const std::size_t rest = bytes.size() - sizeof(length);
    if (length > rest || length > longest_header)
        refuse_file(path,
            fmt::format("promises a header of {} bytes and has {} bytes more; it is cut short, or no .safetensors",
                length, rest));
    const std::byte* const header = bytes.data() + sizeof(length);
    const json object = parse_object({reinterpret_cast<const char*>(header), length}, path, "a header");

    std::vector<TensorPlace> places;
    for (const auto& [name, entry] : object.items())
        if (name != "__metadata__") places.push_back(place_of(name, entry, rest - length, path));
    std::vector<const TensorPlace*> by_offset;
    for (const TensorPlace& place : places) by_offset.push_back(&place);
    std::sort(by_offset.begin(), by_offset.end(), [](const TensorPlace* a, const TensorPlace* b) {
        return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
    });
    std::size_t end = 0;
    for (const TensorPlace* place : by_offset) {
        if (place->begin != end)
            refuse_file(path,
                fmt::format("puts '{}' at byte {} of its numbers, where the one before it ends at {}; bytes belong to "
                            "two tensors or to none",
                    place->tensor.name, place->begin, end));
        end = place->end;
    }
    if (end != rest - length)
        refuse_file(path, fmt::format("has {} bytes of numbers, and its tensors end at {}", rest - length, end));

    std::vector<FileTensor> tensors;
    for (TensorPlace& place : places) {
        place.tensor.data = header + length + place.begin;
        place.tensor.mapping = mapping;
        tensors.push_back(std::move(place.tensor));
    }
    return tensors;
}

std::vector<FileTensor> read_safetensors_folder(const fs::path& folder) {
    const fs::path single = folder / "model.safetensors", index = folder / "model.safetensors.index.json";
    std::error_code ignored;
    if (fs::exists(single, ignored)) return read_safetensors(single);
    if (!fs::exists(index, ignored))
        refuse_file(folder,
            "has no model.safetensors and no model.safetensors.index.json; pickled weights (pytorch_model.bin) "
            "are not read, save them with save_pretrained(…, safe_serialization=True)");
    std::map<std::string, std::string> files = read_index(index);
    std::set<std::string> shards;
    for (const auto& [tensor, file] : files) shards.insert(file);
    std::vector<FileTensor> tensors;
    for (const std::string& shard : shards)
        for (FileTensor& tensor : read_safetensors(folder / shard)) {
            const auto said = files.find(tensor.name);
            if (said == files.end() || said->second != shard)
                refuse_file(folder / shard, fmt::format("holds '{}', and the index {}", tensor.name,
                                                said == files.end() ? "does not name it (or it is in two shards)"
                                                                    : fmt::format("says that {} does", said->second)));
            files.erase(said);
            tensors.push_back(std::move(tensor));
        }
    if (!files.empty())
        refuse_file(index, fmt::format("says that '{}' is in {}, which does not hold it", files.begin()->first,
                               files.begin()->second));
    return tensors;
}

} // namespace chalkgrad::nn
