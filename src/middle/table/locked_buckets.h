// A bucket of a set or map and its overflow buckets, locked by the caller.
#pragma once

#include <cstddef>
#include <cstdint>

#include "middle/structure/control.h"
#include "middle/table/layout.h"

namespace acp::middle::table {

/// A chain of buckets that the caller has locked, and one of its buckets.
class LockedBuckets {
 public:
  LockedBuckets(const structure::Call& call, structure::Scratch& scratch)
      : call_(call), scratch_(scratch) {}

  LockedBuckets(const LockedBuckets&) = delete;
  LockedBuckets& operator=(const LockedBuckets&) = delete;

  ~LockedBuckets() { unlock(); }

  enum class Answer : std::uint8_t { kLocked, kOtherTable, kFailed };

  /// Waits for the lock of the chain of `bucket`, which is then current.
  Answer lock(acp_ga_t share, acp_ga_t bucket, std::uint32_t uid);
  /// The same when a chain has been posted that has both: its results.
  void take(acp_ga_t share,
            acp_ga_t bucket,
            std::uint32_t uid,
            const std::uint64_t* words);

  /// The current bucket.
  acp_ga_t at() const { return at_; }

  const Bucket& words() const { return words_; }

  /// Goes to the next of the chain. False: the end of the job.
  [[nodiscard]] bool next();

  bool has_next() const { return words_.overflow != ACP_GA_NULL; }

  /// From the last of the chain: goes to one that has a free entry, a new one
  /// if need be. False: no memory, or the end of the job.
  [[nodiscard]] bool find_room(std::size_t& entry);

  /// Adds the change of an entry of the current bucket.
  void change(structure::Chain& chain,
              std::size_t entry,
              Entry word,
              const std::uint64_t* area);
  /// Adds a change of the share's count.
  void count(structure::Chain& chain, std::uint64_t by);
  /// Adds the unlocking.
  void unlock_in(structure::Chain& chain);
  /// Unlocks when it is locked; does not wait. Goes along with the next
  /// operation when nobody else is known to want the lock.
  void unlock();

 private:
  [[nodiscard]] bool append();

  const structure::Call& call_;
  structure::Scratch& scratch_;
  acp_ga_t share_ = ACP_GA_NULL;
  acp_ga_t first_ = ACP_GA_NULL;
  acp_ga_t at_ = ACP_GA_NULL;
  std::uint32_t uid_ = 0;
  Bucket words_{};
  acp_ga_t room_at_ = ACP_GA_NULL;  ///< The first passed that has room.
  Bucket room_words_{};
  bool is_locked_ = false;
  bool is_wanted_ = false;  ///< By others too, as far as is known.
};

}  // namespace acp::middle::table
