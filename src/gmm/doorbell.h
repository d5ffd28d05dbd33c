// Wakes threads of a rank on this host that sleep on the rank's doorbell, a
// futex word in its slice.
//
// Sleeper: adds 1 to `asleep`, loads `doorbell`, checks its condition, and
// calls futex_wait(doorbell, loaded value).
//
// Waker: makes the condition true. If `asleep` is not 0, it adds 1 to
// `doorbell` and calls futex_wake.
//
// Invariant: every access is seq_cst. So the waker sees `asleep`, or the
// sleeper sees the condition; no wake-up is lost.
#pragma once

#include "base/futex.h"
#include "protocol/host_segment.h"
#include "transport/thread_waker.h"

namespace acp::gmm {

using transport::ThreadWaker;

/// Wakes the threads that sleep on a slice's doorbell. The caller has made
/// their condition true by a seq_cst store.
inline void wake_waiters(protocol::SliceHeader& slice) noexcept {
  if ((slice.asleep.load(std::memory_order_seq_cst) & UINT32_MAX) != 0) {
    slice.doorbell.fetch_add(1, std::memory_order_seq_cst);
    futex_wake_all(slice.doorbell);
  }
}

/// Signals a rank: wakes the threads that sleep on its doorbell, and its
/// progress thread if that sleeps in epoll and wants signals. The caller has
/// made a seq_cst store. Costs one load when no thread sleeps.
inline void ring_signal(protocol::SliceHeader& slice,
                        ThreadWaker& waker) noexcept {
  const std::uint64_t asleep = slice.asleep.load(std::memory_order_seq_cst);
  if (__builtin_expect(asleep == 0, 1)) {
    return;
  }
  if ((asleep & UINT32_MAX) != 0) {
    slice.doorbell.fetch_add(1, std::memory_order_seq_cst);
    futex_wake_all(slice.doorbell);
  }
  if ((asleep & protocol::kThreadWantsSignals) != 0) {
    waker.wake_thread(slice);
  }
}

}  // namespace acp::gmm
