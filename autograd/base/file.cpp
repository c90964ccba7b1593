// Whole-or-nothing files: write beside the target, then rename.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalkgrad {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const char* function, const fs::path& path, const std::string& why, const char* way_out) {
    throw Error(fmt::format("{}: '{}' {}; {}", function, path.string(), why, way_out));
}

std::string reason(int error) { return std::generic_category().message(error); }

/// Writes all and closes; 0 or the errno of what failed.
int write_and_close(std::FILE* file, std::string_view bytes) {
    int error = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() ? 0 : errno;
    if (std::fclose(file) != 0 && error == 0) error = errno;
    return error;
}

std::atomic<int> in_flight{0};
static_assert(std::atomic<int>::is_always_lock_free);

struct InFlight {
    InFlight() { ++in_flight; }
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;
    ~InFlight() { --in_flight; }
};

/// The finished text of one file under a name of its own, beside the target; gone unless it was put in place.
class Temporary {
public:
    Temporary(const fs::path& path, std::string_view bytes) : target_(path) {
        std::error_code ignored;
        if (fs::is_symlink(path, ignored)) target_ = fs::weakly_canonical(path, ignored);
        if (fs::is_directory(target_, ignored)) refuse("write_file", path, "is a folder", "name a file inside it");
        if (!target_.has_filename()) refuse("write_file", path, "is no file name", "name a file");
        const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
        if (!fs::is_directory(folder, ignored))
            refuse("write_file", path, "lies in a folder that does not exist", "create it first or choose another");

        // A short name of our own: the target's may already fill NAME_MAX.
        static std::atomic<unsigned> counter{0};
        std::FILE* file = nullptr;
        do {
            name_ = folder / fmt::format(".chalkgrad-{}-{}", ::getpid(), counter++);
            file = std::fopen(name_.c_str(), "wxe");
        } while (file == nullptr && errno == EEXIST);
        if (file == nullptr) {
            name_.clear();
            refuse("write_file", path, fmt::format("lies in a folder that cannot be written ({})", reason(errno)),
                "choose a folder you may write to");
        }
        int error = write_and_close(file, bytes);
        struct stat old {};
        if (error == 0 && ::stat(target_.c_str(), &old) == 0 && ::chmod(name_.c_str(), old.st_mode & 0777) != 0)
            error = errno;
        if (error != 0) {
            remove();
            refuse("write_file", path, fmt::format("cannot be written ({})", reason(error)),
                "free some space or choose another folder");
        }
    }
    Temporary(Temporary&& other) noexcept
        : target_(std::move(other.target_)), name_(std::exchange(other.name_, fs::path())) {}
    Temporary& operator=(Temporary&&) = delete;
    ~Temporary() { remove(); }

    void put_in_place() {
        if (::rename(name_.c_str(), target_.c_str()) != 0)
            refuse("write_file", target_, fmt::format("cannot be put in place ({})", reason(errno)),
                "choose another name or folder");
        name_.clear();
    }

private:
    void remove() {
        if (!name_.empty()) ::unlink(name_.c_str());
        name_.clear();
    }

    fs::path target_, name_;
};

/// Folders made for this run, which go again unless they are kept.
class NewFolders {
public:
    NewFolders() = default;
    NewFolders(const NewFolders&) = delete;
    NewFolders& operator=(const NewFolders&) = delete;
    ~NewFolders() {
        for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) ::rmdir(folder->c_str());
    }

    void make(const fs::path& folder) {
        std::error_code error;
        if (folder.empty() || fs::exists(folder, error)) return; // what is no folder is refused by the file in it
        make(folder.parent_path());
        if (fs::create_directory(folder, error)) made_.push_back(folder);
        else if (error)
            refuse("write_file", folder, fmt::format("cannot be made a folder ({})", error.message()),
                "choose a folder you may write to");
    }
    void keep() { made_.clear(); }

private:
    std::vector<fs::path> made_;
};

/// A device or a pipe, such as /dev/stdout: to rename over it would destroy it.
bool is_stream(const fs::path& path) {
    std::error_code ignored;
    return fs::is_other(fs::status(path, ignored));
}

} // namespace

std::string read_file(const fs::path& path, std::size_t most) {
    const auto refuse_reading = [&](const char* what) {
        refuse("read_file", path, fmt::format("cannot be {} ({})", what, reason(errno)),
            "check the path and its permissions");
    };
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
    if (file == nullptr) refuse_reading("opened");
    struct stat info {};
    if (::fstat(::fileno(file.get()), &info) == 0 && S_ISDIR(info.st_mode))
        refuse("read_file", path, "is a folder", "name a file inside it");

    // One byte more than its size, so that a file ends with the first read; a pipe has no size and grows as it comes.
    const std::size_t guess = S_ISREG(info.st_mode) ? static_cast<std::size_t>(info.st_size) + 1 : 65536;
    std::string bytes;
    std::size_t used = 0, size = std::min(guess, most);
    for (;; size = std::min(2 * size, most)) {
        bytes.resize(size);
        used += std::fread(bytes.data() + used, 1, size - used, file.get());
        if (std::ferror(file.get()) != 0) refuse_reading("read");
        if (used < size || size == most) break;
    }
    bytes.resize(used);
    return bytes;
}

void write_file(const fs::path& path, std::string_view bytes) {
    if (!is_stream(path)) {
        const InFlight mark;
        return Temporary(path, bytes).put_in_place();
    }
    std::FILE* const file = std::fopen(path.c_str(), "we");
    const int error = file == nullptr ? errno : write_and_close(file, bytes);
    if (error != 0)
        refuse("write_file", path, fmt::format("cannot be written ({})", reason(error)), "choose another file");
}

void check_output_folder(std::string_view function, const fs::path& folder) {
    const auto refuse_folder = [&](const std::string& why) {
        throw Error(fmt::format("{}: '{}' {}; choose a folder you may write to", function, folder.string(), why));
    };
    if (folder.empty()) refuse_folder("is no folder name");
    std::error_code error;
    fs::path nearest = fs::absolute(folder, error).lexically_normal();
    while (nearest.has_relative_path() && fs::symlink_status(nearest, error).type() == fs::file_type::not_found)
        nearest = nearest.parent_path();
    if (!fs::is_directory(nearest, error)) {
        const bool itself = fs::exists(folder, error);
        refuse_folder(
            itself ? "is a file, not a folder" : fmt::format("cannot be made: '{}' is no folder", nearest.string()));
    }
    if (::access(nearest.c_str(), W_OK | X_OK) != 0)
        refuse_folder(fmt::format("cannot be written: no permission in '{}'", nearest.string()));
}

void FileSet::add(fs::path path, std::string bytes) {
    for (const auto& [known, text] : files_)
        if (known.lexically_normal() == path.lexically_normal())
            refuse("write_file", path, "would be written twice in one run", "give the files different names");
    files_.emplace_back(std::move(path), std::move(bytes));
}

void FileSet::publish() const {
    const InFlight mark;
    NewFolders folders;
    std::vector<Temporary> temporaries;
    temporaries.reserve(files_.size());
    for (const auto& [path, bytes] : files_) {
        if (is_stream(path)) refuse("write_file", path, "is a device or a pipe", "name an ordinary file");
        folders.make(path.parent_path());
        temporaries.emplace_back(path, bytes);
    }
    for (Temporary& file : temporaries) file.put_in_place();
    folders.keep();
}

bool files_in_flight() noexcept { return in_flight.load() != 0; }

} // namespace chalkgrad
