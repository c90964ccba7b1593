// The wording of the checks that several ops share.
#include <chalkgrad/ops/catalog/op.hpp>

namespace chalkgrad {

void require_positive(const char* op, const char* name, double value) {
    if (!(value > 0 && std::isfinite(value)))
        throw Error(fmt::format("{}: {} is {}; it must be finite and positive", op, name, value));
}

void require_finite(const char* op, const char* name, double value) {
    if (!std::isfinite(value)) throw Error(fmt::format("{}: {} is {}; it must be finite", op, name, value));
}

void require_same_shape(const char* op, const char* a_name, const Shape& a, const char* b_name, const Shape& b) {
    if (!(a == b))
        throw Error(
            fmt::format("{}: {} has shape {} and {} has shape {}; they must be the same, nothing is broadcast here", op,
                a_name, to_string(a), b_name, to_string(b)));
}

void require_limit(const char* op, const char* name, const std::optional<double>& limit) {
    if (limit && !(*limit > 0 && std::isfinite(*limit)))
        throw Error(
            fmt::format("{}: {} is {}; it must be finite and positive, or absent for no clamp", op, name, *limit));
}

} // namespace chalkgrad
