// Rank 0's listener for the leaders of other hosts (host_connections.h), and
// the limits of strangers. Every host of the network can connect to it, so a
// connection is a stranger's until it has sent the key of the job.
//
// Invariants:
//   1. Strangers have at most most_strangers() descriptors, and each has one
//   for
//      at most kGreetingLimit, or kHurry while others wait. The kernel keeps
//      back connections without a byte (TCP_DEFER_ACCEPT), so leaders are few
//      among them.
//   2. A descriptor is in reserve for each leader that is still missing.
//   3. Without a free descriptor, connections wait in the kernel, and accept()
//      says when the next try is due. It is not tried before.
//   4. The listener closes when all leaders are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_set>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "runtime/descriptor_reserve.h"
#include "status/result.h"

namespace acp::runtime {

/// Used under the mutex of HostConnections, which owns the connections.
class LeaderListener {
 public:
  /// A leader sends its key with its first packet. TCP sends a lost one again
  /// several times in this time.
  static constexpr Duration kGreetingLimit = std::chrono::seconds(10);
  /// Many round trips. The key of a leader comes with its first packet, and has
  /// mostly come while the connection waited.
  static constexpr Duration kHurry = std::chrono::milliseconds(100);
  static constexpr std::size_t kMostStrangers = 256;
  /// Where the limit of open files cannot be raised for them.
  static constexpr std::size_t kFewStrangers = 16;

  /// Listens for the connections of so many leaders. It raises the soft limit
  /// of open files by their number and that of strangers. kSystem, logged.
  [[nodiscard]] Status open(std::size_t leaders);

  /// -1: it is closed, or was never open.
  int fd() const noexcept { return socket_ ? socket_.get() : -1; }

  std::uint16_t port() const noexcept { return port_; }

  std::size_t most_strangers() const noexcept {
    return lowest_fd_ == 0 ? kFewStrangers : kMostStrangers;
  }

  /// The next connection, non-blocking. Empty: none waits, or there is no room
  /// for it before due(). Logs a warning when leaders wait for a descriptor.
  UniqueFd accept(TimePoint now);

  /// A connection that was accepted has not sent the key.
  void note_stranger(int fd, TimePoint now);
  /// A stranger is gone.
  void note_end(int fd);
  /// A connection that was accepted has sent the key. The last leader closes
  /// the listener.
  void note_leader(int fd, std::uint32_t rank);

  /// A stranger that has had its time; the caller closes it and tells its end.
  std::optional<int> late_stranger(TimePoint now) const;

  /// When late_stranger() or accept() has something to do. max(): not before
  /// the next connection.
  TimePoint due() const;

  void close() noexcept;

 private:
  struct Stranger {
    int fd = -1;
    TimePoint since;
  };

  Duration patience() const noexcept {
    return is_crowded_ ? kHurry : kGreetingLimit;
  }

  UniqueFd accept_with_reserve();
  UniqueFd move_up(UniqueFd socket) const;
  bool has_waiting() const;
  void wait_for_room(TimePoint now, int error);
  void fill_reserve();

  UniqueFd socket_;
  std::uint16_t port_ = 0;
  /// Connections get no descriptor below it: 0 where the limit could not be
  /// raised.
  int lowest_fd_ = 0;
  std::size_t leaders_ = 0;
  std::unordered_set<std::uint32_t> known_;  ///< Ranks of the leaders here.
  std::deque<Stranger> strangers_;           ///< Oldest first.
  DescriptorReserve reserve_;
  bool is_crowded_ = false;  ///< Connections wait for room.
  bool has_warned_ = false;  ///< Since connections wait for a descriptor.
  /// While connections wait for room: when accept() tries again, unless a
  /// stranger has its time before that.
  TimePoint retry_at_ = TimePoint::max();
};

}  // namespace acp::runtime
