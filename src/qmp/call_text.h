// Global operations in words, for error lines.
#pragma once

#include <string>

#include "qmp/message_layout.h"

namespace qmp {

/// "QMP_sum_int, 4 bytes (operation 1)". Functions that combine equal types in
/// the same way have one name.
std::string describe(const Call& call);

}  // namespace qmp
