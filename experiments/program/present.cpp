// `chalkgrad present`: records, and writes the page.
#include <chalkgrad/experiments/program/commands.hpp>

#include <fmt/format.h>

#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/experiments/present/present_page.hpp>

namespace chalkgrad {

int run_present(const PresentOptions& options) {
    if (options.output.empty()) throw Error("present: say where the page goes: -o PAGE.html");
    const auto katex = read_katex(katex_folder());
    if (!katex)
        fmt::print(stderr,
            "present: KaTeX is not in {}, so formulas stand as TeX; install Debian's libjs-katex and fonts-katex\n",
            katex_folder().string());
    write_file(options.output, present_page(find_subject("present", options.name, options.seed.value_or(0)), katex));
    return 0;
}

} // namespace chalkgrad
