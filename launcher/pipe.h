// Pipes between acprun and the processes that it starts.
#pragma once

#include "base/unique_fd.h"
#include "status/result.h"

namespace acp::launcher {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

/// Makes a pipe whose ends are closed by exec. Fails, logged, when there are no
/// more descriptors.
Result<Pipe> make_pipe();

/// Makes reads and writes on the descriptor fail with EAGAIN instead of
/// waiting.
void set_nonblocking(int fd);

}  // namespace acp::launcher
