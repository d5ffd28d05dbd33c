// Global operations in words, for error lines.
#pragma once

#include <string>

#include "qmp/message_layout.h"

namespace qmp {

/// "QMP_sum_int, 4 bytes (operation 1)". The name comes from the kind in the
/// tag, which is all that another node tells. Functions that combine equal
/// types in one way have one name.
std::string describe(const Call& call);

/// Describes a call of this node, whose function is known.
std::string describe(const Call& call, const char* function);

}  // namespace qmp
