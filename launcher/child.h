// A child process of a seat or of a join command, and the signals of its
// parent.
#pragma once

#include <sys/types.h>

#include <array>
#include <csignal>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "launcher/signals.h"

namespace acp::launcher {

/// Collects signals by a descriptor: those that acprun passes on to ranks, the
/// requests to end, and SIGCHLD. There is one object, for the life of the
/// process, which its only thread uses.
class SignalQueue {
 public:
  /// Blocks the signals.
  SignalQueue();

  int fd() const noexcept { return fd_.get(); }

  /// The mask before, which a child gets back.
  const sigset_t& mask_before() const noexcept { return before_; }

  /// Takes the next signal without waiting; 0 when there is none.
  int next() const { return next_signal(fd_.get()); }

 private:
  // The constructor writes both, and they do not change. The process has one
  // thread, so nothing guards them.
  sigset_t before_{};
  UniqueFd fd_;  ///< A signalfd.
};

/// How a child is started. Plain value; the descriptors stay the caller's.
struct ChildPlan {
  std::string path;                      ///< File for exec.
  std::vector<std::string> words;        ///< argv.
  std::vector<std::string> environment;  ///< "NAME=value".
  std::array<int, 3> standard{0, 1, 2};  ///< Become descriptors 0, 1, 2.
  std::vector<int> kept;       ///< Descriptors that the child keeps, too.
  bool has_own_group = false;  ///< A process group of its own.
};

struct StartedChild {
  pid_t pid = -1;
  int error = 0;  ///< errno of fork or exec; 0: the program runs.
};

/// Starts a child that the kernel kills when the calling thread ends. Returns
/// when the program runs or could not be started; then there is no child left.
StartedChild start_child(const ChildPlan& plan, const sigset_t& mask);

/// Ends the calling process as this wait status says. It ends with the same
/// exit status, or by the same signal, without a core file of its own.
[[noreturn]] void end_like(int wait_status);

}  // namespace acp::launcher
