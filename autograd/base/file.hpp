// Files that appear whole or not at all, and whole-file reading.
#pragma once // internal

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chalkgrad {

/// The bytes of a file or pipe, up to the first `most`. Throws Error when it is missing, a folder, or unreadable.
std::string read_file(const std::filesystem::path& path, std::size_t most = std::string::npos);

/// Writes `bytes` to `path`, replacing what was there: whole or not at all. They go to a temporary beside the target,
/// which is then renamed; a link is followed, a device or pipe is written straight. Throws Error for a missing or
/// unwritable folder, a folder in the file's place and a full disk, and then leaves everything as it was.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// Throws Error unless `folder` is one that may be written, or can be made. For a check before long work whose results
/// go there; `function` begins the message.
void check_output_folder(std::string_view function, const std::filesystem::path& folder);

/// Several files of one run that appear together: `add` collects, `publish` writes.
class FileSet {
public:
    /// Throws Error when `path` was added before.
    void add(std::filesystem::path path, std::string bytes);

    /// Makes missing folders, writes every file to a temporary beside its target and only then renames them, in the
    /// order of `add`. Throws Error as write_file does; then no temporary and no new folder is left, and unless a
    /// rename itself failed no target has changed.
    void publish() const;

private:
    std::vector<std::pair<std::filesystem::path, std::string>> files_;
};

/// Whether some thread is between the first byte of a temporary and its rename. A program that wants to leave nothing
/// behind when it is interrupted asks this in its signal handler, and waits; async-signal-safe.
bool files_in_flight() noexcept;

} // namespace chalkgrad
