// Names of the roles.
#include <chalkgrad/autograd/tape/rule.hpp>

namespace chalkgrad {

const char* name(Role role) {
    switch (role) {
        case Role::none:
            return "none";
        case Role::add:
            return "add";
        case Role::linear:
            return "linear";
        case Role::norm:
            return "norm";
        case Role::activation:
            return "activation";
        case Role::gate:
            return "gate";
        case Role::attention:
            return "attention";
        case Role::structure:
            return "structure";
    }
    return "none";
}

} // namespace chalkgrad
