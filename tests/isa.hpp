// For tests of kernels: the same check under every instruction set of this machine.
#pragma once

#include <boost/test/unit_test.hpp>

#include <chalkgrad/autograd/kernel/isa.hpp>

namespace chalkgrad::testing {

/// Runs `check` with each of them, and puts back what was in use.
template <class Check> void on_every_isa(Check check) {
    const Isa before = isa();
    for (const Isa i : {Isa::base, Isa::avx2})
        if (set_isa(i)) BOOST_TEST_CONTEXT("isa " << name(i)) check();
    set_isa(before);
}

} // namespace chalkgrad::testing
