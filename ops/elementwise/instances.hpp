// CHALKGRAD_INSTANCES_OF(op, arguments), in namespace chalkgrad: op in every scalar, where it may have overloads.
// Included by .cpp files of ops only.
#pragma once // internal

#include <chalkgrad/autograd/tape/apply.hpp>

#define CHALKGRAD_ONE_VAR(T) const Var<T>&
#define CHALKGRAD_TWO_VARS(T) const Var<T>&, const Var<T>&
#define CHALKGRAD_VAR_AND_NUMBER(T) const Var<T>&, double

#define CHALKGRAD_INSTANCES_OF(op, arguments)               \
    template Var<double> op(arguments(double));             \
    template Var<float> op(arguments(float));               \
    template Var<long double> op(arguments(long double));   \
    template Var<Dual<double>> op(arguments(Dual<double>)); \
    template Var<half> op(arguments(half));                 \
    template Var<bfloat16> op(arguments(bfloat16));
