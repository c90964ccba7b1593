// The Op behind custom(): copies between the tape's buffers and the arrays that a user's lambdas take.
#include <chalkgrad/autograd/tape/custom.hpp>

#include <algorithm>
#include <memory>

#include <chalkgrad/autograd/tape/apply.hpp>

namespace chalkgrad {
namespace detail {
namespace {

/// Copies the tape's numbers into an array of the same shape.
template <class T, class U> void load(Array<T>& to, In<U> from) {
    to.resize(typename Array<T>::shape_type(from.shape->begin(), from.shape->end()));
    std::transform(from.data, from.data + from.size(), to.data(), [](const U& n) { return static_cast<T>(n); });
}
template <class T, class U> void load(std::vector<Array<T>>& to, Ins<U> from) {
    to.resize(from.size());
    for (std::size_t k = 0; k < to.size(); ++k) load(to[k], from[k]);
}

/// Calls a lambda of an op; what it throws is told with the op's name.
template <class F> auto run(const std::string& name, const char* which, F f) {
    try {
        return f();
    } catch (const std::exception& error) {
        throw Error(name + ": " + which + " threw: " + error.what());
    } catch (...) { throw Error(name + ": " + which + " threw something that is no std::exception"); }
}

class Custom final : public CustomOp {
public:
    /// What the lambdas see, in one scalar. It lives as long as the op does: a lambda that keeps a reference reads other numbers
    /// later, which gradcheck finds, and no freed memory.
    template <class T> struct Arrays {
        std::vector<Array<T>> forward, vjp;
        Array<T> y, gy;
    };
    using AllArrays = std::tuple<Arrays<double>, Arrays<float>, Arrays<long double>, Arrays<Dual<double>>>;

    Custom(std::string name, CustomScalars scalars, CustomOptions options)
        : name_(std::move(name)),
          scalars_(std::move(scalars)),
          options_(std::move(options)),
          arrays_(std::make_shared<AllArrays>()) {}

    const char* name() const override { return name_.c_str(); }
    const char* input_name(std::size_t i) const override { return options_.inputs[i].c_str(); }
    Shape shape(Shapes) const override { return shape_; }
    bool skips_unwanted() const override { return true; }
    bool runs_in(Dtype dtype) const override { return scalars_[static_cast<std::size_t>(dtype)] != nullptr; }
    bool has_kinks() const override { return options_.kinks != nullptr; }
    void kinks(Ins<double> in, KinkSides& out) const override { kinks_of(in, out); }
    void kinks(Ins<long double> in, KinkSides& out) const override { kinks_of(in, out); }
    double length_scale(Ins<double> in) const override {
        return options_.length_scale ? run(name_, "length_scale", [&] { return options_.length_scale(loaded(in)); })
                                     : 1;
    }
    const CustomOptions& options() const override { return options_; }

    /// The output's shape is what forward says; the tape then calls it again for the numbers.
    template <class T> void find_shape(std::vector<Array<T>> inputs) {
        std::vector<Array<T>>& values = std::get<Arrays<T>>(*arrays_).forward = std::move(inputs);
        shape_ = Shape(run(name_, "forward", [&] { return functions<T>().forward(values); }).shape());
    }

#define CHALKGRAD_OP_FACE(T)                                                    \
    void forward(Ins<T> in, Out<T> y, T*) const override { forward_as(in, y); } \
    void vjp(Ins<T> in, In<T> y, In<T> gy, const T*, Outs<T> gx) const override { vjp_as(in, y, gy, gx); }
    CHALKGRAD_FOR_WORK_SCALARS(CHALKGRAD_OP_FACE)
#undef CHALKGRAD_OP_FACE

