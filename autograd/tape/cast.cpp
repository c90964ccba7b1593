// Conversions between dtypes, and the op that stops a gradient.
#include <chalkgrad/autograd/tape/cast.hpp>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/kernel/convert.hpp>
#include <chalkgrad/autograd/tape/apply.hpp>

namespace chalkgrad {
namespace {

bool storage_only(Dtype dtype) { return work_dtype(dtype) != dtype; }

template <class From, class To> void convert_array(const From* from, To* to, std::size_t n) {
    constexpr bool narrow = std::is_same_v<From, half> || std::is_same_v<From, bfloat16>,
                   to_narrow = std::is_same_v<To, half> || std::is_same_v<To, bfloat16>;
    constexpr bool wide = std::is_same_v<From, float> || std::is_same_v<From, double>,
                   to_wide = std::is_same_v<To, float> || std::is_same_v<To, double>;
    if constexpr (std::is_same_v<From, To>) {
        if (n != 0) std::memcpy(static_cast<void*>(to), from, n * sizeof(To));
    } else if constexpr (std::is_same_v<From, Dual<double>>) {
        for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i].v);
    } else if constexpr (!narrow && !to_narrow) {
        for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
    } else if constexpr ((narrow && to_wide) || (wide && to_narrow)) {
        convert(n, from, to);
    } else { // by way of double, which holds half and bfloat16 exactly
        Scratch<double> exact(n);
        convert_array(from, exact.data(), n);
        convert_array(exact.data(), to, n);
    }
}

/// f of a null pointer of the scalar.
template <class F> void with_scalar(Dtype dtype, F&& f) {
    if (dtype == Dtype::f16) f(static_cast<half*>(nullptr));
    else if (dtype == Dtype::bf16) f(static_cast<bfloat16*>(nullptr));
    else detail::with_work_scalar(dtype, [&](auto scalar) { f(static_cast<decltype(scalar)*>(nullptr)); });
}

struct Cast {
    static constexpr const char* name = "cast";
    static constexpr const char* inputs[] = {"x"};
    static constexpr bool changes_dtype = true; // the tape converts; the rule itself is not run
    Shape shape(Shapes in) const { return in[0]; }
    template <class T> void forward(Ins<T>, Out<T>, T*) const {}
    template <class T> void vjp(Ins<T>, In<T>, In<T>, const T*, Outs<T>) const {}
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

void detail::convert_numbers(Dtype from, const void* x, Dtype to, void* y, std::size_t n) {
    with_scalar(from, [&](auto* source) {
        with_scalar(to, [&](auto* target) {
            convert_array(
                static_cast<const std::remove_pointer_t<decltype(source)>*>(x), static_cast<decltype(target)>(y), n);
        });
    });
}

template <class U, class T> Var<U> cast(const Var<T>& x) {
    static const OpOf<Cast> op{Cast{}};
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
CHALKGRAD_INSTANCES(stop_gradient)

} // namespace chalkgrad
