// The strict entry points: a test for finite numbers, then the op on a tape of its own.
#include <chalkgrad/ops/course.hpp>

#include <cmath>

#include <fmt/format.h>

#include <chalkgrad/autograd/half.hpp>
#include <chalkgrad/ops/rms_norm.hpp>

namespace chalkgrad::course {
namespace {

template <class T>
void require_finite_values(const char* op, const char* name, const Array<T>& x) {
    for (std::size_t i = 0; i < x.size(); ++i)
        if (const double value = static_cast<double>(x.data()[i]); !std::isfinite(value))
            throw Error(fmt::format("{}: {} holds {} at place {} of its {} numbers; the course's listing takes finite numbers only",
                                    op, name, value, i, x.size()));
}

}  // namespace

template <class T>
Array<T> rms_norm(const Array<T>& x, const Array<T>& gamma, double eps) {
    require_finite_values("rms_norm", "x", x);
    require_finite_values("rms_norm", "gamma", gamma);
    const Tape tape;
    return chalkgrad::rms_norm(tape.constant(x), tape.constant(gamma), eps).value();
}
template <class T>
Array<T> rms_norm(const Array<T>& x, double eps) {
    require_finite_values("rms_norm", "x", x);
    const Tape tape;
    return chalkgrad::rms_norm(tape.constant(x), {}, eps).value();
}
Array<std::int64_t> rms_norm(const Array<std::int64_t>&, double) {
    throw Error("rms_norm: x holds int64; the course's listing takes floating-point numbers only: convert them to double first");
}

template <class T>
Array<T> swiglu_act(const Array<T>& gate, const Array<T>& up, const SwigluOptions& options) {
    require_finite_values("swiglu_act", "gate", gate);
    require_finite_values("swiglu_act", "up", up);
    const Tape tape;
    return chalkgrad::swiglu_act(tape.constant(gate), tape.constant(up), options).value();
}

template <class T>
Array<T> gpt_oss_swiglu(const Array<T>& gate, const Array<T>& up, double alpha, double limit) {
    require_finite_values("gpt_oss_swiglu", "gate", gate);
    require_finite_values("gpt_oss_swiglu", "up", up);
    if (!(limit > 0 && std::isfinite(limit)))
        throw Error(fmt::format("gpt_oss_swiglu: limit is {}; it must be finite and positive", limit));
    if (!std::isfinite(alpha)) throw Error(fmt::format("gpt_oss_swiglu: alpha is {}; it must be finite", alpha));
    return swiglu_act(gate, up, {.alpha = alpha, .gate_limit = limit, .up_limit = limit, .shift_up = 1});
}

#define CHALKGRAD_INSTANTIATE(T)                                                            \
    template Array<T> rms_norm(const Array<T>&, const Array<T>&, double);                   \
    template Array<T> rms_norm(const Array<T>&, double);                                    \
    template Array<T> swiglu_act(const Array<T>&, const Array<T>&, const SwigluOptions&);   \
    template Array<T> gpt_oss_swiglu(const Array<T>&, const Array<T>&, double, double);
CHALKGRAD_INSTANTIATE(double)
CHALKGRAD_INSTANTIATE(float)
CHALKGRAD_INSTANTIATE(half)
CHALKGRAD_INSTANTIATE(bfloat16)

}  // namespace chalkgrad::course
