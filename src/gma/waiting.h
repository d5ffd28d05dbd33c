// How a thread of the program waits: look, make progress, look again for a
// while, and sleep soon.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "gma/spin_time.h"
#include "protocol/host_segment.h"
#include "status/result.h"

namespace acp::gma {

/// Fixed at start from the number of ranks and cores of the host.
struct WaitPolicy {
  /// Time of a spin; 0: do not spin. SpinTime makes it longer. A
  /// wake-up by the kernel takes 3 us and more (docs/decisions/0008).
  Duration spin{std::chrono::microseconds(50)};
  /// Yields the core between two passes of progress, from the first pass on.
  /// Where ranks share cores, the rank that is waited for may need this core.
  bool yields = false;
  bool may_sleep = true;  ///< False: spins to the end.
  /// Looks at memory between two passes of progress. A look sees stores of
  /// ranks of this host; only a pass sees messages of a network, and takes
  /// longer than a look.
  int looks = 16;

  /// Whether a spin takes the core from no other rank.
  bool has_core() const noexcept { return spin.count() > 0 && !yields; }
};

/// A futex word for the sleepers of a barrier. The thread that ends the wait
/// changes the word and then wakes them. A signal to the rank does not.
///
/// sleeper: sleepers += 1; futex_wait(word, expected); sleepers -= 1
/// waker:   word = another value; if sleepers != 0: futex_wake(word)
///
/// All seq_cst: either the waker sees the sleeper, or the kernel sees the new
/// value. The kernel compares the word again before it lets the thread sleep.
struct SleepWord {
  std::atomic<std::uint32_t>& word;
  std::atomic<std::uint32_t>& sleepers;
  std::uint32_t expected;  ///< Value of `word` until the wait is over.
};

/// Sleeps until `sleep_word` is woken or `limit` passes.
void sleep_on_word(const SleepWord& sleep_word, Duration limit);

/// Stores `value` and wakes the sleepers.
void move_word(std::atomic<std::uint32_t>& word,
               const std::atomic<std::uint32_t>& sleepers,
               std::uint32_t value);

/// The services of the runtime for a waiting thread. Thread-safe.
class WaitHost {
 public:
  WaitHost() = default;
  WaitHost(const WaitHost&) = delete;
  WaitHost& operator=(const WaitHost&) = delete;
  virtual ~WaitHost() = default;

  /// Makes one pass over transports and queue, and runs the progress steps.
  /// True when messages arrived, bytes were copied, or peers were served: more
  /// may come soon.
  virtual bool make_progress() = 0;

  /// kOk, or why waiting makes no sense any more (kAborted, kPeerDead).
  virtual Status health() = 0;

  /// health() for the thread in acp_sync. It is kClosed, too, when a rank has
  /// left the job that never comes to this barrier.
  virtual Status sync_health() { return health(); }

  /// Sleeps until woken, `limit` passes, or is_done() holds after the sleeper
  /// is marked asleep.
  virtual void sleep(const std::function<bool()>& is_done, Duration limit) = 0;

  /// Sleeps until `sleep_word` is woken or `limit` passes. The thread makes no
  /// progress meanwhile.
  virtual void sleep_on(const SleepWord& sleep_word, Duration limit) {
    sleep_on_word(sleep_word, limit);
  }

  /// A wait begins and ends; published for a job that ends badly.
  virtual void enter_wait(protocol::WaitKind kind, std::uint32_t peer) = 0;
  virtual void leave_wait() = 0;

  /// The condition of a wait may hold now, or health() is bad; sleepers on the
  /// futex of the slice are woken. Wakes a caller that sleeps in epoll. Called
  /// after a seq_cst fence.
  virtual void wake_callers() noexcept {}

  /// Whether another rank of the host may want the core that this thread is on.
  /// Asked between two passes of progress; costs a few nanoseconds.
  virtual bool shares_core_now() noexcept { return false; }

  /// Gives the core to another thread that wants it.
  virtual void yield_core() noexcept;

  /// The time of CLOCK_MONOTONIC.
  virtual TimePoint now() const noexcept;

  virtual const WaitPolicy& policy() const noexcept = 0;

  SpinTime& spin_time() noexcept { return spin_time_; }

 private:
  SpinTime spin_time_;
};

/// The reason of a wait, and where its thread sleeps.
struct WaitPurpose {
  protocol::WaitKind kind = protocol::WaitKind::kNothing;
  std::uint32_t peer = protocol::kNoSlot;  ///< Rank, when there is one.
  /// Longest sleep: 1 ms where a plain store may end the wait, and more when
  /// nothing has happened for long (waiting.cc, time_to_look).
  Duration look_again{std::chrono::milliseconds(1)};
  /// The word to sleep on. Null: the thread sleeps where signals and arrivals
  /// wake it.
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
