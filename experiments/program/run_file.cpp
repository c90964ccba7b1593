// `chalkgrad run my_experiment.cpp`: a single file becomes a program, which is kept until something it is made of changes.
#include <chalkgrad/experiments/program/commands.hpp>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <regex>
#include <sstream>

#include <fmt/ranges.h>
#include <unistd.h>

#include <chalkgrad/experiments/report/process.hpp>

namespace chalkgrad {
namespace fs = std::filesystem;
namespace {

fs::path cache_folder() {
    const auto folder_in = [](const char* variable, const char* inside) {
        const char* const value = std::getenv(variable);
        return value != nullptr && *value == '/' ? fs::path(value) / inside : fs::path();
    };
    fs::path cache = folder_in("XDG_CACHE_HOME", "chalkgrad");
    if (cache.empty()) cache = folder_in("HOME", ".cache/chalkgrad");
    std::error_code failure;
    fs::create_directories(cache, failure);
    if (cache.empty() || failure || access(cache.c_str(), W_OK) != 0)
        throw Error(
            fmt::format("run: there is no folder{} to keep programs in; set XDG_CACHE_HOME to one that can be written",
                cache.empty() ? "" : " " + cache.string()));
    return cache;
}

std::string fingerprint(const std::string& text) { return fmt::format("{:016x}", std::hash<std::string>()(text)); }

/// The files that the compiler read, as its rule for make lists them.
std::vector<fs::path> prerequisites(const std::string& rule) {
    std::vector<fs::path> files;
    std::string word;
    for (std::size_t i = std::min(rule.find(": "), rule.size() - 1) + 1; i <= rule.size(); ++i) {
        const char c = i < rule.size() ? rule[i] : ' ', next = i + 1 < rule.size() ? rule[i + 1] : '\n';
        if (c == '\\' && next != '\n') word += rule[++i]; // a blank, for example
        else if (c != ' ' && c != '\n' && c != '\\') word += c;
        else if (!word.empty()) files.emplace_back(std::exchange(word, {}));
    }
    return files;
}

/// Whether what was kept is newer than all it is made of, beside the source, which it is named by.
bool is_fresh(const fs::path& kept, const fs::path& source) {
    std::error_code none;
    const auto made = fs::last_write_time(kept, none);
    const fs::path rule = kept.string() + ".d";
    if (none || !fs::exists(rule)) return false;
    for (const fs::path& file : prerequisites(read_file(rule)))
        if (const auto changed = fs::last_write_time(file, none); none || (changed >= made && file != source))
            return false;
    return true;
}

/// Drops what is a month old, and what something newer has replaced unless somebody may be using it just now.
void tidy(const fs::path& cache, const std::string& source) {
    const auto now = fs::file_time_type::clock::now();
    std::error_code ignored;
    for (const auto& each : fs::directory_iterator(cache, ignored)) {
        const bool replaced = each.path().filename().string().starts_with(source + "-");
        if (now - fs::last_write_time(each, ignored) > std::chrono::hours(replaced ? 1 : 24 * 30))
            fs::remove(each, ignored);
    }
}

/// The first error in the compiler's words, at the line of the user's file that it comes from, and where all of them are.
Error first_error(const std::string& says, const fs::path& file, const std::string& text, const fs::path& all) {
    const std::regex error(R"(^.*?:\d+:\d+: (?:fatal )?error: (.*)$)"),
        own("^" + std::regex_replace(file.string(), std::regex(R"([.^$|()\[\]{}*+?\\])"), R"(\$&)") + R"(:(\d+):.*)");
    std::istringstream lines(says);
    std::size_t number = 0; // the line of the user's file that was named last
    std::smatch match;
    for (std::string line; std::getline(lines, line);) {
        if (std::regex_match(line, match, own)) number = std::stoul(match[1]);
        if (!std::regex_match(line, match, error)) continue;
        std::string code;
        std::istringstream of_file(text);
        for (std::size_t i = 0; i < number; ++i) std::getline(of_file, code);
        fmt::print(stderr, "{}{} {}\n", file.string(), number == 0 ? ":" : fmt::format(":{}:", number),
            painted("error: " + match[1].str(), Colour::red, stderr));
        if (number > 0) fmt::print(stderr, "{:5} | {}\n", number, code);
        write_file(all, says);
        return Error(
            fmt::format("run: {} does not compile; all that the compiler says is in {}", file.string(), all.string()));
    }
    fmt::print(stderr, "{}", says); // of the linker, for example
    return Error(fmt::format("run: no program can be made of {}; the reason stands above", file.string()));
}

/// The file that `command` makes of a source file: the one that is kept, as long as all that it is made of stays as it is.
fs::path made_of(const fs::path& source, const Words& command, const Words& libraries, const std::string& suffix) {
    const fs::path cache = cache_folder();
    const std::string text = read_file(source),
                      name = fingerprint(fmt::format("{}\n{}\n{}", fs::absolute(source).string(),
                          fmt::join(command, "\n"), fmt::join(libraries, "\n")));
    const fs::path kept = cache / fmt::format("{}-{}{}", name, fingerprint(text), suffix);
    if (is_fresh(kept, source)) return kept;
    const auto start = fs::file_time_type::clock::now();
    const std::string made = fmt::format("{}.{}", kept.string(), getpid()), rule = made + ".d";
    Words words = command;
    words.insert(words.end(), {source.string(), "-MD", "-MF", rule, "-o", made});
    words.insert(words.end(), libraries.begin(), libraries.end());
    const Ended ended = run_program(words);
    if (!ended.failure.empty()) throw Error(fmt::format("run: {} cannot be started: {}", words[0], ended.failure));
    if (ended.status != 0) {
        fs::remove(rule);
        throw first_error(ended.err, source, text, kept.string() + ".txt");
    }
    fmt::print(stderr, "{}", ended.err); // warnings
    std::string depends = read_file(rule);
    for (const std::string& library : libraries)
        if (fs::exists(library)) depends += " " + library;
    fs::remove(rule);
    write_file(kept.string() + ".d", depends);
    fs::last_write_time(made, start); // what changes from here on is newer
    fs::rename(made, kept);
    tidy(cache, name);
    return kept;
}

/// The headers of chalkgrad that a file includes, precompiled: what the compiler must be told to use them.
Words precompiled(const std::string& text, const Words& compile) {
    const std::regex include(
        R"(^\s*#\s*include\s*<chalkgrad/(chalkgrad|nn|experiments|gradcheck|testing)\.hpp>)", std::regex::multiline);
    std::string all;
    for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it)
        all += fmt::format("#include <chalkgrad/{}.hpp>\n", (*it)[1].str());
    if (all.empty()) return {};
    const fs::path header = cache_folder() / (fingerprint(all) + ".hpp");
    if (!fs::exists(header)) write_file(header, all);
    Words command = compile;
    command.insert(command.end(), {"-x", "c++-header"});
    fs::path made = made_of(header, command, {}, ".hpp.gch");
    made.replace_extension();
    if (!fs::exists(made)) write_file(made, all);
    return {"-include", made.string()};
}

} // namespace

bool is_cpp_file(const std::string& word) {
    const fs::path extension = fs::path(word).extension();
    return extension == ".cpp" || extension == ".cc" || extension == ".cxx";
}

void run_file(const fs::path& file, const Words& arguments) {
    if (!fs::is_regular_file(file)) throw Error(fmt::format("run: there is no file {}", file.string()));
    fs::path program;
    {
        Progress progress;
        progress.say("compiling " + file.filename().string());
        CompilerCall call = compiler_call();
        const Words headers = precompiled(read_file(file), call.compile);
        call.compile.insert(call.compile.end(), headers.begin(), headers.end());
        program = made_of(file, call.compile, call.libraries, "");
    }
    std::string name = file.string();
    std::vector<char*> words{name.data()};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    execv(program.c_str(), words.data());
    throw Error(fmt::format("run: {} cannot be started: {}", program.string(), std::strerror(errno)));
}

} // namespace chalkgrad
