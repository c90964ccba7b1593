// chalkgrad through its public API: recorded on the tape, swept, rewound.
#include <functional>
#include <map>

#include <chalkgrad/ops/attention/sdpa.hpp>
#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/gate/swiglu_act.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/layer_norm.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/reduce/softmax.hpp>
#include <chalkgrad/ops/streams/sinkhorn_log.hpp>

#include "problem.hpp"

namespace bench {
namespace {

using namespace chalkgrad;
using Vars = std::vector<Var<double>>;

Array<double> array(const Numbers& numbers) {
    Array<double> result(Array<double>::shape_type(numbers.shape.begin(), numbers.shape.end()));
    std::copy(numbers.values.begin(), numbers.values.end(), result.data());
    return result;
}

std::vector<double> copy(const Array<double>& x) { return {x.data(), x.data() + x.size()}; }

const std::map<std::string, std::function<Var<double>(const Vars&)>> functions = {
    {"rms_norm", [](const Vars& in) { return rms_norm(in[0], in[1], 1e-6); }},
    {"layer_norm", [](const Vars& in) { return layer_norm(in[0], in[1], in[2], 1e-5); }},
    {"silu_mul", [](const Vars& in) { return swiglu_act(in[0], in[1]); }},
    {"gpt_oss", [](const Vars& in) { return swiglu_act(in[0], in[1], gpt_oss_gate); }},
    {"gelu", [](const Vars& in) { return gelu_erf(in[0]); }},
    {"softmax", [](const Vars& in) { return softmax(in[0]); }},
    {"sinkhorn", [](const Vars& in) { return sinkhorn_log(in[0], {.iterations = 20}); }},
    {"matmul", [](const Vars& in) { return matmul(in[0], in[1]); }},
    {"causal_gqa", [](const Vars& in) { return sdpa(in[0], in[1], in[2], {.causal = true}); }}};

class Ours final : public Contender {
public:
    explicit Ours(const Problem& problem) : f_(functions.at(problem.op)), gy_(array(problem.cotangent)) {
        for (const Numbers& x : problem.inputs) inputs_.push_back(tape_.variable(array(x)));
        mark_ = tape_.mark();
    }
    void round() override {
        f_(inputs_).backward(gy_);
        finish();
    }
    std::vector<std::vector<double>> results() override {
        const Var<double> y = f_(inputs_);
        y.backward(gy_);
        std::vector<std::vector<double>> all{copy(y.value())};
        for (const auto& x : inputs_) all.push_back(copy(x.grad()));
        finish();
        return all;
    }

private:
    void finish() {
        tape_.zero_grad();
        tape_.rewind(mark_);
    }
    const std::function<Var<double>(const Vars&)>& f_;
    Tape tape_;
    Vars inputs_;
    Tape::Mark mark_;
    Array<double> gy_;
};

} // namespace

std::unique_ptr<Contender> ours(const Problem& problem) { return std::make_unique<Ours>(problem); }

} // namespace bench
