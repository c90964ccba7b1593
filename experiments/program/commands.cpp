// Commands and their options, by CLI11.
#include <chalkgrad/experiments/program/commands.hpp>
#include <chalkgrad/experiments/report/seeds.hpp>

#include <CLI/CLI.hpp>

namespace chalkgrad {

template <class T>
T Command::option(
    T& member, const char* name, const char* type, const std::string& purpose, Given given, const T& without) {
    CLI::Option* const option = app_.add_option(name, member, purpose)->type_name(type);
    if (given == Given::always) option->required();
    if (given == Given::with_commas) option->delimiter(',');
    if (given == Given::one_by_one || given == Given::with_commas) option->allow_extra_args(false);
    return without;
}

#define CHALKGRAD_INSTANTIATE(T) \
    template T Command::option(T&, const char*, const char*, const std::string&, Given, const T&);
CHALKGRAD_INSTANTIATE(std::string)
CHALKGRAD_INSTANTIATE(Words)
CHALKGRAD_INSTANTIATE(Path)
CHALKGRAD_INSTANTIATE(Word)
CHALKGRAD_INSTANTIATE(std::optional<Path>)
CHALKGRAD_INSTANTIATE(double)
CHALKGRAD_INSTANTIATE(std::int64_t)
CHALKGRAD_INSTANTIATE(std::optional<double>)
CHALKGRAD_INSTANTIATE(std::optional<std::int64_t>)
CHALKGRAD_INSTANTIATE(std::optional<std::size_t>)
#undef CHALKGRAD_INSTANTIATE

bool Command::flag(bool& member, const char* name, const char* purpose) {
    app_.add_flag(name, member, purpose);
    return false;
}

/// CLI11's own conversion lets signs wrap.
template <class N> std::optional<N> Command::seed(std::optional<N>& member, const char* purpose) {
    const auto read = [&member](const std::string& text) { member = static_cast<N>(parse_seed(text, 8 * sizeof(N))); };
    app_.add_option_function<std::string>("--seed", read, purpose)->type_name("N");
    return {};
}
template std::optional<std::uint64_t> Command::seed(std::optional<std::uint64_t>&, const char*);
template std::optional<uint128> Command::seed(std::optional<uint128>&, const char*);

void Command::exclude(const char* name, const char* other) { app_.get_option(name)->excludes(app_.get_option(other)); }

Command Commands::add(const char* name, const std::string& purpose, const std::string& examples,
    const std::function<std::function<int()>(const Command&)>& declare) {
    CLI::App& command = *app_.add_subcommand(name, purpose);
    command.footer("Examples:\n" + examples);
    command.callback([this, run = declare(Command(command))] { call_ = run; });
    return Command(command);
}

} // namespace chalkgrad
