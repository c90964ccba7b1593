// The Op behind custom(): copies between the tape's buffers and the arrays that a user's lambdas take.
#include <chalkgrad/autograd/tape/custom.hpp>

#include <algorithm>
#include <memory>

#include <chalkgrad/autograd/tape/apply.hpp>

namespace chalkgrad {
namespace detail {
namespace {

/// Copies the tape's numbers into an array of the same shape.
template <class T> void load(Array<T>& to, In<T> from) {
    to.resize(typename Array<T>::shape_type(from.shape->begin(), from.shape->end()));
    std::copy_n(from.data, from.size(), to.data());
}
template <class T, class U> void load(std::vector<Array<T>>& to, Ins<U> from) {
    to.resize(from.size());
    for (std::size_t k = 0; k < to.size(); ++k) load(to[k], from[k]);
}

template <class T> Shape shape_of(const Array<T>& array) { return Shape(array.shape().begin(), array.shape().end()); }

/// Calls a lambda of an op; what it throws is told with the op's name.
template <class F> auto run(const std::string& name, const char* which, F f) {
    try {
        return f();
    } catch (const std::exception& error) {
        throw Error(name + ": " + which + " threw: " + error.what());
    } catch (...) { throw Error(name + ": " + which + " threw something that is no std::exception"); }
}

template <class T> class Custom final : public CustomOp {
public:
    /// What the lambdas see. It lives as long as the op does: a lambda that keeps a reference reads other numbers later, which
    /// gradcheck finds, and no freed memory.
    struct Arrays {
        std::vector<Array<T>> forward, vjp;
        Array<T> y, gy;
    };
    Custom(std::string name, CustomFunctions<T> functions, CustomOptions options, std::shared_ptr<Arrays> arrays,
        Shape shape)
        : name_(std::move(name)),
          functions_(std::move(functions)),
          options_(std::move(options)),
          arrays_(std::move(arrays)),
          shape_(shape) {}

    const char* name() const override { return name_.c_str(); }
    const char* input_name(std::size_t i) const override { return options_.inputs[i].c_str(); }
    Shape shape(Shapes) const override { return shape_; }
    bool skips_unwanted() const override { return true; }
    bool runs_in(Dtype dtype) const override { return dtype == dtype_of<T>; }
    bool has_kinks() const override { return options_.kinks != nullptr; }
    using Op::kinks;
    void kinks(Ins<double> in, KinkSides& out) const override {
        if (options_.kinks) run(name_, "kinks", [&] { options_.kinks(loaded(in), out); });
    }
    double length_scale(Ins<double> in) const override {
        return options_.length_scale ? run(name_, "length_scale", [&] { return options_.length_scale(loaded(in)); })
                                     : 1;
    }
    const CustomOptions& options() const override { return options_; }

#define CHALKGRAD_OP_FACE(U)                                                    \
    void forward(Ins<U> in, Out<U> y, U*) const override { forward_as(in, y); } \
    void vjp(Ins<U> in, In<U> y, In<U> gy, const U*, Outs<U> gx) const override { vjp_as(in, y, gy, gx); }
    CHALKGRAD_FOR_WORK_SCALARS(CHALKGRAD_OP_FACE)
#undef CHALKGRAD_OP_FACE

    Op* copy_to(void* place) const override { return ::new (place) Custom(*this); }
    std::size_t bytes() const override { return sizeof(Custom); }

private:
    static CustomOptions::Inputs loaded(Ins<double> in) {
        CustomOptions::Inputs arrays;
        load(arrays, in);
        return arrays;
    }
    template <class U> void forward_as(Ins<U> in, Out<U> out) const {
        if constexpr (std::is_same_v<U, T>) {
            load(arrays_->forward, in);
            const Array<T> y = run(name_, "forward", [&] { return functions_.forward(arrays_->forward); });
            if (shape_of(y) != shape_)
                throw Error(name_ + ": forward gave shape " + to_string(shape_of(y)) + " where it gave " +
                            to_string(shape_) + " before; its shape must depend on the inputs' shapes only");
            std::copy_n(y.data(), y.size(), out.data);
        } else {
            refuse();
        }
    }
    template <class U> void vjp_as(Ins<U> in, In<U> y, In<U> gy, Outs<U> gx) const {
        if constexpr (std::is_same_v<U, T>) {
            load(arrays_->vjp, in);
            load(arrays_->y, y);
            load(arrays_->gy, gy);
            const std::vector<Array<T>> gradients =
                run(name_, "vjp", [&] { return functions_.vjp(arrays_->vjp, arrays_->y, arrays_->gy); });
            if (gradients.size() != in.size())
                throw Error(name_ + ": vjp gave " + std::to_string(gradients.size()) + " gradients for " +
                            std::to_string(in.size()) + " inputs");
            for (std::size_t k = 0; k < gradients.size(); ++k) {
                if (shape_of(gradients[k]) != *in[k].shape)
                    throw Error(name_ + ": vjp gave a gradient of shape " + to_string(shape_of(gradients[k])) +
                                " for input '" + options_.inputs[k] + "' of shape " + to_string(*in[k].shape) +
                                "; sum it over what was broadcast");
                if (gx[k]) std::copy_n(gradients[k].data(), gradients[k].size(), gx[k].data);
            }
        } else {
            refuse();
        }
    }
    [[noreturn]] void refuse() const {
        throw Error(name_ + ": made by custom() from lambdas over " + chalkgrad::name(dtype_of<T>) +
                    ", so it runs in that type only");
    }

    std::string name_;
    CustomFunctions<T> functions_;
    CustomOptions options_;
    std::shared_ptr<Arrays> arrays_;
    Shape shape_;
};

} // namespace

template <class T>
Var<T> record_custom(
    std::string name, CustomFunctions<T> functions, const std::vector<Var<T>>& inputs, CustomOptions options) {
    const auto arrays = std::make_shared<typename Custom<T>::Arrays>();
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
        arrays->forward.push_back(x.value());
        pointers.push_back(&x);
    }
    // The output's shape is what forward says; the tape then calls it again for the numbers.
    const std::vector<Array<T>>& values = arrays->forward;
    const Shape shape = shape_of(run(name, "forward", [&] { return functions.forward(values); }));
    return record<T>(Custom<T>(std::move(name), std::move(functions), std::move(options), arrays, shape), false,
        pointers.data(), pointers.size());
}

template Var<double> record_custom(
    std::string, CustomFunctions<double>, const std::vector<Var<double>>&, CustomOptions);
template Var<float> record_custom(std::string, CustomFunctions<float>, const std::vector<Var<float>>&, CustomOptions);

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
