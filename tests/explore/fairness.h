// Checks that the waiters of a lock get it in turn.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "explore/world.h"

namespace explore {

/// Counts, for each thread that waits for a lock of the data structures, the
/// holders that came after it has joined the queue. docs/containers.md,
/// "Waiting for a lock", invariant 4, has the bound:
///
///     the waiters of this lock before it + one newcomer
///
/// A push that appends to a frozen vector thaws it, so it admits one newcomer
/// more, and is not counted itself. Pushes that only reserve hold no lock.
///
/// A lock is known by the address of its word. Used by one thread.
class Fairness : public StepWatcher {
 public:
  /// `module` is the number of the structures' module.
  Fairness(const World& world, int module) : world_(world), module_(module) {}

  /// Forgets all waiters: a schedule begins.
  void clear();

  void on_change(const WordChange& change) override;

  /// A call that has ended waits no more. It may have left without the lock.
  void on_call_end(const void* thread) override;

  /// The first waiter that was passed too often, or an empty text.
  const std::string& broken() const { return broken_; }

 private:
  struct Waiter {
    const void* thread = nullptr;
    int rank = 0;
    acp_ga_t lock = ACP_GA_NULL;
    unsigned before = 0;    ///< Waiters of this lock when it joined.
    unsigned passes = 0;    ///< Holders since, but for appending pushes.
    unsigned appended = 0;  ///< Appending pushes since.
  };

  enum class Word : std::uint8_t { kOther, kTail, kSync };

  Word word_at(acp_ga_t ga) const;
  void join(const WordChange& change);
  void end_wait(const void* thread);
  void try_lock(const WordChange& change, bool is_taken);

  const World& world_;
  const int module_;
  std::vector<Waiter> waiters_;
  /// The lock that each thread has tried in vain.
  std::unordered_map<const void*, acp_ga_t> wanted_;
  std::string broken_;
};

}  // namespace explore
