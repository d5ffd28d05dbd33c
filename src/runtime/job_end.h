// How a rank ends itself when its job ends and no keeper of acprun does it.
//
//   noticed ──0.5 s──▶ abort the job ──0.5 s──▶ SIGTERM ──1 s──▶ SIGKILL
//
// A job has to be over 2 s after a death. The launcher gets the first half
// second for itself. Most launchers end the job as soon as one of their
// processes dies, and their exit status then is that process's. An action falls
// away when it cannot help. The abort does when it was ordered already, and
// both waits for the launcher do when it is the launcher that is gone.
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
  /// The launcher has so long to end the job by itself, and after the abort.
  static constexpr Duration kPause = std::chrono::milliseconds(500);
  /// From SIGTERM to SIGKILL.
  static constexpr Duration kGrace = std::chrono::seconds(1);

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
