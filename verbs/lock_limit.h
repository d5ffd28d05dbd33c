// Describes the limit of locked memory, for messages about registrations that
// failed.
#pragma once

#include <string>

namespace acp::verbs {

/// Text such as "a process may lock 65536 bytes (ulimit -l): ...", with advice.
std::string lock_limit();

}  // namespace acp::verbs
