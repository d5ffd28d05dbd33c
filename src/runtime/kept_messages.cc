// Chooses the absences that a leader needs whose connection is taken later.
// Called by HostConnections. Pure.
#include "runtime/kept_messages.h"

#include <algorithm>

#include "protocol/absence.h"

namespace acp::runtime {

/// A leader whose connection is taken later needs the absence of each kind that
/// stands in the words of the other hosts. Of acp_reset it needs all numbers
/// after the most meetings, because two that differ are judged.
void KeptMessages::keep_absence(const LeaderMessage& message) {
  const auto absence = protocol::Absence::of(message.absence);
  const auto is_of_kind = [&absence](const LeaderMessage& old) {
    return old.type == LeaderMessageType::kAbsent &&
           protocol::Absence::of(old.absence).kind == absence.kind;
  };
  if (absence.kind == protocol::AbsenceKind::kResetting) {
    std::erase_if(messages_, [&](const LeaderMessage& old) {
      return is_of_kind(old) && (old.meetings < message.meetings ||
                                 old.absence == message.absence);
    });
    messages_.push_back(message);
    return;
  }
  const auto old = std::ranges::find_if(messages_, is_of_kind);
  if (old == messages_.end()) {
    messages_.push_back(message);
  } else if (absence.outranks(protocol::Absence::of(old->absence))) {
    *old = message;
  }
}

}  // namespace acp::runtime
