// A trained network and the same one untrained, two texts, and what experiments measure of them.
#pragma once

#include <chalkgrad/experiments/course/course.hpp>
#include <chalkgrad/nn/checkpoint/checkpoint.hpp>

namespace chalkgrad {

using Ids = Array<std::int64_t>;

/// stories260K, compiled in: Llama's architecture, 5 layers of width 64, 8 heads, trained on children's stories. Its own each time:
/// what is changed in one stays out of the others.
nn::Checkpoint trained_model();
/// With numbers drawn from each parameter's usual start.
nn::Checkpoint untrained_model(Generator rng);
/// The trained model, its blocks under other options and the same weights.
nn::Checkpoint with_blocks(const std::function<void(nn::BlockOptions&)>& change);

/// The first 256 tokens that the trained model writes by itself.
Ids own_story();
/// 83 tokens of a story that it did not write.
Ids other_story();
Ids first_of(const Ids& ids, std::size_t count);
/// What follows each token, as cross_entropy() takes it: nothing after the last.
Ids next_of(const Ids& ids);

/// The mean of −log p(next token), in nats.
double loss(const Array<double>& scores, const Ids& ids);
double loss(const nn::Checkpoint& model, const Ids& ids);

/// Gives the parameters whose names end so other numbers: for_each(model, "layers.0.ffn.w_down", …).
void for_each(const nn::Checkpoint& model, std::string_view end, const std::function<void(Array<double>&)>& change);

/// A number of the checkpoint's reference.json: "/loss/text2".
double trained_reference(const std::string& pointer);
/// Reports a number judged against that one.
void judge_trained(Report& report, std::string name, double value, const std::string& pointer, double tolerance = 1e-9);
/// The loss of `other_story` in a changed model: a number where reference.json has one of that name, else measured.
double report_changed(
    Report& report, const std::string& name, const nn::Checkpoint& model, const std::string& claim = "");

} // namespace chalkgrad