    Op* copy_to(void* place) const override { return ::new (place) Custom(*this); }
    std::size_t bytes() const override { return sizeof(Custom); }

private:
    template <class T> static CustomOptions::Inputs loaded(Ins<T> in) {
        CustomOptions::Inputs arrays;
        load(arrays, in);
        return arrays;
    }
    template <class T> void kinks_of(Ins<T> in, KinkSides& out) const {
        if (options_.kinks) run(name_, "kinks", [&] { options_.kinks(loaded(in), out); });
    }
    template <class T> const CustomFunctions<T>& functions() const {
        if (!runs_in(dtype_of<T>))
            throw Error(name_ + ": made by custom() from lambdas that do not run in " + chalkgrad::name(dtype_of<T>) +
                        "; generic ones, as [](const auto& x) { return xt::eval(x * x); }, do");
        return *static_cast<const CustomFunctions<T>*>(scalars_[static_cast<std::size_t>(dtype_of<T>)].get());
    }
    template <class T> void forward_as(Ins<T> in, Out<T> out) const {
        std::vector<Array<T>>& x = std::get<Arrays<T>>(*arrays_).forward;
        const auto& forward = functions<T>().forward;
        load(x, in);
        const Array<T> y = run(name_, "forward", [&] { return forward(x); });
        if (Shape(y.shape()) != shape_)
            throw Error(name_ + ": forward gave shape " + to_string(Shape(y.shape())) + " where it gave " +
                        to_string(shape_) + " before; its shape must depend on the inputs' shapes only");
        std::copy_n(y.data(), y.size(), out.data);
    }
    template <class T> void vjp_as(Ins<T> in, In<T> y, In<T> gy, Outs<T> gx) const {
        Arrays<T>& arrays = std::get<Arrays<T>>(*arrays_);
        const auto& vjp = functions<T>().vjp;
        load(arrays.vjp, in);
        load(arrays.y, y);
        load(arrays.gy, gy);
        const std::vector<Array<T>> gradients = run(name_, "vjp", [&] { return vjp(arrays.vjp, arrays.y, arrays.gy); });
        if (gradients.size() != in.size())
            throw Error(name_ + ": vjp gave " + std::to_string(gradients.size()) + " gradients for " +
                        std::to_string(in.size()) + " inputs");
        for (std::size_t k = 0; k < gradients.size(); ++k) {
            const Shape shape(gradients[k].shape());
            if (shape != *in[k].shape)
                throw Error(name_ + ": vjp gave a gradient of shape " + to_string(shape) + " for input '" +
                            options_.inputs[k] + "' of shape " + to_string(*in[k].shape) +
                            "; sum it over what was broadcast");
            if (gx[k]) std::copy_n(gradients[k].data(), shape.size(), gx[k].data);
        }
    }

    std::string name_;
    CustomScalars scalars_;
    CustomOptions options_;
    std::shared_ptr<AllArrays> arrays_;
    Shape shape_;
};

} // namespace

template <class T>
Var<T> record_custom(
    std::string name, CustomScalars scalars, const std::vector<Var<T>>& inputs, CustomOptions options) {
    std::vector<Array<work_t<T>>> values;
    std::vector<const Var<T>*> pointers;
    const bool named = !options.inputs.empty();
    if (named && options.inputs.size() != inputs.size())
        throw Error(name + ": its options name " + std::to_string(options.inputs.size()) + " inputs of " +
                    std::to_string(inputs.size()));
    for (const Var<T>& x : inputs) {
        const Index i = x.checked(name.c_str());
        if (x.state()->shapes_only)
            throw Error(name + ": input " + x.state()->label(i) +
                        " is on a shape-only tape, which cannot run a lambda; write a rule with a shape()");
        if (!named) options.inputs.push_back(x.name().empty() ? "x" + std::to_string(pointers.size()) : x.name());
        auto& value = values.emplace_back(array_of<work_t<T>>(x.shape()));
        convert_numbers(dtype_of<T>, x.data(), dtype_of<work_t<T>>, value.data(), value.size());
        pointers.push_back(&x);
    }
    Custom op(std::move(name), std::move(scalars), std::move(options));
    op.find_shape(std::move(values));
    return record<T>(op, false, pointers.data(), pointers.size());
}

CHALKGRAD_INSTANCES(record_custom)

} // namespace detail

std::function<void(const CustomOptions::Inputs&, KinkSides&)> kinks_at(std::vector<double> places) {
    if (places.size() > std::tuple_size_v<std::decay_t<decltype(KinkSides().branches())>>)
        throw Error("kinks_at: " + std::to_string(places.size()) + " places; an op has four kinks at most");
    return [places = std::move(places)](const CustomOptions::Inputs& x, KinkSides& sides) {
        for (const double v : x.front())
            for (std::size_t k = 0; k < places.size(); ++k) sides.branch(k, v, places[k]);
    };
}

} // namespace chalkgrad
