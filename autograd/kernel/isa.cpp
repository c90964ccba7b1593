// Detection of the CPU's instruction set and the choice made at start.
#include <chalkgrad/autograd/kernel/isa.hpp>

#include <cstdlib>
#include <string_view>

namespace chalkgrad {
namespace {

bool has(Isa wanted) noexcept {
    if (wanted == Isa::base) return true;
#ifdef CHALKGRAD_NO_AVX2
    return false;
#else
    __builtin_cpu_init(); // a static constructor may come here before libgcc's own
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
}

Isa at_start() noexcept {
    const char* asked = std::getenv("CHALKGRAD_ISA");
    const Isa wanted = asked != nullptr && std::string_view(asked) == "base" ? Isa::base : Isa::avx2;
    return has(wanted) ? wanted : Isa::base;
}

} // namespace

std::atomic<Isa> detail::current_isa = at_start();

bool set_isa(Isa wanted) noexcept {
    if (!has(wanted)) return false;
    detail::current_isa.store(wanted, std::memory_order_relaxed);
    return true;
}

const char* name(Isa isa) noexcept { return isa == Isa::avx2 ? "avx2" : "base"; }

} // namespace chalkgrad
