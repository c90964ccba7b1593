// Commands and their options, by CLI11.
#include <chalkgrad/experiments/program/commands.hpp>

#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chalkgrad/autograd/base/error.hpp>

namespace chalkgrad {

template <class T>
void Command::option(const char* name, T& target, const char* type, const std::string& purpose, Given given) {
    CLI::Option* const option = app_.add_option(name, target, purpose)->type_name(type);
    if (given == Given::always) option->required();
    if (given == Given::with_commas) option->delimiter(',');
    if (given == Given::one_by_one || given == Given::with_commas) option->allow_extra_args(false);
}

#define CHALKGRAD_INSTANTIATE(T) template void Command::option(const char*, T&, const char*, const std::string&, Given);
CHALKGRAD_INSTANTIATE(std::string)
CHALKGRAD_INSTANTIATE(std::vector<std::string>)
CHALKGRAD_INSTANTIATE(std::filesystem::path)
CHALKGRAD_INSTANTIATE(std::optional<std::string>)
CHALKGRAD_INSTANTIATE(std::optional<std::filesystem::path>)
CHALKGRAD_INSTANTIATE(std::optional<double>)
CHALKGRAD_INSTANTIATE(std::optional<std::int64_t>)
CHALKGRAD_INSTANTIATE(std::optional<std::size_t>)
#undef CHALKGRAD_INSTANTIATE

void Command::flag(const char* name, bool& target, const char* purpose) { app_.add_flag(name, target, purpose); }

/// CLI11's own conversion lets signs wrap.
template <class N> void Command::seed(std::optional<N>& target, const char* purpose) {
    const auto read = [&target](const std::string& text) {
        std::vector<std::uint32_t> words;
        try {
            words = Seed::parse(text).words();
        } catch (const Error&) {}
        if (words.empty() || words.size() * 4 > sizeof(N))
            throw Error(fmt::format("--seed: '{}' is no whole number from 0 to 2^{} - 1", text, 8 * sizeof(N)));
        N number = 0;
        for (std::size_t i = words.size(); i-- > 0;) number = number << 32 | words[i];
        target = number;
    };
    app_.add_option_function<std::string>("--seed", read, purpose)->type_name("N");
}
template void Command::seed(std::optional<std::uint64_t>&, const char*);
template void Command::seed(std::optional<uint128>&, const char*);

void Command::excludes(const char* name, const char* other) { app_.get_option(name)->excludes(app_.get_option(other)); }

Command Commands::add(
    const char* name, const std::string& purpose, std::function<int()> run, const std::string& examples) {
    CLI::App* const command = app_.add_subcommand(name, purpose);
    command->footer("Examples:\n" + examples);
    command->callback([this, run = std::move(run)] { call_ = run; });
    return Command(*command);
}

} // namespace chalkgrad
