// The states of a rank's threads, which the kernel shows in /proc/PID.
#pragma once

#include <cstdint>

namespace acp::launcher {

/// One look. Plain value; all false when the process is gone.
struct ProcessState {
  bool is_stopped = false;  ///< By a signal: state T.
  bool is_traced = false;   ///< By a debugger: state t.
  /// The given thread runs, waits for a processor, or for the disk: R or D.
  bool is_thread_running = false;
  bool are_others_running = false;  ///< Any other thread does.
};

/// Reads one file of /proc for each thread of the process.
ProcessState state_of_process(std::uint32_t pid, std::uint32_t thread);

}  // namespace acp::launcher
