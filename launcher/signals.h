// acprun's signals as a descriptor, and what its children get back.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>

#include "base/result.h"
#include "base/unique_fd.h"

namespace acp::launcher {

/// What acprun was started with and a rank gets again.
struct InheritedState {
  sigset_t mask{};
  bool ignores_pipe = false;
  rlimit open_files{};
};

/// Blocks and collects what acprun handles: INT, TERM, QUIT, HUP (unless
/// ignored at the start, as nohup does), USR1, USR2, WINCH, TSTP, CONT.
/// One object, for the life of the process.
class Signals {
 public:
  /// Takes over; kSystem, logged.
  static Result<Signals> take_over();

  int fd() const noexcept { return fd_.get(); }

  const InheritedState& inherited() const noexcept { return inherited_; }

  /// The next signal, or 0 when there is none.
  int next() const;

 private:
  InheritedState inherited_;
  UniqueFd fd_;
};

/// Whether this signal asks acprun to end the job (else it is passed on).
bool is_request_to_end(int signal) noexcept;

}  // namespace acp::launcher
