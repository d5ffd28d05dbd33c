// The lock of a bucket and its overflow buckets, and the changes under it.
// Called by the operations on sets and maps. A lock is taken by one
// compare-and-swap, which brings the bucket's words with it. A bucket of
// another table may not be locked.
#include "middle/table/locked_buckets.h"

#include <cstring>

#include "middle/structure/waiting.h"
#include "middle/table/entries.h"

namespace acp::middle::table {

using structure::Backoff;
using structure::Chain;

void LockedBuckets::take(acp_ga_t share,
                         acp_ga_t bucket,
                         std::uint32_t uid,
                         const std::uint64_t* words) {
  share_ = share;
  first_ = at_ = bucket;
  uid_ = uid;
  std::memcpy(&words_, words, sizeof words_);
  is_locked_ = true;
}

/// The expected word contains the uid, so a bucket of another table is never
/// locked. The bucket's words come in the same flight.
LockedBuckets::Answer LockedBuckets::lock(acp_ga_t share,
                                          acp_ga_t bucket,
                                          std::uint32_t uid) {
  const auto me = static_cast<std::uint64_t>(call_.site->rank()) + 1;
  Backoff backoff(call_.function, call_.handle);
  for (;;) {
    scratch_.clear();
    Chain chain(scratch_);
    const std::uint64_t* old =
        chain.cas8(bucket, locked_by(uid, 0), locked_by(uid, me));
    const std::uint64_t* words = chain.get(bucket, kBucketBytes);
    if (!chain.run()) {
      return Answer::kFailed;
    }
    if (__builtin_expect(*old == locked_by(uid, 0), 1)) {
      take(share, bucket, uid, words);
      return Answer::kLocked;
    }
    if (*old >> 32 != uid) {
      return Answer::kOtherTable;
    }
    is_wanted_ = true;
    if (!backoff.pause(*old & 0xffff'ffff)) {
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

void LockedBuckets::unlock() {
  if (is_locked_) {
    Chain chain(scratch_);
    unlock_in(chain);
    if (is_wanted_) {
      chain.post();
    } else {
      chain.post_with_next();
    }
  }
}

}  // namespace acp::middle::table
