// The Op behind custom(): copies between the tape's buffers and the arrays that a user's lambdas take.
#include <chalkgrad/autograd/tape/custom.hpp>

#include <algorithm>

#include <chalkgrad/autograd/tape/apply.hpp>

namespace chalkgrad::detail {
namespace {

template <class T> Array<T> as_array(In<T> x) {
    Array<T> array(typename Array<T>::shape_type(x.shape->begin(), x.shape->end()));
    std::copy_n(x.data, x.size(), array.data());
    return array;
}

template <class T> std::vector<Array<T>> as_arrays(Ins<T> in) {
    std::vector<Array<T>> arrays;
    for (std::size_t k = 0; k < in.size(); ++k) arrays.push_back(as_array(in[k]));
    return arrays;
}

template <class T> Shape shape_of(const Array<T>& array) { return Shape(array.shape().begin(), array.shape().end()); }

template <class T> class Custom final : public Op {
public:
    Custom(std::string name, CustomFunctions<T> functions, Shape shape)
        : name_(std::move(name)), functions_(std::move(functions)), shape_(shape) {}

    const char* name() const override { return name_.c_str(); }
    const char* input_name(std::size_t i) const override {
        static constexpr const char* names[] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"};
        return names[std::min<std::size_t>(i, 7)];
    }
    Shape shape(Shapes) const override { return shape_; }
    bool skips_unwanted() const override { return true; }
    bool runs_in(Dtype dtype) const override { return dtype == dtype_of<T>; }

#define CHALKGRAD_OP_FACE(U)                                                    \
    void forward(Ins<U> in, Out<U> y, U*) const override { forward_as(in, y); } \
    void vjp(Ins<U> in, In<U> y, In<U> gy, const U*, Outs<U> gx) const override { vjp_as(in, y, gy, gx); }
    CHALKGRAD_FOR_WORK_SCALARS(CHALKGRAD_OP_FACE)
#undef CHALKGRAD_OP_FACE

    Op* copy_to(void* place) const override { return ::new (place) Custom(*this); }
    std::size_t bytes() const override { return sizeof(Custom); }

private:
    template <class U> void forward_as(Ins<U> in, Out<U> out) const {
        if constexpr (std::is_same_v<U, T>) {
            const Array<T> y = functions_.forward(as_arrays(in));
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
            const std::vector<Array<T>> gradients = functions_.vjp(as_arrays(in), as_array(y), as_array(gy));
            if (gradients.size() != in.size())
                throw Error(name_ + ": vjp gave " + std::to_string(gradients.size()) + " gradients for " +
                            std::to_string(in.size()) + " inputs");
            for (std::size_t k = 0; k < gradients.size(); ++k) {
                if (shape_of(gradients[k]) != *in[k].shape)
                    throw Error(name_ + ": vjp gave a gradient of shape " + to_string(shape_of(gradients[k])) +
                                " for input " + std::to_string(k) + " of shape " + to_string(*in[k].shape) +
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
    Shape shape_;
};

} // namespace

template <class T>
Var<T> record_custom(std::string name, CustomFunctions<T> functions, const std::vector<Var<T>>& inputs) {
    std::vector<Array<T>> values;
    for (const Var<T>& x : inputs) {
        const Index i = x.checked(name.c_str());
        if (x.state()->shapes_only)
            throw Error(name + ": input " + x.state()->label(i) +
                        " is on a shape-only tape, which cannot run a lambda; write a rule with a shape()");
        values.push_back(x.value());
    }
    // The output's shape is what forward says; the tape then calls it again for the numbers.
    const Shape shape = shape_of(functions.forward(values));
    std::vector<const Var<T>*> pointers;
    for (const Var<T>& x : inputs) pointers.push_back(&x);
    return record<T>(Custom<T>(std::move(name), std::move(functions), shape), false, pointers.data(), pointers.size());
}

template Var<double> record_custom(std::string, CustomFunctions<double>, const std::vector<Var<double>>&);
template Var<float> record_custom(std::string, CustomFunctions<float>, const std::vector<Var<float>>&);

} // namespace chalkgrad::detail
