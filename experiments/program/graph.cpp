// `chalkgrad graph`: records blocks, reads their graphs, and hands them to the writer of the format.
#include <chalkgrad/experiments/program/commands.hpp>

#include <algorithm>

#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/graph/dot.hpp>
#include <chalkgrad/autograd/graph/topology.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/autograd/tape/numbers.hpp>
#include <chalkgrad/experiments/inspect/inspection.hpp>
#include <chalkgrad/experiments/present/block_jacobian.hpp>
#include <chalkgrad/experiments/report/graph_notes.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/experiments/report/render.hpp>
#include <chalkgrad/nn/layers/catalog.hpp>
#include <chalkgrad/nn/models/build.hpp>
#include <chalkgrad/ops/catalog/expand.hpp>

namespace chalkgrad {
namespace {

struct GraphCommand {
    Command c;
    std::string block = c.option(block, "BLOCK", "TEXT", "A block ('chalkgrad list blocks' shows them)");
    std::optional<Path> config = c.option(config, "--config", "CONFIG.json", "A model's config.json");
    Words side_by_side = c.option(side_by_side, "--side-by-side", "BLOCK ...", "More blocks in the same figure");
    std::string level = c.option(
        level, "--level", "LEVEL", "module, op, or composed: fused ops as what they are made of", {}, {"module"});
    std::optional<std::int64_t> depth = c.option(depth, "--depth", "N", "How many levels of scopes to open, from 1");
    bool backward = c.flag(backward, "--backward", "Add the cotangents, with formulas and saved numbers");
    bool values = c.flag(values, "--values", "Add root mean squares of values and gradients");
    std::string theme = c.option(theme, "--theme", "THEME", "light or dark", {}, {"light"});
    Word format = c.option(format, "--format", "FORMAT", "dot, svg, pdf, png or json; by the file's ending, else dot");
    std::optional<Path> output =
        c.option(output, "-o,--output", "FILE", "The file to write; standard output without it");
};

void say(const std::string& message) { fmt::print(stderr, "graph: {}\n", one_line(message)); }

/// What the command draws: a recorded tape, which of its lines is what, what stands above the picture, and the wiring.
struct Recorded {
    Tape tape;
    std::vector<std::size_t> inputs;
    std::size_t output;
    std::string title, formula;
    Graph graph = graph_of(tape, inputs, {output});
    Topology topology = topology_of(graph);

