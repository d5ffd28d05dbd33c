// The role of sleeping in epoll: nobody's, the progress thread's or one
// caller's. A caller that is about to sleep takes it from the thread: what
// arrives then wakes who waits, and spins for what follows. Otherwise the
// thread would be woken for each packet while the caller sleeps beside it.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::runtime {

/// Thread-safe. What happened in the role is visible to the next who has it.
class PollerRole {
 public:
  /// A caller's. False: another caller has the role, or gets it. `rouse` has to
  /// make the thread leave epoll; it is called when the thread has the role.
  template <typename Rouse>
  bool take(Rouse rouse) {
    Holder holder = Holder::kNobody;
    while (!holder_.compare_exchange_strong(holder, holder == Holder::kThread
                                                        ? Holder::kPromised
                                                        : Holder::kCaller)) {
      if (holder == Holder::kCaller || holder == Holder::kPromised) {
        return false;
      }
    }
    if (holder == Holder::kThread) {
      rouse();
      holder_.wait(Holder::kPromised);
    }
    return true;
  }

  void leave() noexcept { holder_.store(Holder::kNobody); }

  /// The thread's. False: a caller has it.
  bool take_for_thread() noexcept {
    Holder nobody = Holder::kNobody;
    return holder_.compare_exchange_strong(nobody, Holder::kThread);
  }

  void leave_for_thread() noexcept {
    Holder thread = Holder::kThread;
    if (!holder_.compare_exchange_strong(thread, Holder::kNobody)) {
      holder_.store(Holder::kCaller);
      holder_.notify_one();
    }
  }

  /// The thread has to leave. Stays true until it does.
  bool is_promised() const noexcept {
    return holder_.load() == Holder::kPromised;
  }

  bool is_callers() const noexcept { return holder_.load() == Holder::kCaller; }

 private:
  enum class Holder : std::uint32_t {
    kNobody,
    kThread,
    kPromised,  ///< The thread's, and a caller's as soon as it leaves.
    kCaller,
  };

  std::atomic<Holder> holder_{Holder::kNobody};
};

}  // namespace acp::runtime
