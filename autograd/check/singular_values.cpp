// The one file that includes xtensor-blas's linear algebra: five seconds to compile, and at odds with <cblas.h>.
#include <chalkgrad/autograd/check/jacobian.hpp>

#include <cmath>

#include <xtensor-blas/xlinalg.hpp>

namespace chalkgrad {

std::vector<double> singular_values(const Array<double>& matrix) {
    if (matrix.dimension() != 2)
        throw Error("singular_values: an array of " + std::to_string(matrix.dimension()) + " axes; give a matrix");
    for (const double number : matrix)
        if (!std::isfinite(number))
            throw Error("singular_values: the matrix holds " + std::to_string(number) + "; it must be finite");
    if (matrix.size() == 0) return {};
    const auto svd = xt::linalg::svd(matrix, false, false);
    const auto& values = std::get<1>(svd);
    return {values.begin(), values.end()};
}

} // namespace chalkgrad
