// The compiler's command line for users' files: where headers and libraries lie beside this program.
#include <chalkgrad/experiments/program/commands.hpp>

#include <cstdlib>
#include <sstream>

#include <nlohmann/json.hpp>

#include <chalkgrad/experiments/report/process.hpp>

namespace chalkgrad {
namespace fs = std::filesystem;
namespace {

struct Place {
    fs::path headers, library;
};

/// Beside the program in a build tree; else ../include and ../lib of an installed copy.
Place find_chalkgrad() {
    const fs::path program = fs::read_symlink("/proc/self/exe"), folder = program.parent_path(),
                   prefix = folder.parent_path();
    const auto complete = [](const Place& place) {
        return fs::exists(place.headers / "chalkgrad/chalkgrad.hpp") && fs::exists(place.library);
    };
    std::vector<Place> places;
    for (const char* const library : {"libchalkgrad.a", "libchalkgrad.so"}) {
        places.push_back({folder / "include", folder / library});
        for (const char* const lib : {"lib", "lib64", CHALKGRAD_LIBRARY_FOLDER})
            places.push_back({prefix / "include", prefix / lib / library});
    }
    for (const Place& place : places)
        if (complete(place)) return place;
    throw Error(
        fmt::format("no headers and library of chalkgrad lie beside {} nor under {}; install chalkgrad, or run the "
                    "program of a build tree",
            program.string(), prefix.string()));
}

/// xtensor under g++ needs a way of matching templates that other compilers have anyway, and do not know as an option.
constexpr const char* gnu_only = "-fno-new-ttp-matching";

bool understands(std::vector<std::string> compiler, const char* option) {
    for (const char* const word : {option, "-fsyntax-only", "-x", "c++", "/dev/null"}) compiler.emplace_back(word);
    const Ended ended = run_program(compiler);
    return ended.failure.empty() && ended.status == 0;
}

std::vector<std::string> words(const char* text, char separator) {
    std::vector<std::string> list;
    std::istringstream in(text);
    for (std::string word; std::getline(in, word, separator);)
        if (!word.empty()) list.push_back(word);
    return list;
}

} // namespace

CompilerCall compiler_call() {
    const Place place = find_chalkgrad();
    const char* const chosen = std::getenv("CXX");
    CompilerCall call;
    call.compile = words(chosen != nullptr && *chosen != '\0' ? chosen : "c++", ' ');
    const bool is_gnu = understands(call.compile, gnu_only);
    for (const char* const flag : {"-std=c++20", "-O1", "-Wall"}) call.compile.emplace_back(flag);
    if (is_gnu) call.compile.emplace_back(gnu_only);
    for (const std::string& flag : words(CHALKGRAD_COMPILE_FLAGS, '|')) call.compile.push_back(flag);
    call.compile.push_back("-I" + place.headers.string());
    const fs::path experiments =
        place.library.parent_path() / ("libchalkgrad-experiments" + place.library.extension().string());
    if (fs::exists(experiments)) call.libraries.push_back(experiments.string());
    call.libraries.push_back(place.library.string());
    if (place.library.extension() == ".so")
        call.libraries.push_back("-Wl,-rpath," + place.library.parent_path().string());
    for (const std::string& library : words(CHALKGRAD_LINK_LIBRARIES, '|')) call.libraries.push_back(library);
    return call;
}

nlohmann::json answer_of(const char* who, const std::string& file, const char* main,
    const std::function<void(const fs::path&)>& run, const std::vector<std::string>& flags) {
    if (!fs::is_regular_file(file)) throw Error(fmt::format("{}: there is no file {}", who, file));
    const TemporaryFolder folder(who);
    const fs::path main_file = folder.path() / "main.cpp", answer = folder.path() / "answer.json";
    write_file(main_file, main);
    CompilerCall call = compiler_call();
    Words& command = call.compile;
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {file, main_file.string()});
    command.insert(command.end(), call.libraries.begin(), call.libraries.end());
    command.insert(command.end(), {"-o", (folder.path() / "check").string()});
    if (run_and_wait(command) != 0)
        throw Error(fmt::format("{} does not compile; what the compiler says stands above", file));
    run(folder.path());
    return fs::exists(answer) ? nlohmann::json::parse(read_file(answer)) : nlohmann::json();
}

} // namespace chalkgrad
