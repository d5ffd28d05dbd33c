// Makes pipes with pipe2, and sets O_NONBLOCK. Called for the ranks, for remote
// shells, and for the daemon's own standard streams. No end is inherited unless
// the child asks for it.
#include "launcher/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/log.h"

namespace acp::launcher {

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    log_error("pipe: {}; raise the limit of open files (ulimit -n)",
              errno_text(errno));
    return Status::kSystem;
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void set_nonblocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace acp::launcher
