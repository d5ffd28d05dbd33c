// Reads the states of a rank's threads from /proc/PID.
#pragma once

#include <cstdint>

namespace acp {

/// The states at one moment. Plain value; all false when the process is gone.
struct ProcessState {
  bool is_stopped = false;  ///< By a signal: state T.
  bool is_traced = false;   ///< By a debugger: state t.
  /// The given thread runs, or waits for a processor or the disk: state R or D.
  bool is_thread_running = false;
  bool are_others_running = false;  ///< Another thread is in state R or D.
  /// The core on which the given thread ran last, or the main thread for
  /// thread 0. kNoCore: it is gone.
  std::uint32_t core = kNoCore;

  static constexpr std::uint32_t kNoCore = UINT32_MAX;
};

/// Looks at all threads of a process; `thread` is reported apart from the
/// others. Reads one file of /proc for each.
ProcessState state_of_process(std::uint32_t pid, std::uint32_t thread);

}  // namespace acp
