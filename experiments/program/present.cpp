// `chalkgrad present`: records, builds the page, prints it if asked to, and writes the files together.
#include <chalkgrad/experiments/program/present.hpp>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/experiments/present/present_page.hpp>
#include <chalkgrad/experiments/report/print_page.hpp>

namespace chalkgrad {

int run_present(const PresentOptions& options) {
    if (!options.output && !options.frames)
        throw Error("present: say where the page goes: -o PAGE.html, or --frames FILE.pdf");
    const auto katex = read_katex(katex_folder());
    if (!katex)
        fmt::print(stderr,
            "present: KaTeX is not in {}, so formulas stand as TeX; install Debian's libjs-katex and fonts-katex\n",
            katex_folder().string());
    const std::string page = present_page(find_subject("present", options.name, options.seed.value_or(0)), katex);
    FileSet files;
    if (options.output) files.add(*options.output, page);
    if (options.frames) files.add(*options.frames, print_page(page, "#frames"));
    files.publish();
    return 0;
}

} // namespace chalkgrad
