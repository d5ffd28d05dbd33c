// Counts of what a process has sent and received over its network. A transport
// writes them into the process's record in the host segment, and the launcher
// prints them (acprun --stats).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace acp::protocol {

/// Every count but kLongestRtt only grows. Host segments and messages of
/// daemons carry all of them, so a new one raises kHostVersion and
/// kDaemonProtocol.
enum class TrafficCount : std::uint8_t {
  kSent,           ///< Packets, retransmissions and acks included.
  kSentBytes,      ///< Bytes of these packets, without headers of IP and UDP.
  kReceived,       ///< Packets, the dropped ones included.
  kReceivedBytes,  ///< Bytes of these packets.
  kSentAgain,      ///< Packets whose contents had been sent before.
  kNeedless,       ///< Part of kSentAgain: an ack named an earlier packet.
  kUnsent,         ///< Packets that the system has refused.
  kDuplicates,     ///< Contents that came again.
  kNotHeld,        ///< Dropped: early, and no room to keep it.
  kMalformed,      ///< Dropped: no packet of this version.
  kStrays,         ///< Dropped: for another job or process.
  kUnknown,        ///< Dropped: not from the address of its source.
  kCorrupt,        ///< Dropped: the tag is wrong.
  kReplayed,       ///< Dropped: this transmission had been taken before.
  kLongestRtt,     ///< About the longest round trip of late, in nanoseconds.
  kCount
};

/// A plain value.
struct Traffic {
  std::array<std::uint64_t, static_cast<std::size_t>(TrafficCount::kCount)>
      counts{};

  std::uint64_t& operator[](TrafficCount count) noexcept {
    return counts[static_cast<std::size_t>(count)];
  }

  std::uint64_t operator[](TrafficCount count) const noexcept {
    return counts[static_cast<std::size_t>(count)];
  }

  /// Packets that did not pass the checks on arrival.
  std::uint64_t dropped() const noexcept;

  /// Adds the counts of another process; of round trips the longer one stays.
  void add(const Traffic& other) noexcept;

  bool operator==(const Traffic&) const = default;
};

/// "sent_bytes", for files.
std::string_view name_of(TrafficCount count) noexcept;

/// The counts of a local process. One thread of it writes them (relaxed), and
/// the launcher reads them at any time (relaxed).
class TrafficRecord {
 public:
  void set(const Traffic& traffic) noexcept;
  Traffic get() const noexcept;

 private:
  std::array<std::atomic<std::uint64_t>,
             static_cast<std::size_t>(TrafficCount::kCount)>
      counts_;
};

}  // namespace acp::protocol
