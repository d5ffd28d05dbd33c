// How a thread of the program waits: look, make progress, look again for a
// while, and sleep soon.
#pragma once

#include <atomic>
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

/// A futex word that whoever ends the wait moves on, and then wakes its
/// sleepers: what a barrier sleeps on. A signal to the rank wakes nobody there.
///
/// sleeper: sleepers += 1; futex_wait(word, expected); sleepers -= 1
/// waker:   word = another value; if sleepers != 0: futex_wake(word)
///
/// All seq_cst: either the waker sees the sleeper, or the kernel, which
/// compares the word again before it lets the thread sleep, sees the new value.
struct SleepWord {
  std::atomic<std::uint32_t>& word;
  std::atomic<std::uint32_t>& sleepers;
  std::uint32_t expected;  ///< While the wait is not over.
};

/// Sleeps until `place` is woken or `limit` passes.
void sleep_on_word(const SleepWord& place, Duration limit);

/// Stores `value` and wakes the sleepers.
void move_word(std::atomic<std::uint32_t>& word,
               const std::atomic<std::uint32_t>& sleepers,
               std::uint32_t value);

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

  /// Sleeps until `place` is woken or `limit` passes. Meanwhile nobody of this
  /// wait makes progress.
  virtual void sleep_on(const SleepWord& place, Duration limit) {
    sleep_on_word(place, limit);
  }

  /// A wait begins and ends; published for a job that ends badly.
  virtual void enter_wait(protocol::WaitKind kind, std::uint32_t peer) = 0;
  virtual void leave_wait() = 0;

  /// Operations have completed. Wakes a caller that sleeps elsewhere than on
  /// the futex of its slice. Called after a seq_cst fence.
  virtual void on_completed() noexcept {}

  /// Whether another rank of the host may want the core that this thread is on.
  /// Asked between two passes of progress; costs a few nanoseconds.
  virtual bool shares_core_now() noexcept { return false; }

  virtual const WaitPolicy& policy() const noexcept = 0;

  SpinTime& spin_time() noexcept { return spin_time_; }

 private:
  SpinTime spin_time_;
};

/// What a wait is for.
struct WaitPurpose {
  protocol::WaitKind kind = protocol::WaitKind::kNothing;
  std::uint32_t peer = protocol::kNoSlot;  ///< Rank, when there is one.
  /// Longest sleep: 1 ms where a plain store may end the wait, and more when
  /// nothing has happened for long (waiting.cc, time_to_look).
  Duration look_again{std::chrono::milliseconds(1)};
  /// Where to sleep when the wait has a word of its own; else where signals and
  /// arrivals wake.
  const SleepWord* sleep_word = nullptr;
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
