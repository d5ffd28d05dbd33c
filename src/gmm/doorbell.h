// Waking whoever sleeps at a rank of this host.
//
// sleeper: asleep += 1; b = doorbell; look again; futex_wait(doorbell, b)
// waker:   store what is waited for; if asleep != 0: doorbell += 1; futex_wake
// Every access is seq_cst, so one of the two sees the other's store.
#pragma once

#include "base/futex.h"
#include "protocol/host_segment.h"
#include "transport/thread_waker.h"

namespace acp::gmm {

using transport::ThreadWaker;

/// Wakes the waiters on a slice's futex. Called after the seq_cst store of
/// what they wait for.
inline void wake_waiters(protocol::SliceHeader& slice) noexcept {
  if ((slice.asleep.load(std::memory_order_seq_cst) & UINT32_MAX) != 0) {
    slice.doorbell.fetch_add(1, std::memory_order_seq_cst);
    futex_wake_all(slice.doorbell);
  }
}

/// A signal: wakes waiters, and an epoll sleeper that wants signals. Called
/// after a seq_cst store; costs one load when nobody sleeps.
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
