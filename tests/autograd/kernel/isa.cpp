// The choice of the instruction set: at start, by the environment, and by a call.
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <string>

#include <chalkgrad/autograd/kernel/isa.hpp>

using namespace chalkgrad;

namespace {

bool cpu_has_avx2() {
#if defined(CHALKGRAD_NO_AVX2)
    return false;
#else
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
}

} // namespace

BOOST_AUTO_TEST_SUITE(isa)

BOOST_AUTO_TEST_CASE(starts_with_the_best_set_or_the_one_the_environment_asks_for) {
    const char* asked = std::getenv("CHALKGRAD_ISA");
    const bool base = asked != nullptr && std::string(asked) == "base";
    BOOST_TEST(name(chalkgrad::isa()) == (cpu_has_avx2() && !base ? "avx2" : "base"));
}

BOOST_AUTO_TEST_CASE(can_be_switched_to_what_the_machine_has) {
    const Isa before = chalkgrad::isa();
    BOOST_TEST(set_isa(Isa::base));
    BOOST_TEST(name(chalkgrad::isa()) == "base");
    BOOST_TEST(set_isa(Isa::avx2) == cpu_has_avx2());
    BOOST_TEST(name(chalkgrad::isa()) == (cpu_has_avx2() ? "avx2" : "base"));
    BOOST_TEST(set_isa(before));
}

BOOST_AUTO_TEST_SUITE_END()
