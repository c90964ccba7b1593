// One run of Chromium without a window, in a folder of its own that is gone afterwards.
#include <chalkgrad/experiments/print_page.hpp>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chalkgrad/autograd/error.hpp>
#include <chalkgrad/autograd/file.hpp>
#include <chalkgrad/experiments/picture.hpp>

extern char** environ;

namespace chalkgrad {
namespace {

namespace fs = std::filesystem;

struct OwnFolder {
    fs::path path;
    OwnFolder() {
        std::string name = (fs::temp_directory_path() / "chalkgrad-print-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr)
            throw Error("present: no temporary folder; free some space in " + fs::temp_directory_path().string());
        path = name;
    }
    OwnFolder(const OwnFolder&) = delete;
    OwnFolder& operator=(const OwnFolder&) = delete;
    ~OwnFolder() {
        std::error_code none;
        fs::remove_all(path, none);
    }
};

/// Runs it with what it says in `log`; false when there is no such program.
bool run(std::vector<std::string> words, const std::string& log) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t child = 0;
    const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) return false;
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return true;
}

}  // namespace

std::string print_page(std::string_view html, std::string_view fragment) {
    const OwnFolder folder;
    const fs::path page = folder.path / "page.html", pdf = folder.path / "page.pdf", log = folder.path / "log";
    write_file(page, html);
    std::vector<std::string> words = {"chromium",
                                      "--headless=new",
                                      "--disable-gpu",
                                      "--no-first-run",
                                      "--disable-dev-shm-usage",
                                      "--host-resolver-rules=MAP * ~NOTFOUND",
                                      "--virtual-time-budget=20000",  // fonts and script are done before it prints
                                      "--no-pdf-header-footer",
                                      "--user-data-dir=" + (folder.path / "profile").string(),
                                      "--print-to-pdf=" + pdf.string(),
                                      fmt::format("file://{}{}", page.string(), fragment)};
    if (geteuid() == 0) words.insert(words.begin() + 1, "--no-sandbox");  // Chromium refuses to start as root with one
    bool found = false;
    for (const char* const program : {"chromium", "chromium-browser", "google-chrome"}) {
        words[0] = program;
        if ((found = run(words, log.string()))) break;
    }
    if (!found)
        throw Error(
            "present: slides are printed by Chromium, which is not installed (apt-get install chromium); or open the "
            "page in any "
            "browser and print it: every step is a page");
    std::error_code none;
    if (!fs::exists(pdf, none))
        throw Error(fmt::format("present: Chromium gave no PDF: {}", one_line(read_file(log)).substr(0, 500)));
    std::string bytes = read_file(pdf);
    remove_pdf_date(bytes);
    // The date of change too: two runs give equal bytes.
    constexpr std::string_view mark = "/ModDate (D:", day = "20000101000000";
    if (const std::size_t at = bytes.find(mark); at != bytes.npos) bytes.replace(at + mark.size(), day.size(), day);
    return bytes;
}

}  // namespace chalkgrad
