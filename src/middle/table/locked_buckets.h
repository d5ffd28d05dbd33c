// A bucket of a set or map and its overflow buckets, locked by the caller.
#pragma once

#include <cstddef>
#include <cstdint>

#include "middle/structure/control.h"
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
  /// Takes over a lock that the caller's own chain has taken and whose bucket
  /// that chain has read.
  void take(acp_ga_t share,
            acp_ga_t bucket,
            std::uint32_t uid,
            const std::uint64_t* words);

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

  /// Adds the unlocking to a chain.
  void unlock_in(structure::Chain& chain) {
    chain.add8(first_,
               0 - (static_cast<std::uint64_t>(call_.site->rank()) + 1));
    is_locked_ = false;
  }

  /// Unlocks if the lock is held, and does not wait for the step. The step goes
  /// along with the next operation, unless another rank is known to want the
  /// lock.
  void unlock();

 private:
  [[nodiscard]] bool append();

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
  bool is_locked_ = false;
  /// This call had to wait for the lock, so other ranks may wait, too.
  bool is_wanted_ = false;
};

}  // namespace acp::middle::table
