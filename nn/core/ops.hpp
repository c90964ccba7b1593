// What the file of a module includes beside its header: the ops that modules are made of, and what messages are written with.
#pragma once // internal

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include <chalkgrad/ops/elementwise/activations.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/softcap.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>
#include <chalkgrad/ops/reduce/softmax.hpp>
#include <chalkgrad/ops/shape/shape_ops.hpp>
#include <chalkgrad/ops/shape/slice.hpp>
