// Takes acprun's signals by a descriptor, and keeps what the ranks get back.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>

#include "base/unique_fd.h"
#include "status/result.h"

namespace acp::launcher {

/// Takes the next signal of a signalfd without waiting; 0 when there is none.
/// Precondition: the descriptor does not block.
int next_signal(int fd);

/// State that acprun was started with and changes. Each rank gets it back.
struct InheritedState {
  sigset_t mask{};
  bool ignores_pipe = false;       ///< SIGPIPE.
  bool ignores_file_size = false;  ///< SIGXFSZ.
  rlimit open_files{};
};

/// Blocks and collects the signals that acprun handles: INT, TERM, QUIT, HUP,
/// USR1, USR2, WINCH, TSTP and CONT. A signal that was ignored at the start, as
/// nohup does, stays ignored. There is one object, for the life of the process.
class Signals {
 public:
  /// Blocks the signals. Fails with kSystem, logged.
  static Result<Signals> take_over();

  int fd() const noexcept { return fd_.get(); }

  const InheritedState& inherited() const noexcept { return inherited_; }

  /// Takes the next signal without waiting; 0 when there is none.
  int next() const { return next_signal(fd_.get()); }

 private:
  // take_over() writes both, and they do not change. One thread of the
  // launcher reads them, so nothing guards them.
  InheritedState inherited_;
  UniqueFd fd_;  ///< A signalfd.
};

/// Returns whether this signal asks acprun to end the job. The others are
/// passed on to the ranks.
bool is_request_to_end(int signal) noexcept;

}  // namespace acp::launcher
