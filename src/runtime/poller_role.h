// The role of the poller, which sleeps in epoll. At most one thread has it: the
// progress thread or one caller. A caller that is about to sleep takes it from
// the progress thread. Each arrival then wakes the caller, which waits for it
// and spins for the next. Otherwise the progress thread would be woken for each
// packet while the caller sleeps beside it.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::runtime {

/// Thread-safe. The stores of a thread in the role are visible to the next
/// thread in the role. All accesses are seq_cst: a caller that has promised
/// itself the role and the thread that marks itself asleep must not miss each
/// other.
class PollerRole {
 public:
  /// Takes the role for a caller; blocks until the progress thread has left it.
  /// False: another caller has the role, or gets it. `rouse` has to make the
  /// thread leave epoll; it is called when the thread has the role.
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

  /// Gives a caller's role back.
  void leave() noexcept { holder_.store(Holder::kNobody); }

  /// Takes the role for the progress thread. False: a caller has it.
  bool take_for_thread() noexcept {
    Holder nobody = Holder::kNobody;
    return holder_.compare_exchange_strong(nobody, Holder::kThread);
  }

  /// Gives the thread's role back, or on to the caller that waits for it.
  void leave_for_thread() noexcept {
    Holder thread = Holder::kThread;
    if (!holder_.compare_exchange_strong(thread, Holder::kNobody)) {
      holder_.store(Holder::kCaller);
      holder_.notify_one();
    }
  }

  /// A caller waits for the role: the thread has to leave it. Stays true until
  /// it does.
  bool is_promised() const noexcept {
    return holder_.load() == Holder::kPromised;
  }

  bool is_callers() const noexcept { return holder_.load() == Holder::kCaller; }

 private:
  enum class Holder : std::uint32_t {
    kNobody,
    kThread,
    kPromised,  ///< The thread has it, and a caller gets it next.
    kCaller,
  };

  /// Each transition is written by the function that names it: a caller by
  /// take() and leave(), the progress thread by the two others. kPromised is
  /// left by the thread alone, which notifies the caller.
  std::atomic<Holder> holder_{Holder::kNobody};
};

}  // namespace acp::runtime
