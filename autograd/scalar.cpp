// Names and sizes of the scalars.
#include <chalkgrad/autograd/scalar.hpp>

#include <chalkgrad/autograd/rule.hpp>

namespace chalkgrad {

const char* name(Dtype dtype) {
    switch (dtype) {
    case Dtype::f64: return "double";
    case Dtype::f32: return "float";
    case Dtype::f80: return "long double";
    case Dtype::dual: return "dual";
    case Dtype::f16: return "half";
    case Dtype::bf16: return "bfloat16";
    }
    return "unknown";
}

std::size_t bytes(Dtype dtype) {
    switch (dtype) {
    case Dtype::f64: return sizeof(double);
    case Dtype::f32: return sizeof(float);
    case Dtype::f80: return sizeof(long double);
    case Dtype::dual: return sizeof(Dual<double>);
    case Dtype::f16:
    case Dtype::bf16: return 2;
    }
    return 0;
}

Dtype work_dtype(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16 ? Dtype::f32 : dtype; }

const char* name(Role role) {
    switch (role) {
    case Role::none: return "none";
    case Role::add: return "add";
    case Role::linear: return "linear";
    case Role::norm: return "norm";
    case Role::activation: return "activation";
    case Role::gate: return "gate";
    case Role::attention: return "attention";
    case Role::structure: return "structure";
    }
    return "none";
}

} // namespace chalkgrad
