// A datagram socket per rank whose only use is to wake its epoll sleeper.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"
#include "protocol/host_segment.h"
#include "transport/thread_waker.h"

namespace acp::shm {

/// Bound to an abstract name made of the job's random id and the slot, so
/// jobs never meet and nothing stays behind. What arrives means "look": a
/// stray datagram does no harm. Thread-safe.
class DoorbellSocket final : public transport::ThreadWaker {
 public:
  /// kSystem, logged. `segment` must outlive this.
  static Result<std::unique_ptr<DoorbellSocket>> open(
      const protocol::HostSegment& segment, std::uint32_t my_slot);

  void wake_thread(const protocol::SliceHeader& slice) noexcept override;
  /// Wakes this process's own epoll sleeper.
  void wake_own() noexcept;

  /// Readable when somebody rang.
  int descriptor() const noexcept { return socket_.get(); }

  /// Takes everything that has arrived.
  void drain() noexcept;

 private:
  DoorbellSocket(const protocol::HostSegment& segment, std::uint32_t my_slot)
      : segment_(segment), my_slot_(my_slot) {}

  void ring(std::uint32_t slot) noexcept;

  const protocol::HostSegment& segment_;
  std::uint32_t my_slot_;
  UniqueFd socket_;
};

}  // namespace acp::shm
