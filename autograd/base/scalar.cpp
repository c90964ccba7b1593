// Names and sizes of the scalars.
#include <chalkgrad/autograd/base/scalar.hpp>

namespace chalkgrad {

const char* name(Dtype dtype) {
    switch (dtype) {
        case Dtype::f64:
            return "double";
        case Dtype::f32:
            return "float";
        case Dtype::f80:
            return "long double";
        case Dtype::dual:
            return "dual";
        case Dtype::f16:
            return "half";
        case Dtype::bf16:
            return "bfloat16";
    }
    return "unknown";
}

std::size_t bytes(Dtype dtype) {
    switch (dtype) {
        case Dtype::f64:
            return sizeof(double);
        case Dtype::f32:
            return sizeof(float);
        case Dtype::f80:
            return sizeof(long double);
        case Dtype::dual:
            return sizeof(Dual<double>);
        case Dtype::f16:
        case Dtype::bf16:
            return 2;
    }
    return 0;
}

Dtype work_dtype(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16 ? Dtype::f32 : dtype; }

} // namespace chalkgrad
