// The trained network that is compiled in, and the reference values that come with it.
#include <chalkgrad/experiments/course/trained.hpp>

#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include <chalkgrad/experiments/report/embedded.hpp>

namespace chalkgrad {
namespace {

std::string_view trained_file(const std::string& name) {
    return embedded("tests/data/checkpoints/stories260K/" + name);
}

const nlohmann::json& trained_references() {
    static const nlohmann::json all = nlohmann::json::parse(trained_file("reference.json"));
    return all;
}

Ids ids_at(const char* pointer) {
    const auto list = trained_references().at(nlohmann::json::json_pointer(pointer)).get<std::vector<std::int64_t>>();
    return xt::adapt(list);
}

} // namespace

nn::Checkpoint trained_model() {
    return nn::load_checkpoint(
        std::string(trained_file("config.json")), std::as_bytes(std::span(trained_file("model.safetensors"))));
}

nn::Checkpoint untrained_model(Generator rng) {
    nn::Checkpoint model = trained_model();
    nn::initialize(model.model, rng);
    return model;
}

nn::Checkpoint with_blocks(const std::function<void(nn::BlockOptions&)>& change) {
    nn::Checkpoint model = trained_model();
    for (nn::Block& block : model.blocks()) {
        nn::BlockOptions options = block.options;
        change(options);
        block = nn::rebuilt(block, options);
    }
    return model;
}

Ids own_story() { return first_of(ids_at("/greedy_from_bos"), 256); }
Ids other_story() { return ids_at("/encode/ids"); }
Ids first_of(const Ids& ids, std::size_t count) {
    return xt::adapt(std::vector<std::int64_t>(ids.begin(), ids.begin() + std::ptrdiff_t(count)));
}
Ids next_of(const Ids& ids) {
    Ids next = ids;
    std::rotate(next.begin(), next.begin() + 1, next.end());
    next(ids.size() - 1) = -100;
    return next;
}

double loss(const Array<double>& scores, const Ids& ids) {
    return cross_entropy(Tape().constant(scores), next_of(ids)).item();
}

double loss(const nn::Checkpoint& model, const Ids& ids) { return loss(model.logits<double>(ids), ids); }

void for_each(const nn::Checkpoint& model, std::string_view end, const std::function<void(Array<double>&)>& change) {
    for (const auto& [name, parameter] : nn::parameters_of(model.model))
        if (name.ends_with(end)) {
            Array<double> numbers = parameter.value();
            change(numbers);
            parameter.assign(numbers);
        }
}

double trained_reference(const std::string& pointer) {
    return trained_references().at(nlohmann::json::json_pointer(pointer));
}

void judge_trained(Report& report, std::string name, double value, const std::string& pointer, double tolerance) {
    report.number(
        std::move(name), value, trained_reference(pointer), absolute(tolerance), "PyTorch and NumPy in float64");
}

double report_changed(Report& report, const std::string& name, const nn::Checkpoint& model, const std::string& claim) {
    const double value = loss(model, other_story());
    if (trained_references()["loss_text2_changed"].contains(name))
        judge_trained(report, name + ": loss", value, "/loss_text2_changed/" + name);
    else report.measured(name + ": loss", value, claim);
    return value;
}

} // namespace chalkgrad
