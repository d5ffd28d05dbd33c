// The counters of a rank as plain values: read from the host segment on the
// rank's host, sent to acprun, and kept there until the end of the job.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/counters.h"
#include "protocol/host_segment.h"
#include "protocol/traffic.h"

namespace acp::launcher {

/// Operations of one kind that went one way. Plain value.
struct CountedOps {
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;

  void add(const CountedOps& other) noexcept {
    operations += other.operations;
    bytes += other.bytes;
  }

  bool operator==(const CountedOps&) const = default;
};

/// Operations by way and kind. Plain value.
struct OpsByWay {
  std::array<std::array<CountedOps, protocol::kCountedKinds>,
             protocol::kCountedWays>
      ways{};

  CountedOps& at(protocol::CountedWay way,
                 protocol::CountedKind kind) noexcept {
    return ways[static_cast<std::size_t>(way)][static_cast<std::size_t>(kind)];
  }

  const CountedOps& at(protocol::CountedWay way,
                       protocol::CountedKind kind) const noexcept {
    return ways[static_cast<std::size_t>(way)][static_cast<std::size_t>(kind)];
  }

  /// The sum of all ways.
  CountedOps of(protocol::CountedKind kind) const noexcept;
  void add(const OpsByWay& other) noexcept;
};

/// The operations of a rank to and from a peer. Plain value.
struct PeerCount {
  std::uint32_t peer = 0;  ///< Number at launch, or protocol::kOtherPeers.
  OpsByWay ops;
};

/// The waits of a rank in one function. Plain value.
struct CallCount {
  std::string name;
  std::uint64_t waits = 0;
  std::uint64_t waited_ns = 0;
  /// Number at launch of the peer waited for longest, or protocol::kNoSlot.
  std::uint32_t peer = protocol::kNoSlot;
  std::uint64_t peer_ns = 0;  ///< Part of waited_ns for that peer.
};

/// A count of the program's own. Plain value.
struct NamedCount {
  std::string name;
  std::uint64_t value = 0;
};

/// Plain value.
struct RankCounters {
  std::uint32_t launch_rank = 0;  ///< Number at launch.
  std::uint32_t rank = 0;         ///< Last number; acp_reset changes it.
  std::uint32_t pid = 0;
  /// From acp_init to the end of acp_finalize, or to the look at a rank that
  /// has not come there.
  std::uint64_t elapsed_ns = 0;
  std::uint64_t waited_ns = 0;      ///< In which at least one thread waited.
  std::uint64_t heap_bytes = 0;     ///< Touched pages of its heap.
  std::uint64_t library_bytes = 0;  ///< Touched pages of the rest of its part.
  std::uint64_t registered_bytes = 0;
  std::uint64_t registered_most_bytes = 0;
  protocol::Traffic udp;
  std::vector<CallCount> calls;  ///< The longest waited_ns first.
  std::vector<PeerCount> peers;  ///< Ascending.
  std::vector<NamedCount> own;   ///< In the order of their first count.
};

/// Reads the counters of a process; nullopt: it counts nothing. May be called
/// while the process runs; counts then belong to slightly different moments.
std::optional<RankCounters> read_counters(const protocol::HostSegment& segment,
                                          std::uint32_t slot);

std::string encode_counters(const RankCounters& counters);

/// nullopt: bytes that no acprun of this version would send, for a job of so
/// many ranks.
std::optional<RankCounters> decode_counters(std::string_view bytes,
                                            std::uint32_t ranks);

}  // namespace acp::launcher
