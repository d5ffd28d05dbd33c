// The connection between a program of MPI and its launcher by PMI, with the
// join command in between. So the command knows which program has called
// MPI_Abort, which Hydra's mpiexec does not say: it kills all of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace acp::launcher {

/// Finds the message by which a program tells its launcher to end the MPI job.
/// Reads PMI-1 ("cmd=abort exitcode=9\n") and PMI-2 (six digits of length, then
/// "cmd=abort;..."). Used by one thread.
class PmiAbortFinder {
 public:
  /// Takes the next bytes of the program. Returns the exit status that an abort
  /// among them asks for: 1 where it names none.
  std::optional<int> feed(std::string_view bytes);

 private:
  std::optional<std::string> take_message();

  /// The beginning of a message whose end is missing. Written by feed() and
  /// take_message().
  std::string bytes_;
};

/// Used by the join command's only thread.
class PmiRelay {
 public:
  /// Called before the launcher gets the abort.
  using OnAbort = std::function<void(int exit_status)>;

  explicit PmiRelay(OnAbort on_abort) : on_abort_(std::move(on_abort)) {}

  /// Takes the connection that PMI_FD of this environment names, and writes
  /// another descriptor there. Returns that one, for the program alone; empty:
  /// there is no such connection, and nothing is relayed.
  UniqueFd put_between(std::vector<std::string>& environment);

  /// Descriptors to poll for input; -1: none. A readable one goes to pass_on().
  int program_fd() const noexcept { return program_.get(); }

  int launcher_fd() const noexcept { return has_launcher_ ? launcher_ : -1; }

  void pass_on_from_program();
  void pass_on_from_launcher();

 private:
  OnAbort on_abort_;
  PmiAbortFinder finder_;
  UniqueFd program_;  ///< The end of this process; empty: the program's closed.
  /// mpirun's descriptor. It stays open until this process ends, as the
  /// launcher expects of its process.
  int launcher_ = -1;
  bool has_launcher_ = false;  ///< launcher_ has not been closed by mpirun.
};

}  // namespace acp::launcher
