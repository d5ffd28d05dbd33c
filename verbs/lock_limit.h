// What a process may lock, for messages about registrations that failed.
#pragma once

#include <string>

namespace acp::verbs {

/// "a process may lock 65536 bytes (ulimit -l): ..." with what to do.
std::string lock_limit();

}  // namespace acp::verbs
