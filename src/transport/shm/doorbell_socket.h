// A datagram socket per rank whose only use is to wake the rank's progress
// thread while that thread sleeps in epoll.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "base/unique_fd.h"
#include "protocol/host_segment.h"
#include "status/result.h"
#include "transport/thread_waker.h"

namespace acp::shm {

/// The socket is bound to an abstract name that is random for each socket and
/// is published in the owner's slice. The kernel shows the names of all sockets
/// to every user of the host. But no user can derive the name of one rank from
/// the name of another and bind it first. A name is used once and vanishes with
/// its socket.
///
/// A datagram only means "poll once". A stray datagram costs the receiver one
/// poll, and a full queue wakes the receiver as well. Thread-safe.
class DoorbellSocket final : public transport::ThreadWaker {
 public:
  /// Binds the socket and publishes its name. Fails with kSystem, logged.
  /// `segment` must outlive this object.
  static Result<std::unique_ptr<DoorbellSocket>> open(
      const protocol::HostSegment& segment, std::uint32_t my_slot);

  /// Does nothing when the owner of `slice` has no socket yet: the owner opens
  /// the socket before its progress thread can sleep.
  void wake_thread(const protocol::SliceHeader& slice) noexcept override;
  /// Wakes this process's own progress thread.
  void wake_own() noexcept;

  /// Becomes readable when a datagram has arrived.
  int descriptor() const noexcept { return socket_.get(); }

  /// Removes all datagrams that have arrived.
  void drain() noexcept;

 private:
  DoorbellSocket(UniqueFd socket, UniqueFd spare, protocol::SliceHeader& mine)
      : mine_(mine), socket_(std::move(socket)), spare_(std::move(spare)) {}

  // Written by the constructor alone.
  protocol::SliceHeader& mine_;
  UniqueFd socket_;

  std::mutex mutex_;  ///< Guards spare_.
  /// Sends what socket_ has no room for. Opened ahead of need: a token that is
  /// not sent is a lost wake-up, and a socket costs time. When its
  /// buffer has no room either, wake_thread() replaces it by a new socket.
  UniqueFd spare_;
};

}  // namespace acp::shm
