// Numbers for samples of functions that have a kink or a pole, and how near to it an input comes.
#pragma once // internal

#include <cmath>

#include <chalkgrad/autograd/base/array.hpp>
#include <chalkgrad/autograd/tape/rule.hpp>

namespace chalkgrad {

/// The least distance of an element from a point at which a function bends without bound; 1 where every element is on it.
inline double distance_from(double point, In<double> x) {
    double least = HUGE_VAL;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double distance = std::abs(x[i] - point);
        if (distance > 0 && distance < least) least = distance;
    }
    return std::isinf(least) ? 1 : least;
}

/// x with the numbers nearer to `point` than `gap` moved out by `gap`, so that differences can be taken.
inline Array<double> away_from(double point, double gap, Array<double> x) {
    for (double& value : x)
        if (std::abs(value - point) < gap) value += value < point ? -gap : gap;
    return x;
}

} // namespace chalkgrad
