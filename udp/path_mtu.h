// The largest datagram that a path carries without fragmentation, found by
// probes as in RFC 8899. The probes learn nothing from ICMP and so cannot be
// fooled by it. One for each endpoint whose path leaves the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace acp::udp {

/// Pure: time is an argument. Sizes are bytes of UDP payload. Guarded by the
/// engine's mutex.
///
///   base --(a large copy is sent)--> searching --(ack)--> found
///    ^          probes the largest candidate first;  |        |
///    |          three without an ack: the next       |        |
///    +--(nothing larger passes)----------------------+        |
///    +--(black hole)------------------------------------------+
///
/// A black hole is two time-outs in a row, a fragment that was sent four times,
/// or one that the system refuses for its size. A new search begins when a
/// large message is sent: kSearchAgain after the search before at the earliest,
/// and kAfterBlackHole after a black hole.
class PathMtu {
 public:
  /// Passes every network that carries IPv6: 1,280 bytes less headers.
  static constexpr std::size_t kBase = 1'200;

  /// `most` is what both processes can take. Until a search has found more, the
  /// size is `start`; equal sizes need no search.
  PathMtu(std::size_t start, std::size_t most) noexcept
      : most_(static_cast<std::uint16_t>(most)),
        bytes_(static_cast<std::uint16_t>(std::min(start, most))) {}

  /// A datagram of this size arrives whole.
  std::size_t bytes() const noexcept { return bytes_; }

  /// The largest that may ever be found.
  std::size_t most() const noexcept { return most_; }

  /// A larger datagram would be of use now.
  void want() noexcept { is_wanted_ = true; }

  /// The size of the probe to send now; 0: none. The caller sends it and calls
  /// on_probe_sent.
  std::size_t probe_due(TimePoint now) noexcept;
  void on_probe_sent(std::uint64_t txno, Duration timeout, TimePoint now);

  /// The system does not send datagrams of the size of the last probe.
  void on_probe_refused() noexcept { next_candidate(); }

  /// The peer has received transmission `txno`, which may be the probe.
  void on_probe_acked(std::uint64_t txno) noexcept;

  /// Datagrams above kBase no longer arrive, or the system refuses them.
  void on_black_hole(TimePoint now) noexcept;

  /// When probe_due() has to be asked; max(): an event will come first.
  TimePoint deadline() const noexcept;

 private:
  void next_candidate() noexcept;

  /// Three lost probes of a size may be loss; more are a smaller path.
  static constexpr std::uint8_t kTries = 3;
  static constexpr Duration kSearchAgain = std::chrono::minutes(10);
  static constexpr Duration kAfterBlackHole = std::chrono::seconds(5);

  // The engine's mutex guards these fields. on_probe_sent() writes the probe
  // and its deadline. The end of a probe, of any kind, resets probe_.
  std::uint64_t probe_ = 0;     ///< txno of the probe under way; 0: none.
  TimePoint probe_deadline_{};  ///< The probe counts as lost then.
  /// No search begins before. Written by probe_due() when a search begins, and
  /// by on_black_hole().
  TimePoint next_search_{};
  std::uint16_t most_;  ///< Written by the constructor alone.
  /// Raised by on_probe_acked(), and reset by on_black_hole().
  std::uint16_t bytes_;
  // The search. probe_due() begins it, and next_candidate() moves it on. An ack
  // of the probe or a black hole ends it.
  std::uint16_t candidate_ = 0;  ///< Being probed; 0: no search.
  std::uint8_t tries_ = 0;       ///< Lost probes of the candidate.
  /// A large message was sent since. Set by want(), and reset when a search
  /// ends.
  bool is_wanted_ = false;
};

}  // namespace acp::udp
