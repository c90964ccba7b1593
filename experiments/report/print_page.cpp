// One run of Chromium without a window, in a folder of its own that is gone afterwards.
#include <chalkgrad/experiments/report/print_page.hpp>

#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/experiments/report/process.hpp>

namespace chalkgrad {
namespace fs = std::filesystem;

std::string print_page(std::string_view html, std::string_view fragment) {
    const TemporaryFolder folder("present");
    const fs::path page = folder.path() / "page.html", pdf = folder.path() / "page.pdf";
    const File nothing = temporary_file("present"), log = temporary_file("present");
    write_file(page, html);
    std::vector<std::string> words = {"chromium", "--headless=new", "--disable-gpu", "--no-first-run",
        "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND",
        "--virtual-time-budget=20000", // fonts and script are done before it prints
        "--no-pdf-header-footer", "--user-data-dir=" + (folder.path() / "profile").string(),
        "--print-to-pdf=" + pdf.string(), fmt::format("file://{}{}", page.string(), fragment)};
    if (geteuid() == 0) words.insert(words.begin() + 1, "--no-sandbox"); // Chromium refuses to start as root with one
    bool found = false;
    for (const char* const program : {"chromium", "chromium-browser", "google-chrome"}) {
        words[0] = program;
        if ((found = run_program(words, {fileno(nothing.get()), fileno(log.get()), fileno(log.get())}).failure == 0))
            break;
    }
    if (!found)
        throw Error(
            "present: slides are printed by Chromium, which is not installed (apt-get install chromium); or open the "
            "page in any "
            "browser and print it: every step is a page");
    std::error_code none;
    if (!fs::exists(pdf, none))
        throw Error(fmt::format("present: Chromium gave no PDF: {}", one_line(content(log.get())).substr(0, 500)));
    std::string bytes = read_file(pdf);
    remove_pdf_dates(bytes);
    return bytes;
}

} // namespace chalkgrad
