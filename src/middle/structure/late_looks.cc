// Looks for waiters after unlockings that no call waits for. Called by the
// locks. Results arrive in slots of the module's memory, and a progress step
// takes them. Nothing here waits, but for finish().
#include "middle/structure/late_looks.h"

#include <bit>

#include "acp/extension.h"
#include "middle/structure/chain.h"
#include "middle/structure/wait_queue.h"

namespace acp::middle::structure {

namespace {

/// A slot whose result has not come. No waiter has this number.
constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

/// Runs of the step without work before it goes. A program that unlocks again
/// and again need not add it each time. Any number will do.
constexpr unsigned kIdleRuns = 1000;

constexpr std::uint64_t bit(unsigned slot) {
  return std::uint64_t{1} << slot;
}

static_assert(kLateLooks == 64);

}  // namespace

LateLooks::LateLooks(Site& site, acp_ga_t memory)
    : site_(site), memory_(memory + kLateLooksOffset) {}

std::uint64_t* LateLooks::word(unsigned slot) const {
  return reinterpret_cast<std::uint64_t*>(site_.memory(kLateLooksOffset)) +
         slot;
}

bool LateLooks::claim(unsigned& slot) {
  std::uint64_t claimed = claimed_.load(std::memory_order_relaxed);
  do {
    slot = static_cast<unsigned>(std::countr_one(claimed));
    if (slot == kLateLooks) {
      return false;
    }
    // Pairs with release(): the last use of the slot comes before.
  } while (!claimed_.compare_exchange_weak(claimed, claimed | bit(slot),
                                           std::memory_order_acquire,
                                           std::memory_order_relaxed));
  return true;
}

void LateLooks::release(unsigned slot) {
  claimed_.fetch_and(~bit(slot), std::memory_order_release);
}

/// A chain on this host is complete already. Otherwise the slot becomes
/// pending, and is looked at once more: its result may have come before the
/// step could see the slot.
bool LateLooks::post(Chain& chain, acp_ga_t front, Sending sending) {
  unsigned slot = 0;
  if (!claim(slot)) {
    return false;
  }
  const std::atomic_ref result(*word(slot));
  result.store(kUnknown, std::memory_order_relaxed);
  chain.get_to(front, memory_ + slot * sizeof(std::uint64_t), 8);
  const acp_handle_t handle =
      sending == Sending::kNow ? chain.post() : chain.post_with_next();
  if (handle == ACP_HANDLE_NULL) {
    release(slot);
    return true;  // the job is ending
  }
  if (const std::uint64_t seen = result.load(std::memory_order_acquire);
      seen != kUnknown) {
    wake_front(site_, seen);
    release(slot);
    return true;
  }
  pending_.fetch_or(bit(slot), std::memory_order_acq_rel);
  begin_step();
  (void)take(slot);
  return true;
}

/// Wakes the waiter of a slot whose result is here. False: there is none, or it
/// could not be woken yet.
bool LateLooks::take(unsigned slot) {
  const std::uint64_t front =
      std::atomic_ref(*word(slot)).load(std::memory_order_acquire);
  if (front == kUnknown ||
      (pending_.fetch_and(~bit(slot), std::memory_order_acq_rel) & bit(slot)) ==
          0) {
    return false;
  }
  if (!wake_front(site_, front)) {
    pending_.fetch_or(bit(slot), std::memory_order_release);
    return false;
  }
  release(slot);
  return true;
}

/// Runs in each pass of progress, also of the library's own thread.
int LateLooks::run_step(void* self) {
  auto& looks = *static_cast<LateLooks*>(self);
  bool has_worked = false;
  std::uint64_t pending = looks.pending_.load(std::memory_order_acquire);
  looks.idle_runs_ = pending == 0 ? looks.idle_runs_ + 1 : 0;
  for (; pending != 0; pending &= pending - 1) {
    has_worked = looks.take(static_cast<unsigned>(std::countr_zero(pending))) ||
                 has_worked;
  }
  return has_worked || looks.end_step() ? 1 : 0;
}

/// Adds the step if it is not there. No lock may be held while it is added,
/// because that waits for a run of the step that removes itself.
void LateLooks::begin_step() {
  {
    const std::lock_guard lock(step_lock_);
    if (has_step_) {
      return;
    }
    has_step_ = true;
  }
  acpx_add_progress(run_step, this);
}

/// Removes the step from inside when it had no work for long.
bool LateLooks::end_step() {
  if (idle_runs_ < kIdleRuns) {
    return false;
  }
  idle_runs_ = 0;
  const std::lock_guard lock(step_lock_);
  if (has_step_ && pending_.load(std::memory_order_acquire) == 0) {
    has_step_ = false;
    acpx_remove_progress(run_step, this);
  }
  return false;
}

int LateLooks::has_none(void* self) {
  return static_cast<LateLooks*>(self)->pending_.load(
             std::memory_order_acquire) == 0
             ? 1
             : 0;
}

void LateLooks::finish() {
  // When the job is ending, these results do not matter.
  (void)acpx_wait_until(has_none, this, -1);
  {
    const std::lock_guard lock(step_lock_);
    if (!has_step_) {
      return;
    }
    has_step_ = false;
  }
  // Not under the lock: this waits for a run of the step, which takes the lock.
  acpx_remove_progress(run_step, this);
}

}  // namespace acp::middle::structure
