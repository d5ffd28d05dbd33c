// The verdict of a leader under a launcher other than acprun: ranks of its host
// wait in acp_reset for a rank that never comes. It says when this leader ends
// the job. Rank 0 has the precedence, so that the job has one line.
//
//   judged ──▶ rank 0: ends the job at once
//          ──▶ another leader without a connection to rank 0: likewise
//          ──▶ another leader: 3 s after the judgement, or 1 s after rank 0
//              has written the line
//
// docs/launcher.md, "Absences under other launchers", has the rules.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "protocol/absence.h"
#include "protocol/reset_judge.h"
#include "runtime/host_phases.h"
#include "runtime/leader_message.h"

namespace acp::runtime {

/// Whether a rank has written the line that says why the job ends.
enum class Line : std::uint8_t { kMissing, kWritten };

/// Pure: the caller brings the time, sends and ends the job. Used by the thread
/// of HostWatch, which alone touches all fields.
class ResetVerdict {
 public:
  /// Another leader leaves the end of the job to rank 0 for so long after rank
  /// 0 has written the line. The reason for a limit is that rank 0's launcher
  /// may hang.
  static constexpr Duration kJudgementPause = std::chrono::seconds(1);
  /// Rank 0 answers within milliseconds that it has written the line. After so
  /// long it is stopped, and another leader writes the line itself.
  static constexpr Duration kWritingLimit = std::chrono::seconds(3);

  /// Takes the absence of a rank that had come to so many meetings. False: it
  /// changes no judgement.
  bool note(const protocol::Absence& absence, std::uint64_t meetings) {
    return judge_.note(absence.rank, absence, meetings);
  }

  /// Judges whether the rank waits in vain. Returns the message that says so,
  /// once. The caller then calls leave_to_rank_0() or end_at().
  std::optional<LeaderMessage> judge(
      const std::optional<HostPhases::Waiting>& waiting);

  /// Rank 0 has been told.
  void leave_to_rank_0(TimePoint now, Line line);

  /// This leader ends the job then.
  void end_at(TimePoint now) noexcept { due_ = now; }

  /// Rank 0 has written the line.
  void note_written(TimePoint now);

  /// Whether this leader has judged, and has not ended the job.
  bool is_pending() const noexcept { return due_ != TimePoint::max(); }

  /// When the caller ends the job with take().
  TimePoint due() const noexcept { return due_; }

  /// The message of judge(), whose time has come. Precondition: is_pending().
  LeaderMessage take() noexcept;

 private:
  protocol::ResetJudge judge_;  ///< Has the absences of all ranks.
  /// The message of judge(). Empty until ranks of this host wait in vain.
  std::optional<LeaderMessage> stuck_;
  TimePoint due_ = TimePoint::max();
};

}  // namespace acp::runtime
