// `chalkgrad trace`: the tape with every value and every adjoint, as a table or JSON.
#include <chalkgrad/experiments/program/commands.hpp>

#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/tape/trace.hpp>
#include <chalkgrad/experiments/present/subject.hpp>
#include <chalkgrad/experiments/report/json.hpp>
#include <chalkgrad/experiments/report/tape_json.hpp>

namespace chalkgrad {

int run_trace(const TraceOptions& options) {
    const TracedComputation subject = find_subject("trace", options.name, options.seed.value_or(0));
    const Tape tape = subject.y.tape();
    keep_all_gradients(tape);
    subject.y.backward(subject.cotangent);
    if (options.json) {
        nlohmann::json document = {{"name", subject.name}, {"title", subject.title}, {"output", subject.y.line()}};
        document["lines"] = to_json(tape);
        fmt::print("{}", json_text(document));
        return 0;
    }
    std::ostringstream table;
    table << tape;
    fmt::print("{}: {}\n\n{}", subject.name, subject.title, table.str());
    return 0;
}

} // namespace chalkgrad
