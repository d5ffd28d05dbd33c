// The ranks of a host watch each other's heartbeats, so that a stopped or stuck
// rank is named also where no network speaks to it. Each rank watches its
// neighbor, the rank in the slot before its own:
//
//   slot 0 ◀── slot 1 ◀── slot 2 ◀── ... ◀── last slot ◀── slot 0
//
// When some ranks of the host are silent and others are not, one of the others
// is next to a silent one, and names it. Each rank reads one word of one other
// rank, and no rank is special. The progress threads call it, under every
// launcher.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "protocol/host_segment.h"

namespace acp::runtime {

/// How long a heartbeat has not moved, as far as the watcher has seen it.
///
/// A look counts for kLongestLook at most. A watcher that was itself stopped,
/// or whose machine was suspended, has not seen its neighbor silent meanwhile.
///
/// Pure. Used by one thread.
class SilenceMeter {
 public:
  /// The time between two heartbeats, and between two looks at one.
  static constexpr Duration kInterval = std::chrono::seconds(1);
  static constexpr Duration kLongestLook = 2 * kInterval;

  /// Takes a look and returns the silence. A heartbeat of 0, of a rank that
  /// has not begun or has ended, is no silence.
  Duration look(std::uint32_t heartbeat, TimePoint now) noexcept;

  /// Begins again.
  void forget() noexcept { silence_ = {}; }

 private:
  std::uint32_t heartbeat_ = 0;
  TimePoint last_look_{};
  Duration silence_{};
};

/// A rank that is lost, and why.
struct SilentRank {
  std::uint32_t proc = 0;
  std::string why;  ///< Goes on behind "rank 3 is lost: ".
};

/// The heartbeat of this rank, and its watch over its neighbor. begin() and
/// end() are called while no progress thread runs, and all other functions by
/// that thread.
class NeighborWatch {
 public:
  /// A rank whose threads run, but not the progress thread, may wait for a
  /// processor. It gets so many times the limit.
  static constexpr int kPatience = 6;

  /// `limit`: the silence after which a neighbor is lost.
  NeighborWatch(const protocol::HostSegment& segment,
                std::uint32_t my_slot,
                Duration limit);

  /// From here on the rank after this one watches the heartbeat.
  void begin() noexcept { move_heartbeat(); }

  void end() noexcept;

  /// The heart beats; is due after each SilenceMeter::kInterval.
  void beat() noexcept { move_heartbeat(); }

  /// Looks at the neighbor, as often as the heart beats. Returns it when it is
  /// silent and a rank of this host waits: only then does it hold up the job.
  /// Does not return it while a debugger holds it.
  std::optional<SilentRank> look(TimePoint now);

 private:
  void move_heartbeat() noexcept;
  bool does_any_other_wait() const noexcept;

  const protocol::HostSegment& segment_;
  std::atomic<std::uint32_t>& heartbeat_;  ///< This rank's.
  const std::uint32_t neighbor_;           ///< Its slot.
  const Duration limit_;
  SilenceMeter meter_;
};

}  // namespace acp::runtime
