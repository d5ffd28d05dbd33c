// The lock of a bucket and its overflow buckets, and the changes under it.
// Called by the operations on sets and maps. A lock is taken by one
// compare-and-swap, which brings the bucket's words with it. A bucket of
// another table may not be locked.
#include "middle/table/locked_buckets.h"

#include <cstring>

#include "middle/table/entries.h"

namespace acp::middle::table {

using structure::Chain;

acp_ga_t LockedBuckets::queue_of(acp_ga_t bucket) const {
  return call_.site->memory_of(call_.rank) + structure::kBucketQueuesOffset +
         queue_number(bucket, structure::kBucketQueues) *
             sizeof(structure::WaitQueue);
}

/// The expected words contain the uid, so a bucket of another table is never
/// locked. The bucket's words come in the same flight.
LockedBuckets::Try LockedBuckets::try_in(Chain& chain,
                                         acp_ga_t bucket,
                                         std::uint32_t uid) {
  turn_.want(scratch_, queue_of(bucket), call_.function, call_.handle);
  Try result{};
  turn_.announce_in(chain);
  result.free = chain.cas8(bucket, locked_by(uid, 0), locked_by(uid, me()));
  if (__builtin_expect(turn_.is_front(), 0)) {
    result.left = chain.cas8(bucket, locked_by(uid, structure::kForQueue),
                             locked_by(uid, me()));
  }
  result.words = chain.get(bucket, kBucketBytes);
  result.tail = chain.get(turn_.tail_word(), 8);
  return result;
}

void LockedBuckets::take(acp_ga_t share,
                         acp_ga_t bucket,
                         std::uint32_t uid,
                         const Try& result) {
  share_ = share;
  first_ = at_ = bucket;
  uid_ = uid;
  std::memcpy(&words_, result.words, sizeof words_);
  turn_.take(*result.tail);
  is_locked_ = true;
}

/// Tries, and joins the queue when that fails. The queue may belong to another
/// bucket as well, so the front asks for its own bucket each time.
LockedBuckets::Answer LockedBuckets::lock(acp_ga_t share,
                                          acp_ga_t bucket,
                                          std::uint32_t uid) {
  for (;;) {
    scratch_.clear();
    Chain chain(scratch_);
    const Try result = try_in(chain, bucket, uid);
    if (!chain.run()) {
      return Answer::kFailed;
    }
    if (__builtin_expect(result.is_locked(uid), 1)) {
      take(share, bucket, uid, result);
      return Answer::kLocked;
    }
    if (*result.free >> 32 != uid) {
      turn_.give_up();
      return Answer::kOtherTable;
    }
    if (!turn_.wait(*result.free & 0xffff'ffff)) {
      return Answer::kFailed;
    }
  }
}

bool LockedBuckets::next() {
  if (room_at_ == ACP_GA_NULL && free_entry(words_) != kEntries) {
    room_at_ = at_;
    room_words_ = words_;
  }
  at_ = words_.overflow;
  scratch_.clear();
  Chain chain(scratch_);
  const std::uint64_t* words = chain.get(at_, kBucketBytes);
  if (!chain.run()) {
    return false;
  }
  std::memcpy(&words_, words, sizeof words_);
  return true;
}

bool LockedBuckets::find_room(std::size_t& entry) {
  if (room_at_ != ACP_GA_NULL) {
    at_ = room_at_;
    words_ = room_words_;
  } else if (free_entry(words_) == kEntries && !append()) {
    return false;
  }
  entry = free_entry(words_);
  return true;
}

/// Writes a complete, empty bucket before it is linked, so readers without the
/// lock may follow the link at once.
bool LockedBuckets::append() {
  const acp_ga_t added = structure::allocate(kBucketBytes, call_.rank);
  if (added == ACP_GA_NULL) {
    return false;
  }
  Bucket empty{};
  empty.lock = locked_by(uid_, 0);
  scratch_.clear();
  Chain chain(scratch_);
  chain.put_words(added, reinterpret_cast<const std::uint64_t*>(&empty),
                  kBucketBytes / 8);
  chain.put8(at_ + offsetof(Bucket, overflow), added);
  if (!chain.run()) {
    return false;
  }
  at_ = added;
  words_ = empty;
  return true;
}

/// Invariant 3 of layout.h: begin version, area, word, end version.
void LockedBuckets::change(Chain& chain,
                           std::size_t entry,
                           Entry word,
                           const std::uint64_t* area) {
  const std::uint64_t version = words_.begin + 1;
  chain.put8(at_ + offsetof(Bucket, begin), version);
  if (area != nullptr) {
    chain.put_words(area_of(at_, entry), area, kAreaBytes / 8);
  }
  chain.put8(at_ + offsetof(Bucket, entries) + entry * 8, word.word);
  chain.put8(at_ + offsetof(Bucket, end), version);
  words_.begin = words_.end = version;
  words_.entries[entry] = word.word;
}

void LockedBuckets::unlock_in(Chain& chain) {
  turn_.leave_in(chain);
  chain.add8(first_, turn_.unlocked() - me());
  turn_.look_in(chain);
  is_locked_ = false;
}

bool LockedBuckets::unlock_later(Chain& chain, structure::Sending sending) {
  if (turn_.is_front()) {
    return unlock_with(chain);
  }
  chain.add8(first_, turn_.unlocked() - me());
  if (!call_.site->late_looks().post(chain, turn_.front_word(), sending)) {
    turn_.look_in(chain);
    is_locked_ = false;
    return chain.run() && pass();
  }
  is_locked_ = false;
  return true;
}

void LockedBuckets::unlock() {
  if (is_locked_) {
    // A front leaves the queue in a chain that has results.
    if (turn_.is_front()) {
      scratch_.clear();
    }
    Chain chain(scratch_);
    [[maybe_unused]] const bool is_done =
        unlock_later(chain, turn_.has_others() ? structure::Sending::kNow
                                               : structure::Sending::kWithNext);
  }
}

}  // namespace acp::middle::table
