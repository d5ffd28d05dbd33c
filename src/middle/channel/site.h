// State that all ends of channels of a process share, and their calls of the
// basic layer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "acp/extension.h"
#include "acp/infrastructure.h"
#include "middle/channel/layout.h"

namespace acp::middle::channel {

/// Fixed from init to fini, but for the counters, which all threads change.
struct Site {
  int rank = -1;
  int module = -1;
  std::uint64_t ring_bytes = 0;
  RankBlock* mine = nullptr;
  std::atomic<int> keys{0};  ///< Buffers registered for channels now.
  /// Messages left that do not ask for a key.
  std::atomic<int> keyless_turns{0};

  /// Records that senders have written to mirrors. Threads that count at the
  /// same time may lose one of their counts.
  std::atomic<std::uint64_t> records_sent{0};

  /// Keys are scarce and belong to the program, so channels take few.
  static constexpr int kMaxKeys = 32;
  // Each offer that its sender has not completed holds a key, so no two of them
  // have one failure_bit().
  static_assert(kMaxKeys <= 64);
  /// Messages that ask for no key after a refusal. A refusal costs a look at
  /// the process's mappings.
  static constexpr int kKeylessTurns = 1000;

  acp_ga_t block_of(int other) const { return acpx_module_ga(module, other); }
};

/// Registers a buffer, within the quota. ACP_ATKEY_NULL: there is no key now.
inline acp_atkey_t take_key(Site& site, std::byte* buffer, std::size_t size) {
  if (site.keyless_turns.load(std::memory_order_relaxed) > 0 &&
      site.keyless_turns.fetch_sub(1, std::memory_order_relaxed) > 0) {
    return ACP_ATKEY_NULL;
  }
  if (site.keys.fetch_add(1, std::memory_order_relaxed) < Site::kMaxKeys) {
    const int before = acp_errno;
    const acp_atkey_t key = acpx_try_register_memory(buffer, size, 0);
    if (key != ACP_ATKEY_NULL) {
      return key;
    }
    acp_errno = before;  // no error: the message goes another way
    site.keyless_turns.store(Site::kKeylessTurns, std::memory_order_relaxed);
  }
  site.keys.fetch_sub(1, std::memory_order_relaxed);
  return ACP_ATKEY_NULL;
}

/// Lets a rank learn how to reach a registered buffer before it is told of the
/// buffer, so that it need not ask. Makes no progress.
inline void announce(acp_ga_t buffer, std::size_t size, int rank) {
  (void)acpx_announce_memory(buffer, size, rank);
}

inline acpx_op_t put8(acp_ga_t word, std::uint64_t value, bool signal = false) {
  return {ACPX_PUT8, signal ? ACPX_SIGNAL : 0, word, 0, 0, value, 0};
}

inline acpx_op_t add8(acp_ga_t word, std::uint64_t value, bool signal = false) {
  return {ACPX_ADD8, signal ? ACPX_SIGNAL : 0, word, 0, 0, value, 0};
}

inline acpx_op_t xor8(acp_ga_t word, std::uint64_t mask) {
  return {ACPX_XOR8, 0, word, 0, 0, mask, 0};
}

/// Makes a step wait for the next operation or pass of progress, so that both
/// leave in one datagram.
inline acpx_op_t leaves_later(acpx_op_t step) {
  step.flags |= ACPX_MORE;
  return step;
}

inline acpx_op_t get8(acp_ga_t word, acp_ga_t to) {
  return {ACPX_GET, 0, word, to, 8, 0, 0};
}

/// Set while this thread calls a layer below with an end's lock held. That call
/// may run progress steps, and the channels' step must not try to take the lock
/// again.
inline thread_local constinit bool is_busy = false;

/// Sets is_busy of this thread while it lives.
class BusyScope {
 public:
  BusyScope() noexcept : was_busy_(is_busy) { is_busy = true; }

  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;

  ~BusyScope() { is_busy = was_busy_; }

 private:
  bool was_busy_;  ///< Written by the constructor alone.
};

/// Posts a chain without an order. ACP_HANDLE_NULL: the window is full; nothing
/// was posted. Channels wait with is_complete() where the order matters. An
/// order would include operations of the program, and a chain that is ordered
/// after a failure never starts.
inline acp_handle_t post(std::span<const acpx_op_t> ops) {
  const BusyScope busy;
  return acpx_post(ops.data(), ops.size(), ACP_HANDLE_NULL);
}

/// Whether everything up to `handle` is complete.
inline bool is_complete(acp_handle_t handle) {
  if (handle == ACP_HANDLE_NULL) {
    return true;
  }
  const BusyScope busy;
  return acp_inquire(handle) == 0;
}

/// A full fence between this thread's stores and its next loads.
inline void fence() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace acp::middle::channel