    void say_contradictions() const {
        std::for_each(topology.contradictions.begin(), topology.contradictions.end(), say);
    }
};

std::string format_of(const GraphCommand& command) {
    std::string format = command.format.value_or("");
    if (format.empty() && command.output) format = command.output->extension().string().erase(0, 1);
    if (format.empty()) format = "dot";
    require_format("graph", format, {"dot", "svg", "pdf", "png", "json"});
    return format;
}

DrawOptions draw_options(const GraphCommand& command) {
    DrawOptions options;
    if (command.level != "module" && command.level != "op" && command.level != "composed")
        throw Error(fmt::format("graph: there is no level '{}'; use module, op or composed", command.level));
    if (command.level != "module") options.level = DrawOptions::Level::op;
    if (command.depth) {
        if (*command.depth < 1)
            throw Error(fmt::format("graph: depth {} is out of range; the least is 1", *command.depth));
        options.depth = static_cast<std::size_t>(*command.depth);
    }
    options.backward = command.backward;
    return options;
}

DotOptions dot_options(const GraphCommand& command) {
    if (command.theme != "light" && command.theme != "dark")
        throw Error(fmt::format("graph: there is no theme '{}'; use light or dark", command.theme));
    DotOptions options;
    options.theme = command.theme == "dark" ? DotOptions::Theme::dark : DotOptions::Theme::light;
    return options;
}

/// Fused ops taken apart, the lines of interest followed.
Recorded composed(const Recorded& recorded) {
    const Expanded parts = expand(recorded.tape);
    const auto inputs = mapped(recorded.inputs, [&](std::size_t line) { return parts.line[line]; });
    return {parts.tape, inputs, parts.line[recorded.output], recorded.title, recorded.formula};
}

/// The block's Jacobian as a formula, once the numbers agree with it.
std::optional<BlockJacobian> checked_jacobian(const Recorded& recorded) {
    constexpr std::size_t most = 256; // numbers in x: the check takes a sweep for each of several parts
    const auto& [tape, inputs, output, title, formula, graph, topology] = recorded;
    if (tape.shapes_only() || graph.residual_adds.empty() || inputs.size() != 1 ||
        graph.nodes[inputs[0]].shape.size() > most)
        return {};
    const BlockJacobian jacobian = block_jacobian(tape, graph, topology, inputs[0], output);
    if (jacobian.holds) return jacobian;
    say(fmt::format("{} is off by {:.1e} of the largest entry, so it is not shown", jacobian.formula, jacobian.error));
    return {};
}

/// The drawing of a block, coarser than asked for if it has more boxes than a picture can hold.
Drawing drawing_of(const Recorded& recorded, const GraphCommand& command) {
    constexpr std::size_t most_boxes = 1200;
    recorded.say_contradictions();
    DrawOptions options = draw_options(command);
    std::string under = recorded.formula, coarser;
    if (command.backward) {
        options.formulas = backward_notes(recorded.tape);
        if (const auto jacobian = checked_jacobian(recorded))
            under += fmt::format("\n{}   (the numbers agree)", jacobian->formula);
    }
    if (command.values && recorded.tape.shapes_only())
        throw Error("graph: --values needs numbers, and a whole model is recorded without; draw one block");
    if (command.values) {
        keep_all_gradients(recorded.tape);
        const Var<double> y = line_at(recorded.tape, recorded.output);
        y.backward(Generator(0).standard_normal(y.shape()));
        options.notes = value_notes(recorded.tape);
    }
    Drawing drawing = draw_at_most(recorded.graph, options, most_boxes, coarser);
    if (!coarser.empty()) say(coarser);
    drawing.title = recorded.title;
    drawing.subtitle = under;
    return drawing;
}

std::vector<Recorded> record(const GraphCommand& command) {
    Words blocks = command.side_by_side;
    if (!command.block.empty()) blocks.insert(blocks.begin(), command.block);
    std::vector<Recorded> list;
    for (const std::string& name : blocks) {
        const nn::BlockEntry& block = nn::find_block(name);
        const Tape tape;
        const nn::Recorded recorded = block.record(tape, 0);
        list.push_back({tape, recorded.input_lines(), recorded.output.line(), block.name, block.formula});
    }
    if (command.config) { // one block of each kind that the model has, at full size and without numbers
        const nn::ModelDescription model = inspect_config("graph", *command.config).model;
        const Tape tape(Tape::Mode::shapes_only);
        const nn::Recorded recorded = nn::record_blocks(tape, model);
        list.push_back(
            {tape, recorded.input_lines(), recorded.output.line(), model.model_type, std::string(model.residual())});
    }
    if (list.empty())
        throw Error("graph: give a block ('chalkgrad list blocks' shows them), or a model's config.json with --config");
    if (command.level == "composed")
        for (Recorded& recorded : list) recorded = composed(recorded);
    return list;
}

std::string json_of(const Recorded& recorded) {
    recorded.say_contradictions();
    nlohmann::json json = to_json(recorded.graph, recorded.topology);
    if (const auto jacobian = checked_jacobian(recorded))
        json["topology"]["jacobian"] = {
            {"formula", jacobian->formula}, {"relative_error", json_number(jacobian->error)}};
    return json_text(json);
}

std::string dot_of(const std::vector<Recorded>& list, const GraphCommand& command) {
    const auto draw = [&](const Recorded& recorded) { return drawing_of(recorded, command); };
    return to_dot(mapped(list, draw), dot_options(command));
}

/// The picture, at the coarsest level if Graphviz does not come to an end with what was asked for.
std::string picture_of(const std::vector<Recorded>& list, const GraphCommand& command, const std::string& format) {
    constexpr double patience = 30; // seconds
    if (auto picture = render_dot_within(dot_of(list, command), format, patience)) return *picture;
    say(fmt::format("Graphviz was not done after {} seconds; it shows the outermost scopes instead", patience));
    GraphCommand coarse = command;
    coarse.level = "module";
    coarse.depth = 1;
    if (auto picture = render_dot_within(dot_of(list, coarse), format, patience)) return *picture;
    throw Error(fmt::format(
        "graph: Graphviz was not done after {} seconds with the outermost scopes alone; use --format dot or json",
        patience));
}

int run_graph(const GraphCommand& command) {
    const std::string format = format_of(command);
    draw_options(command); // refuses what is wrong before any work
    dot_options(command);
    if (command.output && std::filesystem::is_directory(*command.output))
        throw Error(fmt::format("graph: '{}' is a folder; name a file in it", command.output->string()));
    const std::vector<Recorded> list = record(command);
    if (format == "json" && list.size() > 1) throw Error("graph: JSON holds one graph; leave --side-by-side out");

    const std::string bytes = format == "json"  ? json_of(list[0])
                              : format == "dot" ? dot_of(list, command)
                                                : picture_of(list, command, format);
    if (command.output) write_file(*command.output, bytes);
    else if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size())
        throw Error("graph: standard output cannot be written");
    return 0;
}

} // namespace

void add_graph(Commands& commands) {
    commands.add("graph", "Draw a block: where its norms sit, and the residual line", run_graph,
        "  chalkgrad graph pre                                   DOT on standard output\n"
        "  chalkgrad graph peri --format svg -o peri.svg\n"
        "  chalkgrad graph pre --side-by-side post peri -o three.pdf\n"
        "  chalkgrad graph post --level op --backward -o post.svg\n"
        "  chalkgrad graph post --format json\n"
        "  chalkgrad graph --config config.json -o model.svg     one block of each kind that the model has");
}

} // namespace chalkgrad
