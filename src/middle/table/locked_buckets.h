// A bucket of a set or map and its overflow buckets, locked by the caller.
#pragma once

#include <cstddef>
#include <cstdint>

#include "middle/structure/control.h"
#include "middle/structure/late_looks.h"
#include "middle/structure/wait_queue.h"
#include "middle/table/layout.h"

namespace acp::middle::table {

/// A bucket and its overflow buckets, locked by the caller. One of them is the
/// current bucket. Used by one thread.
class LockedBuckets {
 public:
  LockedBuckets(const structure::Call& call, structure::Scratch& scratch)
      : call_(call), scratch_(scratch) {}

  LockedBuckets(const LockedBuckets&) = delete;
  LockedBuckets& operator=(const LockedBuckets&) = delete;

  ~LockedBuckets() { unlock(); }

  enum class Answer : std::uint8_t { kLocked, kOtherTable, kFailed };

  /// Waits for the lock of `bucket`, which is then the current bucket.
  Answer lock(acp_ga_t share, acp_ga_t bucket, std::uint32_t uid);

  /// A try to lock a bucket, which one chain makes.
  struct Try {
    const std::uint64_t* free;   ///< The lock word before.
    const std::uint64_t* left;   ///< Lock word before a front's try, or null.
    const std::uint64_t* words;  ///< The bucket.
    const std::uint64_t* tail;   ///< WaitQueue::tail of the bucket's lock.

    bool is_locked(std::uint32_t uid) const {
      return *free == locked_by(uid, 0) ||
             (left != nullptr && *left == locked_by(uid, structure::kForQueue));
    }
  };

  /// Adds the steps of a try.
  Try try_in(structure::Chain& chain, acp_ga_t bucket, std::uint32_t uid);
  /// Takes over a lock that a try of the caller's own chain has taken.
  void take(acp_ga_t share,
            acp_ga_t bucket,
            std::uint32_t uid,
            const Try& result);

  /// Address of the current bucket.
  acp_ga_t at() const { return at_; }

  const Bucket& words() const { return words_; }

  /// Goes to the next overflow bucket. False: the job is ending.
  [[nodiscard]] bool next();

  bool has_next() const { return words_.overflow != ACP_GA_NULL; }

  /// Goes to a bucket that has a free entry, and adds an overflow bucket if
  /// there is none. The current bucket must be the last. False: no memory, or
  /// the job is ending.
  [[nodiscard]] bool find_room(std::size_t& entry);

  /// Adds the steps that change an entry of the current bucket.
  void change(structure::Chain& chain,
              std::size_t entry,
              Entry word,
              const std::uint64_t* area);

  /// Adds a change of the share's count of elements.
  void count(structure::Chain& chain, std::uint64_t by) {
    chain.add8(share_ + offsetof(ShareHeader, count), by);
  }

  /// Adds the unlocking to a chain, runs the chain, and tells the next waiter.
  /// False: the job is ending.
  [[nodiscard]] bool unlock_with(structure::Chain& chain) {
    unlock_in(chain);
    return chain.run() && pass();
  }

  /// Adds the unlocking to a chain. The caller calls pass() when the chain is
  /// complete.
  void unlock_in(structure::Chain& chain);

  /// Tells the next waiter. Always true.
  bool pass() {
    turn_.pass();
    return true;
  }

  /// Unlocks if the lock is held. Does not wait for the step, which goes along
  /// with the next operation, unless another rank is known to want the lock.
  void unlock();
  /// Adds the unlocking to a chain and issues the chain. Waits for the chain
  /// only when this thread has waited for the lock. False: the job is ending.
  [[nodiscard]] bool unlock_later(structure::Chain& chain,
                                  structure::Sending sending);

 private:
  [[nodiscard]] bool append();
  acp_ga_t queue_of(acp_ga_t bucket) const;

  std::uint64_t me() const {
    return static_cast<std::uint64_t>(call_.site->rank()) + 1;
  }

  const structure::Call& call_;
  structure::Scratch& scratch_;
  acp_ga_t share_ = ACP_GA_NULL;  ///< The share whose count changes.
  acp_ga_t first_ = ACP_GA_NULL;  ///< The bucket that has the lock.
  acp_ga_t at_ = ACP_GA_NULL;     ///< The current bucket.
  std::uint32_t uid_ = 0;
  Bucket words_{};  ///< The current bucket, as read and as changed here.
  /// First bucket passed that has a free entry.
  acp_ga_t room_at_ = ACP_GA_NULL;
  Bucket room_words_{};
  structure::Turn turn_;
  bool is_locked_ = false;
};

}  // namespace acp::middle::table
