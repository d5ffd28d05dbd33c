// How a rank ends itself when its job ends and no keeper of acprun does it.
//
//   noticed ──1 s──▶ abort the job ──1 s──▶ SIGTERM ──1 s──▶ SIGKILL
//
// The launcher gets the first second for itself: most launchers end the job as
// soon as one of their processes dies, and their exit status then is that
// process's. An action falls away when it cannot help: the abort when it was
// ordered already, and both waits for the launcher when it is the launcher
// that is gone.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace acp::runtime {

enum class EndCause : std::uint8_t {
  kRankLost,      ///< A rank of this host is gone.
  kOrdered,       ///< A rank has told the launcher to abort the job.
  kLauncherLost,  ///< The launcher's process on this host is gone.
};

enum class EndAction : std::uint8_t { kAbortJob, kTerminate, kKill };

/// Pure: says when which action is due. Used by one thread.
class EndSchedule {
 public:
  static constexpr Duration kPause = std::chrono::seconds(1);

  EndSchedule(EndCause cause, TimePoint now) noexcept;

  EndAction next() const noexcept { return next_; }

  TimePoint due() const noexcept { return due_; }

  /// The action `next()` has been taken at this time.
  void take(TimePoint now) noexcept;

 private:
  EndAction next_;
  TimePoint due_;
};

}  // namespace acp::runtime
