// Descriptors that tell when another process of this host is gone.
#pragma once

#include <sys/types.h>

#include "base/unique_fd.h"

namespace acp::runtime {

/// A descriptor that becomes readable when the process ends. Empty when the
/// kernel is older than 5.3, forbids it, or the process is in another
/// namespace. Then a socket to the process has to tell.
UniqueFd watch_process(pid_t pid) noexcept;

}  // namespace acp::runtime
