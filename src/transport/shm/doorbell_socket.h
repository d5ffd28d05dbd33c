// A datagram socket per rank whose only use is to wake its epoll sleeper.
#pragma once

#include <memory>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "protocol/host_segment.h"
#include "transport/thread_waker.h"

namespace acp::shm {

/// Bound to an abstract name that is random for each socket and published in
/// the owner's slice. The kernel shows the names of all sockets to every user
/// of the host; from one of them nobody can tell another one of the job and
/// take it first. Names are not used twice, and end with their socket.
///
/// A datagram means "look", whoever sent it: a stray one costs its
/// receiver a look, and a queue that is full of them wakes it. Thread-safe.
class DoorbellSocket final : public transport::ThreadWaker {
 public:
  /// Binds the socket and publishes its name. kSystem, logged. `segment` must
  /// outlive this.
  static Result<std::unique_ptr<DoorbellSocket>> open(
      const protocol::HostSegment& segment, std::uint32_t my_slot);

  /// Does nothing when the owner of `slice` has no socket yet: it opens it
  /// before anything of it can sleep.
  void wake_thread(const protocol::SliceHeader& slice) noexcept override;
  /// Wakes this process's own epoll sleeper.
  void wake_own() noexcept;

  /// Readable when somebody rang.
  int descriptor() const noexcept { return socket_.get(); }

  /// Takes everything that has arrived.
  void drain() noexcept;

 private:
  DoorbellSocket(UniqueFd socket, protocol::SliceHeader& mine)
      : mine_(mine), socket_(std::move(socket)) {}

  protocol::SliceHeader& mine_;
  UniqueFd socket_;
};

}  // namespace acp::shm
