// The exec shim, called by the keeper. become_rank runs between vfork and exec
// in the keeper's memory: it makes system calls only, and allocates nothing.
#include "launcher/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

namespace acp::launcher {

namespace {

[[noreturn]] void fail(const SpawnRequest& request, SpawnStage stage) {
  // Release: pairs with the keeper's acquire load of the stage, behind which it
  // reads the error.
  request.failure->error.store(errno, std::memory_order_relaxed);
  request.failure->stage.store(stage, std::memory_order_release);
  ::_exit(127);
}

/// The sources have numbers above kBootstrapFd, so none is overwritten.
bool place_descriptors(const SpawnRequest& request) {
  for (int i = 0; i < 3; ++i) {
    if (::dup2(request.standard[i], i) != i) return false;
  }
  return ::dup2(request.bootstrap, kBootstrapFd) == kBootstrapFd;
}

void restore_inherited(const InheritedState& inherited) {
  struct sigaction action {};

  action.sa_handler = SIG_DFL;
  if (!inherited.ignores_pipe) ::sigaction(SIGPIPE, &action, nullptr);
  if (!inherited.ignores_file_size) ::sigaction(SIGXFSZ, &action, nullptr);
  ::setrlimit(RLIMIT_NOFILE, &inherited.open_files);
  ::sigprocmask(SIG_SETMASK, &inherited.mask, nullptr);
}

/// Runs in the new process, which shares the keeper's memory until exec:
/// system calls only.
[[noreturn]] void become_rank(const SpawnRequest& request, pid_t keeper) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "acprun-shim");  // It is no keeper: kKeeperName.
  if (::getppid() != keeper) {
    ::_exit(127);  // The keeper died before the line above took effect.
  }
  ::setpgid(0, 0);
  if (request.cpus != nullptr) {
    bind_this_thread(*request.cpus);  // A failure is slow, not wrong.
  }
  if (!place_descriptors(request)) {
    fail(request, SpawnStage::kDescriptors);
  }
  if (request.directory != nullptr && ::chdir(request.directory) != 0) {
    fail(request, SpawnStage::kDirectory);
  }
  restore_inherited(*request.inherited);
  ::execve(request.path, request.words, request.environment);
  fail(request, SpawnStage::kExec);
}

}  // namespace

pid_t spawn(const SpawnRequest& request) {
  const pid_t keeper = ::getpid();
  // vfork: no page tables are copied, which is most of a fork's time.
  const pid_t pid = ::vfork();
  if (pid == 0) {
    become_rank(request, keeper);
  }
  return pid < 0 ? -errno : pid;
}

}  // namespace acp::launcher
