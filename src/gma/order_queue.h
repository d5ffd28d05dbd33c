// Numbers, conditions and completion in order of the queued operations.
//
// Operations that wait hang in a list at the entry of the number that they wait
// for. Invariants (docs/engine.md, "Handles"):
//  1. completed() <= issued().
//  2. An operation starts at most once, and not before its order is complete.
//  3. An operation completes exactly once. completed() stops at the first
//     operation that is not done.
//  4. An entry is in use from push() until completed() has passed it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "gma/failure_log.h"
#include "gma/operation.h"

namespace acp::gma {

/// Guarded by the engine's mutex, except for the readers marked "any thread".
class OrderQueue {
 public:
  /// Operations of a rank that may be incomplete; a caller beyond makes
  /// progress until one is complete. A power of two is cheapest. docs/engine.md
  /// names the number.
  static constexpr std::size_t kCapacity = 4096;

  OrderQueue();

  /// Number of the newest queued operation, from 1. Any thread.
  Sequence issued() const noexcept {
    return issued_.load(std::memory_order_acquire);
  }

  /// All operations up to here are complete. Any thread.
  Sequence completed() const noexcept {
    return completed_.load(std::memory_order_acquire);
  }

  /// Operations are queued, or failures not collected. Any thread; false
  /// makes everything before visible that the operations did.
  bool is_busy() const noexcept {
    return is_busy_.load(std::memory_order_acquire);
  }

  /// The words behind issued() and is_busy(), for inlined operations of
  /// programs (acp/inline.h).
  const std::atomic<Sequence>& issued_word() const noexcept { return issued_; }

  const std::atomic<bool>& busy_word() const noexcept { return is_busy_; }

  bool is_full() const noexcept { return issued() - completed() >= kCapacity; }

  /// Takes the next number. The operation waits when `wait_for` is not
  /// complete; else the caller starts it. Precondition: !is_full().
  Sequence push(Operation& operation, Sequence wait_for);

  /// The operation with this number has ended.
  void finish(Sequence sequence, Status status);

  /// Whether retire() would move completed() on.
  bool has_done() noexcept {
    const Sequence next = completed() + 1;
    return next <= issued() && entry(next).is_done;
  }

  /// Moves completed() on and collects the operations whose condition holds
  /// now, in order of issue per condition. True when completed() moved.
  bool retire(std::vector<Operation*>& ready);

  /// The reason of the first failure at or below `sequence` that no call has
  /// collected; kOk without one. Collected failures do not count, not even for
  /// their own number: direct operations have borrowed it since.
  Status failure_up_to(Sequence sequence) const noexcept {
    return failures_.first_up_to(sequence);
  }

  /// Like failure_up_to(), and marks all failures up to there as collected.
  Status collect_up_to(Sequence sequence);

  /// acp_reset: forgets failures. Precondition: nothing is queued.
  void clear_failures();

 private:
  /// push() clears an entry and adds its operation to the list that it waits
  /// in; finish() writes the last two.
  struct Entry {
    Operation* first_waiter = nullptr;  ///< List of waiters for this number.
    Operation* last_waiter = nullptr;   ///< End of that list.
    Operation* next_waiter = nullptr;   ///< Waits for the same number as this.
    bool is_done = false;               ///< The operation has ended.
    Status status = Status::kOk;        ///< With is_done: how it ended.
  };

  Entry& entry(Sequence sequence) {
    return *std::launder(reinterpret_cast<Entry*>(room_of(sequence)));
  }

  std::byte* room_of(Sequence sequence) {
    return rooms_.get() + sequence % kCapacity * sizeof(Entry);
  }

  void update_busy();

  /// Room for the entries, by number modulo kCapacity. push() makes an entry
  /// there, so a process that has queued few operations has touched few pages.
  std::unique_ptr<std::byte[]> rooms_;
  FailureLog failures_;  ///< Written by retire() and collect_up_to().
  /// The three atomics are stored with release order under the engine's mutex,
  /// and loaded with acquire order by any thread. push() stores is_busy_ before
  /// issued_, and retire() stores completed_ before is_busy_.
  std::atomic<Sequence> issued_{1};     ///< Written by push().
  std::atomic<Sequence> completed_{1};  ///< Written by retire().
  std::atomic<bool> is_busy_{false};    ///< Written by push(), update_busy().
};

}  // namespace acp::gma
