// Opens process descriptors. Called by the bootstrap under other launchers than
// acprun: for the ranks of the host, and for the launcher. It may not wait or
// signal: the caller polls the descriptor.
//
// A socket tells of a death only when the last process that has its other end
// is gone. A rank may have forked a child, which has it too and lives on.
#include "runtime/process_watch.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace acp::runtime {

UniqueFd watch_process(pid_t pid) noexcept {
  return pid > 0 ? UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))
                 : UniqueFd();
}

}  // namespace acp::runtime
