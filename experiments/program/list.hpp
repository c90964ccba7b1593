// `chalkgrad list`: what there is, one line each.
#pragma once

#include <string>

namespace chalkgrad {

struct ListOptions {
    std::string what; ///< ops, experiments or blocks
    bool json = false;
};

/// Prints the list, as text or as JSON [{"name", "purpose", "section"}]; 0. Throws Error for another word.
int run_list(const ListOptions& options);

} // namespace chalkgrad
