// `chalkgrad graph`: records blocks, reads their graphs, and hands them to the writer of the format.
#include <chalkgrad/experiments/program/graph.hpp>

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/dot.hpp>
#include <chalkgrad/autograd/file.hpp>
#include <chalkgrad/autograd/suggest.hpp>
#include <chalkgrad/autograd/topology.hpp>
#include <chalkgrad/experiments/graph_json.hpp>
#include <chalkgrad/experiments/json.hpp>
#include <chalkgrad/experiments/picture.hpp>
#include <chalkgrad/experiments/program/terminal.hpp>
#include <chalkgrad/experiments/render.hpp>
#include <chalkgrad/nn/residual.hpp>

namespace chalkgrad {
namespace {

/// What the command draws: a recorded tape, which of its leaves are data, and what stands above the picture.
struct Recorded {
    Tape tape;
    std::vector<std::size_t> inputs;
    std::string title, formula;
};

Recorded record_block(const std::string& name, Tape::Mode mode) {
    std::vector<std::string> names;
    for (const nn::Placement p : nn::placements()) {
        names.emplace_back(nn::name(p));
        if (name != nn::name(p)) continue;
        const Tape tape(mode);
        const Var<double> x = tape.leaf<double>({16, 64}, nullptr, true, "h");
        nn::stand_in_block(p, x);
        return {tape, {x.line()}, nn::name(p), nn::formula(p)};
    }
    throw Error(fmt::format("graph: there is no block '{}'{}; there are {}", name, did_you_mean(name, names), fmt::join(names, ", ")));
}

void say(const std::string& message) { fmt::print(stderr, "{} {}\n", painted("graph:", Colour::dim, stderr), one_line(message)); }

struct Format {
    std::string name;
    explicit Format(const GraphCommand& command) : name(command.format.value_or("")) {
        if (name.empty() && command.output) name = command.output->extension().string().erase(0, 1);
        if (name.empty()) name = "dot";
        require_format("graph", name, {"dot", "svg", "pdf", "png", "json"});
    }
};

DrawOptions draw_options(const GraphCommand& command) {
    DrawOptions options;
    if (command.level != "module" && command.level != "op" && command.level != "composed")
        throw Error(fmt::format("graph: there is no level '{}'; use module, op or composed", command.level));
    if (command.level != "module") options.level = DrawOptions::Level::op;
    if (command.depth) {
        if (*command.depth < 1) throw Error(fmt::format("graph: depth {} is out of range; the least is 1", *command.depth));
        options.depth = static_cast<std::size_t>(*command.depth);
    }
    options.backward = command.backward;
    return options;
}

DotOptions dot_options(const GraphCommand& command) {
    if (command.theme != "light" && command.theme != "dark") throw Error(fmt::format("graph: there is no theme '{}'; use light or dark", command.theme));
    DotOptions options;
    options.theme = command.theme == "dark" ? DotOptions::Theme::dark : DotOptions::Theme::light;
    return options;
}

} // namespace

int run_graph(const GraphCommand& command) {
    const Format format(command);
    const DrawOptions options = draw_options(command);
    const DotOptions look = dot_options(command);
    if (command.output && std::filesystem::is_directory(*command.output))
        throw Error(fmt::format("graph: '{}' is a folder; name a file in it", command.output->string()));

    std::vector<std::string> blocks = command.side_by_side;
    if (!command.block.empty()) blocks.insert(blocks.begin(), command.block);
    if (blocks.empty()) throw Error("graph: give a block; 'chalkgrad list blocks' shows them");
    if (format.name == "json" && blocks.size() > 1) throw Error("graph: JSON holds one graph; leave --side-by-side out");

    std::vector<Drawing> drawings;
    std::string bytes;
    for (const std::string& block : blocks) {
        const Recorded recorded = record_block(block, Tape::Mode::shapes_only);
        const Graph graph = graph_of(recorded.tape, recorded.inputs);
        const Topology topology = topology_of(graph);
        for (const std::string& contradiction : topology.contradictions) say(contradiction);
        if (format.name == "json") {
            bytes = json_text(to_json(graph, topology));
            break;
        }
        drawings.push_back(draw(graph, options));
        drawings.back().title = recorded.title;
        drawings.back().subtitle = recorded.formula;
    }
    if (bytes.empty()) {
        bytes = to_dot(drawings, look);
        if (format.name != "dot") bytes = render_dot(bytes, format.name);
    }
    if (command.output)
        write_file(*command.output, bytes);
    else if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size())
        throw Error("graph: standard output cannot be written");
    return 0;
}

} // namespace chalkgrad
