// A part of the user's own: what is checked of it.
#include <chalkgrad/nn/core/any_module.hpp>

#include <chalkgrad/nn/core/ops.hpp>

namespace chalkgrad::nn {

std::string AnyModule::checked(std::string name) {
    if (name.empty()) throw Error("AnyModule: its name is empty; drawings and parameters need one, \"mish\"");
    return name;
}

AnyModule AnyModule::at(std::size_t d) const { return make_ ? make_(d) : *this; }

template <class T> Var<T> AnyModule::operator()(Binding<T>& on, const Var<T>& x, Role role) const {
    const Call<T>& call = std::get<Call<T>>(calls_);
    if (make_) throw Error(fmt::format("{}: it makes modules and is none; call at(d) first", name_));
    if (!call)
        throw Error(fmt::format("{}: it takes no {}; write it over const auto& x, or as a template on the scalar",
            name_, chalkgrad::name(dtype_of<T>)));
    const Scope scope = on.scope(name_, role);
    const Var<T> y = call(on, x);
    if (!y) throw Error(fmt::format("{}: it returned an empty Var; it must return its result", name_));
    if (y.state() != x.state())
        throw Error(
            fmt::format("{}: it returned a line of another tape; it must compute with the x it is given", name_));
    if (!(y.shape() == x.shape()))
        throw Error(fmt::format(
            "{}: it makes {} of {}; here it must keep the shape", name_, to_string(y.shape()), to_string(x.shape())));
    return y;
}

void AnyModule::visit(const Visitor& v) const {
    const struct { const std::function<void(const Visitor&)>& visit; } below{visit_};
    if (visit_) v(name_, below);
}

CHALKGRAD_INSTANCES(AnyModule::operator())

} // namespace chalkgrad::nn
