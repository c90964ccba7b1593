// y = m x, where m = ⟨x²⟩ is the mean of the squares of a row.
#pragma once

#include <chalkgrad/chalkgrad.hpp>

template <class T> chalkgrad::Var<T> energy_scale(const chalkgrad::Var<T>& x);
