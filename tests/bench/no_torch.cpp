// Built in place of torch.cpp where libtorch is not installed.
#include "problem.hpp"

namespace bench {

std::unique_ptr<Contender> torch(const Problem&) { return nullptr; }
std::string torch_version() { return "absent"; }

} // namespace bench
