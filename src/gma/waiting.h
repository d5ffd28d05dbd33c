// How a thread of the program waits: look, make progress, look again for a
// while, and sleep soon.
#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "base/result.h"
#include "gma/spin_time.h"
#include "protocol/host_segment.h"

namespace acp::gma {

/// Fixed at start from the number of ranks and cores of the host.
struct WaitPolicy {
  /// 0: do not spin. Longer after short sleeps: SpinTime.
  Duration spin{std::chrono::microseconds(50)};
  /// The processor between two passes of progress, from the first on: where
  /// ranks share cores, the one that is waited for may need this one.
  bool yields = false;
  bool may_sleep = true;  ///< False: spins to the end.
  /// At memory, between two passes of progress. They see what a rank of this
  /// host stores; what a network brings is only seen by the pass.
  int looks = 16;

  /// Looking again takes the processor from nobody.
  bool has_core() const noexcept { return spin.count() > 0 && !yields; }
};

/// What a waiting thread needs from the runtime. Thread-safe.
class WaitHost {
 public:
  WaitHost() = default;
  WaitHost(const WaitHost&) = delete;
  WaitHost& operator=(const WaitHost&) = delete;
  virtual ~WaitHost() = default;

  /// One pass over wires and queue, and the progress steps. True when
  /// something arrived.
  virtual bool make_progress() = 0;

  /// kOk, or why waiting makes no sense any more (kAborted, kPeerDead).
  virtual Status health() = 0;

  /// The same for the thread in acp_sync: kClosed, too, when a rank has left
  /// that never comes to it.
  virtual Status sync_health() { return health(); }

  /// Sleeps until woken, `limit` passes, or is_done() holds after the sleeper
  /// has announced itself.
  virtual void sleep(const std::function<bool()>& is_done, Duration limit) = 0;

  /// A wait begins and ends; published for a job that ends badly.
  virtual void enter_wait(protocol::WaitKind kind, std::uint32_t peer) = 0;
  virtual void leave_wait() = 0;

  virtual const WaitPolicy& policy() const noexcept = 0;

  SpinTime& spin_time() noexcept { return spin_time_; }

 private:
  SpinTime spin_time_;
};

/// What a wait is for.
struct WaitPurpose {
  protocol::WaitKind kind = protocol::WaitKind::kNothing;
  std::uint32_t peer = protocol::kNoSlot;  ///< Rank, when there is one.
  /// Longest sleep: 1 ms where a plain store may end the wait.
  Duration look_again{std::chrono::milliseconds(1)};
};

/// Returns kOk when `is_done` holds, kTimedOut at the deadline, or the host's
/// health when that is bad. `is_done` runs in this thread only.
Status wait_until(WaitHost& host,
                  const WaitPurpose& purpose,
                  TimePoint deadline,
                  const std::function<bool()>& is_done);

/// A deadline from a public time-out: negative means never.
TimePoint deadline_after_ms(int timeout_ms);

}  // namespace acp::gma
