// The phases to which the ranks of a host have come, as the leader of the host
// counts them. HostWatch asks it whom a phase waits for, and whether a rank
// waits in acp_reset. It does not wait, and sends nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/bootstrap.h"

namespace acp::runtime {

/// Pure. The lock of HostWatch guards it: the thread of the watch notes the
/// arrivals of the others, and the thread in acp_init, acp_reset or
/// acp_finalize notes the leader's own and the end of each phase.
///
/// A *meeting* is one Phase::kCollective. Invariant: a rank waits in a meeting
/// when it has come to one more than are over.
class HostPhases {
 public:
  /// `own` is the rank of the leader, and `others` are the other ranks of the
  /// host. Functions name these by their index.
  HostPhases(std::uint32_t own, std::vector<std::uint32_t> others);

  void arrive(std::size_t other, protocol::Phase phase);
  void arrive_self(protocol::Phase phase);

  /// The phase is over: all ranks of the host may go on.
  void go(protocol::Phase phase);

  /// Whether every other rank waits in some phase.
  bool have_others_arrived() const;

  /// The other ranks that wait in no phase.
  std::vector<std::uint32_t> missing() const;

  struct Elsewhere {
    std::uint32_t rank = 0;
    protocol::Phase phase{};
  };

  /// The first other rank that waits in another phase than this one.
  std::optional<Elsewhere> elsewhere(protocol::Phase phase) const;

  /// How many meetings are over.
  std::uint64_t meetings() const noexcept { return meetings_; }

  /// To how many meetings another rank has come.
  std::uint64_t arrivals_of(std::size_t other) const {
    return arrivals_[other];
  }

  /// To how many meetings the leader has come.
  std::uint64_t own_arrivals() const noexcept { return own_arrivals_; }

  struct Waiting {
    std::uint32_t rank = 0;
    std::uint64_t meeting = 0;  ///< Counted from 1.
  };

  /// The first rank of the host that waits in a meeting, the leader before the
  /// others.
  std::optional<Waiting> waiting_in_meeting() const;

 private:
  const std::uint32_t own_;
  const std::vector<std::uint32_t> others_;
  /// By index: the phase that each other rank waits in. go() empties it.
  std::vector<std::optional<protocol::Phase>> arrived_;
  std::vector<std::uint64_t> arrivals_;  ///< By index: at meetings.
  std::uint64_t own_arrivals_ = 0;       ///< At meetings.
  std::uint64_t meetings_ = 0;           ///< Meetings that are over.
};

}  // namespace acp::runtime
