// The peer: libtorch's eager mode, as its user would write the op. The only file that sees its headers.
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/version.h>

#include "problem.hpp"

namespace bench {
namespace {

using at::Tensor;

Tensor rms_norm(const std::vector<Tensor>& in) {
    const Tensor& x = in[0];
    return x * at::rsqrt(x.square().mean({-1}, true) + 1e-6) * in[1];
}

Tensor layer_norm(const std::vector<Tensor>& in) { return at::layer_norm(in[0], {in[0].size(-1)}, in[1], in[2], 1e-5); }

Tensor silu_mul(const std::vector<Tensor>& in) { return at::silu(in[0]) * in[1]; }

Tensor gpt_oss(const std::vector<Tensor>& in) {
    const Tensor g = at::clamp_max(in[0], 7), u = at::clamp(in[1], -7, 7);
    return g * at::sigmoid(1.702 * g) * (u + 1);
}

Tensor gelu(const std::vector<Tensor>& in) { return at::gelu(in[0]); }

Tensor softmax(const std::vector<Tensor>& in) { return at::softmax(in[0], -1); }

Tensor sinkhorn(const std::vector<Tensor>& in) {
    Tensor m = in[0];
    for (int i = 0; i < 20; ++i) {
        m = m - at::logsumexp(m, {-1}, true);
        m = m - at::logsumexp(m, {-2}, true);
    }
    return at::exp(m);
}

Tensor matmul(const std::vector<Tensor>& in) { return at::matmul(in[0], in[1]); }

Tensor causal_gqa(const std::vector<Tensor>& in) {
    const Tensor &q = in[0], &k = in[1], &v = in[2];
    const std::int64_t group = q.size(0) / k.size(0), length = q.size(1);
    const auto repeat_heads = [&](const Tensor& x) {
        return x.unsqueeze(1).expand({-1, group, -1, -1}).reshape({q.size(0), length, x.size(-1)});
    };
    static const double hidden = -std::numeric_limits<double>::infinity();
    // Built once for each length, as models do.
    static Tensor mask;
    if (!mask.defined() || mask.size(0) != length)
        mask = at::full({length, length}, hidden, q.options().requires_grad(false)).triu(1);
    const Tensor scores = at::matmul(q, repeat_heads(k).transpose(-1, -2)) * (1 / std::sqrt(double(q.size(-1)))) + mask;
    return at::matmul(at::softmax(scores, -1), repeat_heads(v));
}

Tensor tensor(const Numbers& numbers) {
    const std::vector<std::int64_t> shape(numbers.shape.begin(), numbers.shape.end());
    return at::from_blob(const_cast<double*>(numbers.values.data()), shape, at::dtype(at::kDouble)).clone();
}

std::vector<double> numbers(const Tensor& x) {
    const Tensor row_major = x.detach().contiguous();
    return {row_major.data_ptr<double>(), row_major.data_ptr<double>() + row_major.numel()};
}

class Torch final : public Contender {
public:
    explicit Torch(const Problem& problem) : gy_(tensor(problem.cotangent)) {
        setenv("ATEN_CPU_CAPABILITY", "avx2", 0); // like for like; the environment may ask for more
        at::set_num_threads(1);
        for (const Numbers& x : problem.inputs) inputs_.push_back(tensor(x).requires_grad_(true));
        using Function = Tensor (*)(const std::vector<Tensor>&);
        static const std::map<std::string, Function> functions = {{"rms_norm", rms_norm}, {"layer_norm", layer_norm},
            {"silu_mul", silu_mul}, {"gpt_oss", gpt_oss}, {"gelu", gelu}, {"softmax", softmax}, {"sinkhorn", sinkhorn},
            {"matmul", matmul}, {"causal_gqa", causal_gqa}};
        f_ = functions.at(problem.op);
    }
    void round() override {
        step();
        for (Tensor& x : inputs_) x.mutable_grad().reset();
    }
    std::vector<std::vector<double>> results() override {
        std::vector<std::vector<double>> all{numbers(step())};
        for (Tensor& x : inputs_) {
            all.push_back(numbers(x.grad()));
            x.mutable_grad().reset();
        }
        return all;
    }

private:
    Tensor step() {
        const Tensor y = f_(inputs_);
        y.backward(gy_);
        return y;
    }
    Tensor (*f_)(const std::vector<Tensor>&);
    std::vector<Tensor> inputs_;
    Tensor gy_;
};

} // namespace

std::unique_ptr<Contender> torch(const Problem& problem) { return std::make_unique<Torch>(problem); }
std::string torch_version() { return TORCH_VERSION; }

} // namespace bench
