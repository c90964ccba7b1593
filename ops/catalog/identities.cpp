// What ops know of their Jacobians: see identities.hpp.
#include <chalkgrad/ops/catalog/identities.hpp>

#include <cmath>

namespace chalkgrad {

/// Another number for every row, so that rows that are mixed up show.
static double row_weight(std::size_t row) { return std::cos(static_cast<double>(3 * row + 1)); }

Array<double> constant_along(std::ptrdiff_t axis, const Array<double>& x) {
    Array<double> direction = x;
    const std::size_t k = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::ptrdiff_t>(x.dimension()) : axis);
    std::size_t inner = 1;
    for (std::size_t i = k + 1; i < x.dimension(); ++i) inner *= x.shape()[i];
    const std::size_t n = x.shape()[k];
    for (std::size_t i = 0; i < x.size(); ++i) direction.data()[i] = row_weight(i / (inner * n) * inner + i % inner);
    return direction;
}

std::size_t last_extent(const Array<double>& x) { return x.dimension() == 0 ? 1 : x.shape().back(); }

std::vector<Identity> radial(
    const char* says, const Array<double>& x, const std::function<double(double square, double d)>& slope) {
    Array<double> product = x;
    const std::size_t d = last_extent(x);
    for (std::size_t i = 0; i + d <= x.size(); i += d) {
        double square = 0;
        for (std::size_t j = i; j < i + d; ++j) square += x.data()[j] * x.data()[j];
        const double k = slope(square, static_cast<double>(d));
        for (std::size_t j = i; j < i + d; ++j) product.data()[j] *= k;
    }
    return {known_product(says, "x", x, product), block_diagonal_rows("x", d, d)};
}

Identity moves_along(const char* input, const Sample& sample, double moves) {
    Array<double> ones = *sample.input(input);
    ones.fill(1);
    return known_product(moves == 0   ? "J 1 = 0"
                         : moves == 1 ? "J 1 = 1"
                                      : "J 1 = -1",
        input, ones, moves == 0 ? Array<double>() : Array<double>{moves});
}

std::vector<Identity> element_by_element(std::initializer_list<const char*> inputs) {
    std::vector<Identity> known;
    for (const char* input : inputs)
        known.push_back(block_diagonal(
            "0 between elements", input, [](std::size_t i) { return i; }, [](std::size_t j) { return j; }));
    return known;
}

Known diagonal_jacobian(std::initializer_list<const char*> inputs) {
    return [known = element_by_element(inputs)](const Sample&) { return known; };
}

Known diagonal_jacobian(const char* input, double degree) {
    return [=](const Sample&) {
        std::vector<Identity> known = element_by_element({input});
        known.push_back(homogeneous(input, degree));
        return known;
    };
}

Known homogeneous_in(std::vector<std::pair<const char*, double>> degrees) {
    return [=](const Sample& sample) {
        std::vector<Identity> known;
        for (const auto& [input, degree] : degrees)
            if (sample.input(input) != nullptr) known.push_back(homogeneous(input, degree));
        return known;
    };
}

} // namespace chalkgrad
