// Writes to standard error where that cannot block.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace acp {

/// Writes as much of `bytes` as standard error takes at once, and returns how
/// much that is. -1: standard error is closed or broken, and no byte of the
/// line will arrive. 0: it is full, or a write might block.
///
/// The descriptor belongs to the program. Its flags stay as they are, because
/// O_NONBLOCK would change it for the program, and for other processes as well.
ssize_t try_stderr(std::string_view bytes) noexcept;

}  // namespace acp
