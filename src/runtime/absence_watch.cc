// Finds a rank that cannot come to the barrier that this rank comes to. Called
// by Sync, and by Progress on behalf of its waits, ten times a second. It may
// not block or make a system call.
#include "runtime/absence_watch.h"

namespace acp::runtime {

using protocol::Absence;
using protocol::AbsenceKind;

/// A rank whose call has met another one is often in acp_finalize a moment
/// later, so the other call comes first. Inside acp_finalize the other ranks
/// still come to the barriers of their modules: then only ranks whose modules
/// have ended count as having left.
std::optional<Absence> AbsenceWatch::find() const noexcept {
  if (!is_finalizing_) {
    if (const auto other = find_other_call()) {
      return other;
    }
  }
  const std::uint64_t word = absences_.get(
      is_finalizing_ ? AbsenceKind::kLeft : AbsenceKind::kLeaving);
  if (word != 0 && Absence::of(word).is_before(barrier_)) {
    return Absence::of(word);
  }
  return std::nullopt;
}

/// An acp_reset whose first barrier this rank reaches or has passed by another
/// call. Or another rank that has done so to the acp_reset of this rank.
std::optional<Absence> AbsenceWatch::find_other_call() const noexcept {
  if (const std::uint64_t word = absences_.get(AbsenceKind::kResetting);
      word != 0) {
    const Absence other = Absence::of(word);
    if (other.barrier != reset_ && other.is_before(barrier_ + 1)) {
      return other;
    }
  }
  if (call_ == BarrierCall::kReset) {
    const std::uint64_t word = absences_.get(AbsenceKind::kBesideReset);
    if (word != 0 && Absence::of(word).barrier == reset_) {
      return Absence::of(word);
    }
  }
  return std::nullopt;
}

}  // namespace acp::runtime
