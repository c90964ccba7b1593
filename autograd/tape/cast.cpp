// Conversions between dtypes, and the op that stops a gradient.
#include <chalkgrad/autograd/tape/cast.hpp>

#include <algorithm>
#include <cstring>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/kernel/convert.hpp>
#include <chalkgrad/autograd/tape/apply.hpp>

namespace chalkgrad {
namespace {

template <class From, class To>
inline constexpr bool through_convert = (std::is_same_v<From, half> || std::is_same_v<From, bfloat16>) !=
                                            (std::is_same_v<To, half> ||
                                                std::is_same_v<To, bfloat16>)&&!std::is_same_v<From, long double> &&
                                        !std::is_same_v<To, long double>;

template <class From, class To> void convert_array(const void* x, void* y, std::size_t n) {
    const From* from = static_cast<const From*>(x);
    To* to = static_cast<To*>(y);
    if constexpr (std::is_same_v<From, To>) {
        if (n != 0) std::memcpy(y, x, n * sizeof(To));
    } else if constexpr (through_convert<From, To>) {
        convert(n, from, to);
    } else if constexpr (std::is_arithmetic_v<From> && std::is_arithmetic_v<To>) {
        for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
    } else { // half to bfloat16 and back: by way of float, which holds both exactly
        Scratch<float> wide(n);
        convert(n, from, wide.data());
        convert(n, wide.data(), to);
    }
}

/// f(type tag) for the dtype: a null pointer of the scalar.
template <class F> void with_scalar(Dtype dtype, F&& f) {
    switch (dtype) {
        case Dtype::f64:
            return f(static_cast<double*>(nullptr));
        case Dtype::f32:
            return f(static_cast<float*>(nullptr));
        case Dtype::f80:
            return f(static_cast<long double*>(nullptr));
        case Dtype::f16:
            return f(static_cast<half*>(nullptr));
        case Dtype::bf16:
            return f(static_cast<bfloat16*>(nullptr));
        case Dtype::dual:
            throw Error("cast: dual numbers are made by gradcheck and jvp, not by a cast");
    }
}

bool storage_only(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16; }

class Cast final : public Op, public DtypeOp {
public:
    const char* name() const override { return "cast"; }
    const char* input_name(std::size_t) const override { return "x"; }
    Shape shape(Shapes in) const override { return in[0]; }
    const DtypeOp* conversion() const override { return this; }
    void convert(Dtype from, const void* x, Dtype to, void* y, std::size_t n) const override {
        with_scalar(from, [&](auto* source) {
            with_scalar(to, [&](auto* target) {
                using From = std::remove_pointer_t<decltype(source)>;
                using To = std::remove_pointer_t<decltype(target)>;
                if constexpr (!((std::is_same_v<From, long double> && !std::is_arithmetic_v<To>) ||
                                  (std::is_same_v<To, long double> && !std::is_arithmetic_v<From>)))
                    convert_array<From, To>(x, y, n);
            });
        });
    }
    // The tape runs convert() instead.
#define CHALKGRAD_UNUSED(T)                            \
    void forward(Ins<T>, Out<T>, T*) const override {} \
    void vjp(Ins<T>, In<T>, In<T>, const T*, Outs<T>) const override {}
    CHALKGRAD_FOR_WORK_SCALARS(CHALKGRAD_UNUSED)
#undef CHALKGRAD_UNUSED
    Op* copy_to(void* place) const override { return ::new (place) Cast; }
    std::size_t bytes() const override { return sizeof(Cast); }
    bool trivially_destructible() const override { return true; }
};

struct StopGradient {
    static constexpr const char* name = "stop_gradient";
    static constexpr const char* inputs[] = {"x"};
    static constexpr bool blocks_gradient = true;
    Shape shape(Shapes in) const { return in[0]; }
    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        for (std::size_t i = 0; i < y.size(); ++i) {
            if constexpr (std::is_same_v<T, Dual<double>>) y[i] = in[0][i].v;
            else y[i] = in[0][i];
        }
    }
    template <class T> void vjp(Ins<T>, In<T>, In<T>, const T*, Outs<T> gx) const {
        std::fill_n(gx[0].data, gx[0].size(), T(0));
    }
};

} // namespace

template <class U, class T> Var<U> cast(const Var<T>& x) {
    static const Cast op;
    const detail::Index i = x.checked("cast");
    if ((dtype_of<T> == Dtype::f80 && storage_only(dtype_of<U>)) ||
        (dtype_of<U> == Dtype::f80 && storage_only(dtype_of<T>)))
        throw Error(std::string("cast: from ") + name(dtype_of<T>) + " to " + name(dtype_of<U>) +
                    " would round twice; cast to double in between");
    const detail::Index line = x.state()->add_op(op, true, dtype_of<U>, &i, 1);
    return Var<U>(x.state_ref(), line, (*x.state())[line].epoch);
}

template <class T> Var<T> stop_gradient(const Var<T>& x) { return apply(StopGradient{}, x); }

#define CHALKGRAD_FROM(T)                          \
    template Var<double> cast(const Var<T>&);      \
    template Var<float> cast(const Var<T>&);       \
    template Var<long double> cast(const Var<T>&); \
    template Var<half> cast(const Var<T>&);        \
    template Var<bfloat16> cast(const Var<T>&);
CHALKGRAD_FROM(double)
CHALKGRAD_FROM(float)
CHALKGRAD_FROM(long double)
CHALKGRAD_FROM(half)
CHALKGRAD_FROM(bfloat16)
#define CHALKGRAD_INSTANTIATE(T) template Var<T> stop_gradient(const Var<T>&);
CHALKGRAD_FOR_SCALARS(CHALKGRAD_INSTANTIATE)
#undef CHALKGRAD_INSTANTIATE

} // namespace chalkgrad
