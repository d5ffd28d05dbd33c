// Unlockings that no call waits for. A holder looks for waiters after it has
// unlocked, and the result of that look may come when the call has returned.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "acp/global_memory.h"
#include "middle/structure/site.h"

namespace acp::middle::structure {

class Chain;

/// The time at which a chain is sent: at once, or with the next operation.
enum class Sending : std::uint8_t { kNow, kWithNext };

/// The looks under way of this rank. A progress step wakes the waiters that
/// they find. The step is there only while looks are under way, and a short
/// time longer. Thread-safe.
class LateLooks {
 public:
  /// `memory` is the address of this rank's module memory.
  LateLooks(Site& site, acp_ga_t memory);

  /// Adds a look at WaitQueue::front to a chain that unlocks, and issues the
  /// chain. False: nothing was done, because too many looks are under way.
  [[nodiscard]] bool post(Chain& chain, acp_ga_t front, Sending sending);

  /// Waits until the looks are done, and removes the step.
  void finish();

 private:
  static int run_step(void* self);
  static int has_none(void* self);
  bool claim(unsigned& slot);
  void release(unsigned slot);
  std::uint64_t* word(unsigned slot) const;
  bool take(unsigned slot);
  void begin_step();
  bool end_step();

  Site& site_;
  const acp_ga_t memory_;
  /// One bit for each slot in use. Any thread sets it by claim().
  std::atomic<std::uint64_t> claimed_{0};
  /// One bit for each slot whose result is still to come. The
  /// thread that clears the bit wakes the waiter.
  std::atomic<std::uint64_t> pending_{0};
  unsigned idle_runs_ = 0;  ///< Runs without work; the step alone uses it.
  std::mutex step_lock_;    ///< Guards has_step_. No wait happens under it.
  bool has_step_ = false;
};

}  // namespace acp::middle::structure
