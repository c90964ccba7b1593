// The program around a user's file: it runs the registered checks and leaves their reports in a file.
#include <chalkgrad/experiments/program/gradcheck_file.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/file.hpp>
#include <chalkgrad/experiments/program/compile.hpp>
#include <chalkgrad/experiments/report/process.hpp>

namespace chalkgrad {
namespace {

constexpr const char* around = R"(#include <chalkgrad/autograd/check/testing.hpp>
#include <cstdlib>
#include <fstream>

int main(int, char** argument) {
    chalkgrad::GradcheckOptions options;
    options.seed = std::strtoull(argument[2], nullptr, 10);
    options.tolerance = std::strtod(argument[3], nullptr);
    std::ofstream out(argument[1]);
    out << chalkgrad::check_registered(options);
    return out.flush() ? 0 : 1;
}
)";

} // namespace

nlohmann::json check_file(const std::string& file, const GradcheckOptions& options) {
    if (!std::filesystem::is_regular_file(file)) throw Error(fmt::format("gradcheck: there is no file {}", file));
    const TemporaryFolder folder("gradcheck");
    const auto main = folder.path() / "main.cpp", program = folder.path() / "check",
               result = folder.path() / "reports.json";
    write_file(main, around);
    compile_program({file, main}, program);
    if (run_and_wait({program.string(), result.string(), fmt::format("{}", options.seed),
            fmt::format("{}", options.tolerance)}) != 0)
        throw Error(fmt::format("gradcheck: the program made of {} left no reports", file));
    const nlohmann::json reports = nlohmann::json::parse(read_file(result));
    if (reports.empty())
        throw Error(fmt::format(
            "gradcheck: {} registers no check; write CHALKGRAD_GRADCHECK(name, f, point, ...) at the end of it", file));
    for (const nlohmann::json& report : reports)
        if (report.contains("error"))
            throw Error(fmt::format("gradcheck: the check {} of {} ended with: {}", report["name"].get<std::string>(),
                file, report["error"].get<std::string>()));
    return reports;
}

} // namespace chalkgrad
