// A spin lock, which guards the progress of QMP and of the older LQCD
// interface. This header is in src/inbox because both of them include that
// folder.
#pragma once

#include <atomic>

namespace inbox {

/// A spin lock for std::lock_guard. Its holders never wait for a peer. Both
/// users include public headers alone, so they have no SpinLock.
///
/// A std::mutex takes two atomic exchanges where this class takes one. The
/// holder of a std::mutex must not call its try_lock, and a progress step may
/// run in a thread that holds the lock: acp_inquire runs steps. Here try_lock
/// answers false to the holder as well.
class Lock {
 public:
  bool try_lock() noexcept {
    return !is_held_.load(std::memory_order_relaxed) &&
           !is_held_.exchange(true, std::memory_order_acquire);
  }

  void lock() noexcept {
    if (!try_lock()) {
      lock_slowly();
    }
  }

  void unlock() noexcept { is_held_.store(false, std::memory_order_release); }

 private:
  void lock_slowly() noexcept;

  std::atomic<bool> is_held_{false};  ///< Acquire in lock, release in unlock.
};

}  // namespace inbox
