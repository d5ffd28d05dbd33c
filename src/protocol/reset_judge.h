// Finds ranks that wait for the launcher in acp_reset for another rank that
// never comes there: docs/barrier.md, "Calls that do not meet".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/absence.h"

namespace acp::protocol {

/// The remedy behind each judgement.
inline constexpr std::string_view kSameOrderAdvice =
    "all ranks have to call acp_sync, acp_reset and acp_finalize in the same "
    "order";

/// A rank that never comes to the launcher in acp_reset, and why.
struct MissingRank {
  std::uint32_t rank = 0;
  AbsenceKind kind = AbsenceKind::kLeaving;

  bool operator==(const MissingRank&) const = default;
};

/// "called acp_finalize while rank 0 waits in acp_reset". `waiting` is the name
/// of a rank that waits.
std::string describe_missing(AbsenceKind kind, std::string_view waiting);

/// A *meeting* is one wait of all ranks for the launcher inside acp_reset
/// (Phase::kCollective). Meetings are counted from 1. A rank that has come to
/// fewer meetings when it tells an absence never comes to the next one. A rank
/// that has come to as many is only ahead of those which still wait there.
///
/// Pure. Used by one thread, which alone touches all fields.
class ResetJudge {
 public:
  /// Takes the absence of the rank that is called `rank`, which had come to so
  /// many meetings. False: it changes no judgement.
  bool note(std::uint32_t rank, const Absence& absence, std::uint64_t meetings);

  /// A rank that never comes to this meeting. Its other ranks wait in vain.
  std::optional<MissingRank> missing_from(std::uint64_t meeting) const noexcept;

 private:
  struct Reset {
    std::uint32_t rank;
    std::uint32_t barrier;
    std::uint64_t meetings;
  };

  struct Missing {
    MissingRank who;
    std::uint64_t meetings;
  };

  /// The acp_reset after the most meetings, as the first rank told it.
  std::optional<Reset> reset_;
  /// The first rank that was found. Such a rank comes to no later meeting.
  std::optional<Missing> missing_;
};

}  // namespace acp::protocol
