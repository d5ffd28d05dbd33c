// Recognises locks, tries and waiters by the steps that containers.md lists.
// Called by the World at each atomic step of a schedule.
#include "explore/fairness.h"

#include <algorithm>

#include "middle/structure/control.h"
#include "middle/vector/vector.h"

namespace explore {

namespace {

namespace structure = acp::middle::structure;
using acp::middle::vector::Reservations;

constexpr std::uint64_t kLowHalf = 0xffff'ffff;

/// Whether a compare-and-swap takes a lock: its word has the rank + 1 in the
/// low half. The high half is the uid of a bucket, or 0 in a control.
bool is_try(const acpx_op_t& op, int rank) {
  const std::uint64_t low = op.compare & kLowHalf;
  return op.opcode == ACPX_CAS8 && op.compare >> 32 == op.operand >> 32 &&
         (low == 0 || low == structure::kForQueue) &&
         (op.operand & kLowHalf) == static_cast<std::uint64_t>(rank) + 1;
}

bool is_frozen(std::uint64_t word) {
  return (word & Reservations::kFrozen) != 0;
}

/// Whether the lock is a vector's. Other locks are taken by a compare-and-swap.
bool is_vector(const acpx_op_t& op) {
  return op.opcode != ACPX_CAS8;
}

/// Whether the chain is that of a push: it reserves, or says where its
/// reservation begins, before it freezes the vector.
bool is_of_push(const std::vector<acpx_op_t>& chain, acp_ga_t sync) {
  return chain.front().opcode == ACPX_PUT8 ||
         std::any_of(chain.begin(), chain.end(), [&](const acpx_op_t& op) {
           return op.opcode == ACPX_ADD8 && op.remote == sync;
         });
}

}  // namespace

void Fairness::clear() {
  waiters_.clear();
  wanted_.clear();
  broken_.clear();
}

/// Tells what a word of the structures' module is for.
Fairness::Word Fairness::word_at(acp_ga_t ga) const {
  const int rank = world_.memory().rank_of(ga);
  const std::uint64_t offset = ga - world_.module_ga(module_, rank);
  if (offset >= structure::kModuleBytes) {
    return Word::kOther;
  }
  if (offset >= structure::kControlsOffset) {
    const std::uint64_t word =
        (offset - structure::kControlsOffset) % structure::kControlBytes / 8;
    return word == structure::kQueueWord  ? Word::kTail
           : word >= structure::kSyncWord ? Word::kSync
                                          : Word::kOther;
  }
  const std::uint64_t in = offset - structure::kBucketQueuesOffset;
  return in < structure::kBucketQueues * sizeof(structure::WaitQueue) &&
                 in % sizeof(structure::WaitQueue) == 0
             ? Word::kTail
             : Word::kOther;
}

/// Locks of buckets and of controls are taken by a compare-and-swap, and
/// vectors by the bit `frozen`, or by clearing the bit `queued`. A push that
/// has reserved waits no more for the lock.
void Fairness::on_change(const WordChange& change) {
  const acpx_op_t& op = change.op;
  if (is_try(op, change.rank)) {
    try_lock(change, change.old == op.compare);
    return;
  }
  const Word word = word_at(op.remote);
  if (word == Word::kTail && op.opcode == ACPX_SWAP8) {
    join(change);
  }
  if (word != Word::kSync) {
    return;
  }
  const bool is_left =
      is_frozen(change.old) && (change.old & Reservations::kQueued) != 0;
  if (op.opcode == ACPX_OR8) {
    try_lock(change, !is_frozen(change.old));
  } else if (op.opcode == ACPX_AND8 && is_left) {
    try_lock(change, true);
  } else if (op.opcode == ACPX_ADD8 && is_frozen(change.old)) {
    wanted_[change.thread] = op.remote;
  } else if (op.opcode == ACPX_ADD8) {
    end_wait(change.thread);
  }
}

void Fairness::on_call_end(const void* thread) {
  end_wait(thread);
}

void Fairness::end_wait(const void* thread) {
  std::erase_if(waiters_,
                [&](const Waiter& waiter) { return waiter.thread == thread; });
}

void Fairness::join(const WordChange& change) {
  end_wait(change.thread);
  const acp_ga_t lock = wanted_[change.thread];
  const auto before =
      std::count_if(waiters_.begin(), waiters_.end(),
                    [&](const Waiter& waiter) { return waiter.lock == lock; });
  waiters_.push_back(
      {change.thread, change.rank, lock, static_cast<unsigned>(before)});
}

/// A thread that has taken the lock has passed all that wait for it.
void Fairness::try_lock(const WordChange& change, bool is_taken) {
  if (!is_taken) {
    wanted_[change.thread] = change.op.remote;
    return;
  }
  end_wait(change.thread);
  const bool is_append =
      is_vector(change.op) && is_of_push(change.chain, change.op.remote);
  for (Waiter& waiter : waiters_) {
    if (waiter.lock != change.op.remote) {
      continue;
    }
    ++(is_append ? waiter.appended : waiter.passes);
    const unsigned most = waiter.before + 1 + waiter.appended;
    if (waiter.passes > most && broken_.empty()) {
      broken_ = "rank " + std::to_string(waiter.rank) +
                " waits for a lock, and was passed " +
                std::to_string(waiter.passes) + " times; " +
                std::to_string(waiter.before) + " stood before it, so " +
                std::to_string(most) + " at most may pass";
    }
  }
}

}  // namespace explore
