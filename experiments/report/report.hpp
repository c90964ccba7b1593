// What an experiment found: numbers with their verdicts, tables, plots and graphs, and the files made of them.
#pragma once

#include <deque>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <chalkgrad/autograd/numpy/pcg64.hpp>
#include <chalkgrad/autograd/tape/tape.hpp>
#include <chalkgrad/experiments/report/plot.hpp>
#include <chalkgrad/experiments/report/table.hpp>
#include <nlohmann/json_fwd.hpp>

namespace chalkgrad {

/// How far a value may be from the expected one: relative to its magnitude, or absolutely.
struct Tolerance {
    double bound = 0;
    bool is_relative = true;

    static constexpr Tolerance relative(double bound) { return {bound, true}; }
    static constexpr Tolerance absolute(double bound) { return {bound, false}; }
    /// Half a unit of the last decimal: what a number printed with so many decimals promises.
    static constexpr Tolerance decimals(int n) {
        double bound = 0.5;
        for (; n > 0; --n) bound /= 10;
        return {bound, false};
    }
    static constexpr Tolerance exact() { return {0, false}; }
};

/// Collects the findings of one experiment. Names of tables, plots, maps and graphs become file names (letters, digits,
/// '_', '-', '.') and are used once; anything else throws Error.
class Report {
public:
    struct Number {
        std::string name;
        double value, expected;
        Tolerance tolerance;
        std::string source;
        bool holds;

        /// "expected 2 within 0.001 of it (course §6)"
        std::string expectation() const;
    };
    struct Measured {
        std::string name;
        double value;
        std::string claim;
    };
    struct NotReproduced {
        std::string name, why;
    };
    struct File {
        std::string name, bytes;
    };

    /// `own_seed`: the run draws from a seed of the caller's, not from the one the expected values were made with.
    explicit Report(std::string experiment, bool own_seed = false);

    /// The tape that an experiment shows, recorded without the rest of its run; empty where it shows none.
    static Var<double> tape_of(const std::string& experiment, const std::function<void(Report&)>& run);

    /// A number that course or paper states, at `source` ("course §6", "arXiv:2002.04745 fig. 3"): it passes when it is
    /// within the tolerance. Infinities pass when equal, NaN when NaN is expected.
    void number(std::string name, double value, double expected, Tolerance tolerance, std::string source);

    /// The same for a number that depends on random draws: under a seed of the caller's it is measured, not judged.
    void seeded_number(std::string name, double value, double expected, Tolerance tolerance, std::string source);

    /// A number with the claim it speaks for; not judged.
    void measured(std::string name, double value, std::string claim);

    /// Something the source states and this run cannot show, e.g. a training result.
    void not_reproduced(std::string name, std::string why);

    /// A table or plot may be filled after it was handed over: the reference is good as long as the report.
    Table& table(Table table);
    Plot& plot(Plot plot);
    void heat_map(HeatMap map);
    /// Numbers for other programs, as EXPERIMENT-NAME.npy.
    void array(std::string name, Array<double> values);
    void graph(std::string name, std::string dot);

    /// How the findings came about: the seed, if it is the caller's, and the command line that gives them again.
    void made_with(std::optional<uint128> seed, std::string command);
    const std::string& command() const { return command_; }

    /// One report of runs of one experiment that differ in their seed: what was measured becomes a mean with its deviation and
    /// range, the curves of a plot get bands; numbers that one run fails are failed; the rest is that of the first run. Throws Error
    /// for runs that do not measure the same.
    static Report over(std::vector<Report> runs);

    /// A tape small enough to read, from its leaves to y: what `chalkgrad trace` and `present` show of this experiment.
    void tape(Var<double> y);
    const Var<double>& tape() const { return tape_; }

    const std::string& experiment() const { return experiment_; }
    const std::vector<Number>& numbers() const { return numbers_; }
    const std::vector<Measured>& measured() const { return measured_; }
    const std::vector<NotReproduced>& not_reproduced() const { return not_reproduced_; }
    const std::deque<Table>& tables() const { return tables_; }

    /// Whether every number passed.
    bool holds() const;

    /// {"name", "version", "seed", "command", "numbers", "measured", "not_reproduced"}, the seed null where it is the experiment's own, as `chalkgrad run --json` prints them.
    nlohmann::json to_json() const;

    /// Every file of the report, drawn now on all processors: EXPERIMENT.json and EXPERIMENT.csv with the numbers; for
    /// each table .csv and .json; for each array .npy; for each plot and heat map .csv, .json, .svg, .pdf and .png; for each graph .dot,
    /// .svg, .pdf and .png, all named EXPERIMENT-NAME. Equal findings give equal bytes. Throws Error when a picture
    /// cannot be drawn.
    std::vector<File> files() const;

private:
    struct Graph {
        std::string name, dot;
    };
    struct NamedArray {
        std::string name;
        Array<double> values;
    };

    template <class Items, class Item> Item& keep(Items& items, Item item); ///< whose name is a file's, used once

    std::string experiment_;
    bool own_seed_;
    std::vector<Number> numbers_;
    std::vector<Measured> measured_;
    std::vector<NotReproduced> not_reproduced_;
    std::deque<Table> tables_;
    std::deque<Plot> plots_;
    std::vector<HeatMap> maps_;
    std::vector<NamedArray> arrays_;
    std::vector<Graph> graphs_;
    std::vector<std::string> names_;
    std::optional<uint128> seed_;
    std::string command_;
    Var<double> tape_;
    bool ends_at_tape_ = false;
};

/// One line a number: its verdict, value and what was expected; then what was measured and what is not reproduced.
std::ostream& operator<<(std::ostream& out, const Report& report);

} // namespace chalkgrad
