// How the threads of all ranks wait for a lock of a data structure: in a queue,
// asleep until they are signalled. Used by Lock, LockedBuckets and
// FrozenVector, which own the word that is the lock. docs/containers.md,
// "Waiting for a lock", has the states and the reasons.
#pragma once

#include <cstddef>
#include <cstdint>

#include "middle/structure/chain.h"
#include "middle/structure/site.h"

namespace acp::middle::structure {

/// A lock word, in its lower 32 bits, while the lock is free for the front of
/// the queue alone. No rank + 1 has this bit.
inline constexpr std::uint64_t kForQueue = std::uint64_t{1} << 31;

/// Wakes the front of a queue, so that it tries to take its lock.
/// `front` is the content of WaitQueue::front, or 0 for no waiter. False:
/// refused, and has to be tried again.
bool wake_front(const Site& site, std::uint64_t front);

/// The way of one thread to one lock, and from it to the next waiter.
///
/// 1. WaitQueue::tail names the newest waiter. Each waiter knows the one that
///    swapped itself in behind it, by its WaitNode::next.
/// 2. One waiter at most is the front. It writes itself to WaitQueue::front and
///    tries to take the lock then, in this order.
/// 3. A holder unlocks and reads WaitQueue::front then, in this order. So
///    either the front finds the lock free, or the holder finds the front and
///    wakes it.
/// 4. A holder that has seen waiters leaves kForQueue in the lock. A newcomer
///    cannot take the lock then, and joins the queue.
/// 5. A front leaves the queue when it unlocks. It makes the next waiter the
///    front.
///
/// Used by one thread, and for one lock at a time with each scratch.
class Turn {
 public:
  /// Says which lock is wanted. `queue` is the address of the lock's
  /// WaitQueue, on the rank of the lock. `what` and `where` appear in the line
  /// that a long wait writes.
  void want(Scratch& scratch, acp_ga_t queue, const char* what, acp_ga_t where);

  /// Whether this thread may take a lock that is kForQueue.
  bool is_front() const { return is_front_; }

  /// Begins a chain that tries to take the lock. Nothing is added unless this
  /// thread is the front.
  void announce_in(Chain& chain);

  /// After a try that has failed: joins the queue and waits to be its front;
  /// the front waits until it is woken. The scratch is cleared. `holder` is the
  /// rank + 1 that has the lock. False: the job is ending.
  [[nodiscard]] bool wait(std::uint64_t holder);

  /// Notes that the lock was taken. `tail` is WaitQueue::tail, read after that.
  void take(std::uint64_t tail);

  /// Adds the steps before the unlocking. has_others() is known from here on.
  void leave_in(Chain& chain);

  /// Whether other threads wait, so that the lock has to be left to the queue.
  bool has_others() const { return has_others_; }

  /// The lower 32 bits of a lock word that this holder leaves behind.
  std::uint64_t unlocked() const { return has_others_ ? kForQueue : 0; }

  /// Adds the step behind the unlocking.
  void look_in(Chain& chain);

  /// Wakes or names the next waiter, once the chain is complete.
  void pass();

  /// Leaves the queue without having had the lock.
  void give_up();

  /// Where a holder that is not the front has to look after its unlocking.
  acp_ga_t front_word() const { return queue_ + offsetof(WaitQueue, front); }

  /// The word that take() wants, read once the lock is taken.
  acp_ga_t tail_word() const { return queue_ + offsetof(WaitQueue, tail); }

 private:
  [[nodiscard]] bool join();
  [[nodiscard]] bool wait_word(std::size_t offset,
                               std::uint64_t unlike,
                               std::uint64_t holder);

  // want() writes these.
  Scratch* scratch_ = nullptr;
  acp_ga_t queue_ = ACP_GA_NULL;
  const char* what_ = "";
  acp_ga_t where_ = ACP_GA_NULL;
  std::uint64_t me_ = 0;  ///< Number of this thread's node, + 1.

  bool is_front_ = false;    ///< join() sets it, pass() clears it.
  bool has_others_ = false;  ///< take() and leave_in() write it.
  std::uint64_t looks_ = 0;  ///< Wake-ups before the newest try.
  unsigned reports_ = 0;     ///< Lines written about this wait.
  /// Results of the chain that unlocks; null: it has no such step.
  const std::uint64_t* old_tail_ = nullptr;
  const std::uint64_t* front_seen_ = nullptr;
};

}  // namespace acp::middle::structure
