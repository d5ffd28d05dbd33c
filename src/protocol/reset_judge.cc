// The judgement on absences and meetings. Called by the roll-call of acprun,
// and by the leaders of hosts under another launcher. It does no system call.
#include "protocol/reset_judge.h"

#include <fmt/core.h>

namespace acp::protocol {

std::string describe_missing(AbsenceKind kind, std::string_view waiting) {
  const char* call = "acp_finalize";
  if (kind == AbsenceKind::kResetting) {
    call = "acp_sync and acp_reset in another order";
  } else if (kind == AbsenceKind::kBesideReset) {
    call = "acp_sync";
  }
  return fmt::format("called {} while {} waits in acp_reset", call, waiting);
}

/// Two ranks that begin an acp_reset after equally many meetings, with unlike
/// numbers of barriers, are in two different calls. The one with the smaller
/// number passes both barriers by the other calls of its peers, so the one with
/// the larger number is missing.
bool ResetJudge::note(std::uint32_t rank,
                      const Absence& absence,
                      std::uint64_t meetings) {
  std::uint32_t missing = rank;
  if (absence.kind == AbsenceKind::kResetting) {
    if (!reset_ || reset_->meetings < meetings) {
      reset_ = Reset{rank, absence.barrier, meetings};
      return true;
    }
    if (reset_->meetings > meetings || reset_->barrier == absence.barrier) {
      return false;
    }
    missing = absence.is_before(reset_->barrier) ? reset_->rank : rank;
  }
  if (missing_) {
    return false;
  }
  missing_ = Missing{{missing, absence.kind}, meetings};
  return true;
}

std::optional<MissingRank> ResetJudge::missing_from(
    std::uint64_t meeting) const noexcept {
  return missing_ && missing_->meetings < meeting ? std::optional(missing_->who)
                                                  : std::nullopt;
}

}  // namespace acp::protocol
