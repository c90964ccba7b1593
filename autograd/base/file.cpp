// Whole-or-nothing files: write beside the target, then rename.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
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

struct Descriptor {
    int fd;
    explicit Descriptor(int fd) : fd(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { close(); }

    int close() { return fd < 0 || ::close(std::exchange(fd, -1)) == 0 ? 0 : errno; }
};

/// 0 or the errno of what failed.
int write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return 0;
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
        Descriptor file(-1);
        do {
            name_ = folder / fmt::format(".chalkgrad-{}-{}", ::getpid(), counter++);
            file.fd = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        } while (file.fd < 0 && errno == EEXIST);
        if (file.fd < 0) {
            name_.clear();
            refuse("write_file", path, fmt::format("lies in a folder that cannot be written ({})", reason(errno)),
                "choose a folder you may write to");
        }
        struct stat old {};
        int error = write_all(file.fd, bytes);
        if (error == 0 && ::stat(target_.c_str(), &old) == 0 && ::fchmod(file.fd, old.st_mode & 0777) != 0)
            error = errno;
        if (const int closing = file.close(); error == 0) error = closing;
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
    const fs::file_status status = fs::status(path, ignored);
    return fs::is_other(status);
}

void write_stream(const fs::path& path, std::string_view bytes) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    int error = file.fd < 0 ? errno : write_all(file.fd, bytes);
    if (const int closing = file.close(); error == 0) error = closing;
    if (error != 0)
        refuse("write_file", path, fmt::format("cannot be written ({})", reason(error)), "choose another file");
}

} // namespace

std::string read_file(const fs::path& path, std::size_t most) {
    const char* const way_out = "check the path and its permissions";
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.fd < 0) refuse("read_file", path, fmt::format("cannot be opened ({})", reason(errno)), way_out);
    struct stat info {};
    if (::fstat(file.fd, &info) == 0 && S_ISDIR(info.st_mode))
        refuse("read_file", path, "is a folder", "name a file inside it");

    // One byte more than its size, so that a file ends with the second read; a pipe has no size and grows as it comes.
    const std::size_t guess = S_ISREG(info.st_mode) ? static_cast<std::size_t>(info.st_size) + 1 : 65536;
    std::string bytes(std::min(guess, most), '\0');
    std::size_t used = 0;
    while (used < most) {
        if (used == bytes.size()) bytes.resize(std::min(2 * used, most));
        const ssize_t n = ::read(file.fd, bytes.data() + used, bytes.size() - used);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) refuse("read_file", path, fmt::format("cannot be read ({})", reason(errno)), way_out);
        if (n == 0) break;
        used += static_cast<std::size_t>(n);
    }
    bytes.resize(used);
    return bytes;
}

void write_file(const fs::path& path, std::string_view bytes) {
    if (is_stream(path)) return write_stream(path, bytes);
    const InFlight mark;
    Temporary(path, bytes).put_in_place();
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
