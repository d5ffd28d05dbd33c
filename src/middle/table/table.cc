// Find, insert, upsert, remove and retrieve of one element. Called by
// table_api.h, several.cc and copies.cc. A find takes no lock and retries on
// a change; the others lock the key's bucket. Every operation begins with the
// directory that this thread knows, and renews it when a bucket has another
// uid.
#include "middle/table/table.h"

#include "middle/table/entries.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>

#include "acp/malloc.h"
#include "middle/structure/waiting.h"

namespace acp::middle::table {

using structure::Backoff;
using structure::Call;
using structure::Chain;
using structure::Scratch;
using structure::Source;

// ---- Keys -----------------------------------------------------------------

namespace {

/// The call, with this rank as the target for bytes that are fetched.
Call here(const Call& call) {
  Call mine = call;
  mine.rank = call.site->rank();
  return mine;
}

}  // namespace

bool Key::open(Scratch& scratch, const Call& call, acp_element_t key) {
  if (key.size == 0) {
    structure::fail_text(call, ACPX_INVALID_ARGUMENT,
                         "the key is empty; it has to have 1 byte or more");
    return false;
  }
  if (!source_.open(scratch, here(call), key.ga, key.size)) {
    return false;
  }
  bytes_ = bytes_at(source_.ga());
  size_ = key.size;
  hash_ = XXH3_64bits(bytes_, size_);
  return true;
}

// ---- Operations -----------------------------------------------------------

namespace {

/// Result of a search without the lock.
enum class Search : std::uint8_t { kDone, kOtherTable, kFailed };

/// Reads the bucket and its overflow buckets, one flight each.
Search search(const Call& call,
              Scratch& scratch,
              const Key& key,
              const Location& location,
              Found& found) {
  Backoff backoff(call.function, call.handle);
  acp_ga_t bucket = location.bucket;
  while (bucket != ACP_GA_NULL) {
    scratch.clear();
    Chain chain(scratch);
    const BucketView view = BucketView::in(chain, bucket);
    if (!chain.run()) {
      return Search::kFailed;
    }
    const Bucket words = view.bucket();
    if (uid_of(words) != location.uid) {
      return Search::kOtherTable;
    }
    std::size_t entry = 0;
    const Match match =
        view.is_whole() ? find_in(scratch, key, words, entry) : Match::kChanged;
    if (match == Match::kFailed ||
        (match == Match::kChanged && !backoff.pause())) {
      return Search::kFailed;
    }
    if (match == Match::kChanged) {
      bucket = location.bucket;  // start again with the first bucket
      continue;
    }
    if (match == Match::kYes) {
      found.rank = location.rank;
      found.bucket_index = location.bucket_index;
      set_found(found, bucket, words, entry);
      return Search::kDone;
    }
    bucket = words.overflow;
  }
  found.is_there = false;
  return Search::kDone;
}

/// Goes to the bucket that has the key, or to the last overflow bucket when
/// none has.
Match search_locked(Scratch& scratch,
                    const Key& key,
                    LockedBuckets& buckets,
                    std::size_t& entry) {
  for (;;) {
    const Match match = find_in(scratch, key, buckets.words(), entry);
    if (match != Match::kNo || !buckets.has_next()) {
      return match;
    }
    if (!buckets.next()) {
      return Match::kFailed;
    }
  }
}

/// Adds a key that no bucket has, then unlocks. The current bucket is the last.
bool put_entry(Scratch& scratch,
               const Key& key,
               NewElement& element,
               LockedBuckets& buckets) {
  std::size_t entry = 0;
  if (!buckets.find_room(entry)) {
    return false;
  }
  scratch.clear();
  Chain chain(scratch);
  element.write(chain, buckets, entry, key);
  buckets.count(chain, 1);
  return buckets.unlock_with(chain);
}

/// Replaces the value of an entry of the current bucket, then unlocks. Readers
/// see the old value or the new one, because both changes lie between the two
/// versions of the bucket.
bool replace(Scratch& scratch,
             const Key& key,
             NewElement& element,
             LockedBuckets& buckets,
             std::size_t entry) {
  const Entry old{buckets.words().entries[entry]};
  const BlockArea area = block_in(buckets.words(), entry);
  scratch.clear();
  Chain chain(scratch);
  element.write(chain, buckets, entry, key);
  if (old.state() == State::kBlock) {
    // a reader that has the old entry sees this and retries
    chain.put8(area.block, 0);
  }
  if (!buckets.unlock_with(chain)) {
    return false;
  }
  if (old.state() == State::kBlock) {
    acp_free(area.block);
  }
  return true;
}

/// Locks the key's bucket, in the table that the handle names now, and calls
/// `work`.
template <typename Work>
auto with_buckets(const Call& call,
                  Scratch& scratch,
                  const Key& key,
                  const Work& work)
    -> decltype(work(std::declval<Location&>(),
                     std::declval<LockedBuckets&>())) {
  unsigned attempts = 0;
  const Directory* directory = find_directory(call);
  while (directory != nullptr) {
    Location location = Location::of(key, *directory);
    Call there = call;
    there.rank = location.rank;
    LockedBuckets buckets(there, scratch);
    switch (buckets.lock(location.share, location.bucket, location.uid)) {
      case LockedBuckets::Answer::kLocked: return work(location, buckets);
      case LockedBuckets::Answer::kFailed: return {};
      case LockedBuckets::Answer::kOtherTable:
        directory = renew_directory(call, attempts);
        break;
    }
  }
  return {};
}

}  // namespace

bool find(const Call& call, acp_element_t element, Found& found) {
  Scratch key_scratch(*call.site);
  Key key;
  if (!key.open(key_scratch, call, element)) {
    return false;
  }
  Scratch scratch(*call.site);
  unsigned attempts = 0;
  const Directory* directory = find_directory(call);
  while (directory != nullptr) {
    const Search result =
        search(call, scratch, key, Location::of(key, *directory), found);
    if (result != Search::kOtherTable) {
      return result == Search::kDone;
    }
    directory = renew_directory(call, attempts);
  }
  return false;
}

namespace {

/// Whether neither the entry nor the new element has a value, as in sets.
bool has_no_value(const LockedBuckets& buckets,
                  std::size_t entry,
                  acp_element_t value) {
  return value.size == 0 &&
         pair_in(buckets.at(), buckets.words(), entry).second.size == 0;
}

}  // namespace

/// Reads the key and the value before it locks. A present key is not written,
/// so its unlocking is not waited for.
Outcome insert(const Call& call,
               acp_element_t element,
               acp_element_t value,
               Present present) {
  Scratch key_scratch(*call.site);
  Scratch value_scratch(*call.site);
  Key key;
  Source source;
  if (!key.open(key_scratch, call, element) ||
      !source.open(value_scratch, here(call), value.ga, value.size)) {
    return Outcome::kFailed;
  }
  Scratch scratch(*call.site);
  return with_buckets(
      call, scratch, key,
      [&](const Location& location, LockedBuckets& buckets) {
        std::size_t entry = 0;
        const Match match = search_locked(scratch, key, buckets, entry);
        const bool is_there = match == Match::kYes;
        if (is_there && (present == Present::kKeep ||
                         has_no_value(buckets, entry, value))) {
          return Outcome::kPresent;
        }
        Call there = call;
        there.rank = location.rank;
        NewElement added;
        if ((!is_there && match != Match::kNo) ||
            !added.make(there, key, source.ga(), value.size)) {
          return Outcome::kFailed;
        }
        const bool is_done = is_there
                                 ? replace(scratch, key, added, buckets, entry)
                                 : put_entry(scratch, key, added, buckets);
        return !is_done   ? Outcome::kFailed
               : is_there ? Outcome::kPresent
                          : Outcome::kInserted;
      });
}

/// The addition and the unlocking are one flight; so are the new element and
/// its unlocking.
Outcome upsert_add8(const Call& call,
                    acp_element_t element,
                    std::uint64_t add,
                    std::uint64_t& old) {
  Scratch key_scratch(*call.site);
  Scratch value_scratch(*call.site);
  Key key;
  if (!key.open(key_scratch, call, element)) {
    return Outcome::kFailed;
  }
  std::memcpy(value_scratch.data(), &add, 8);
  Scratch scratch(*call.site);
  return with_buckets(
      call, scratch, key,
      [&](const Location& location, LockedBuckets& buckets) {
        std::size_t entry = 0;
        const Match match = search_locked(scratch, key, buckets, entry);
        if (match == Match::kYes) {
          const acp_element_t value =
              pair_in(buckets.at(), buckets.words(), entry).second;
          if (value.size != 8) {
            structure::fail_numbers(call, ACPX_INVALID_ARGUMENT,
                                    "the value has {} bytes; a counter has 8",
                                    value.size);
            return Outcome::kFailed;
          }
          scratch.clear();
          Chain chain(scratch);
          const std::uint64_t* before = chain.fetch_add8(value.ga, add);
          if (!buckets.unlock_with(chain)) {
            return Outcome::kFailed;
          }
          old = *before;
          return Outcome::kPresent;
        }
        Call there = call;
        there.rank = location.rank;
        NewElement added;
        if (match != Match::kNo ||
            !added.make(there, key, value_scratch.data_ga(), 8) ||
            !put_entry(scratch, key, added, buckets)) {
          return Outcome::kFailed;
        }
        old = 0;
        return Outcome::kInserted;
      });
}

/// Frees the entry, clears the block's serial number, counts and unlocks in one
/// flight. The block is freed after that.
Removal remove(const Call& call, acp_element_t element) {
  Scratch key_scratch(*call.site);
  Key key;
  if (!key.open(key_scratch, call, element)) {
    return Removal::kFailed;
  }
  Scratch scratch(*call.site);
  return with_buckets(
      call, scratch, key, [&](const Location&, LockedBuckets& buckets) {
        std::size_t entry = 0;
        const Match match = search_locked(scratch, key, buckets, entry);
        if (match != Match::kYes) {
          return match == Match::kNo ? Removal::kAbsent : Removal::kFailed;
        }
        const Entry old{buckets.words().entries[entry]};
        const BlockArea area = block_in(buckets.words(), entry);
        scratch.clear();
        Chain chain(scratch);
        buckets.change(chain, entry,
                       Entry::make(State::kFree, old.generation(), 0, 0, 0),
                       nullptr);
        if (old.state() == State::kBlock) {
          chain.put8(area.block, 0);
        }
        buckets.count(chain, ~std::uint64_t{0});
        if (!buckets.unlock_with(chain)) {
          return Removal::kFailed;
        }
        if (old.state() == State::kBlock) {
          acp_free(area.block);
        }
        return Removal::kRemoved;
      });
}

namespace {

/// Whether an address can be memory of a rank. Reports one that cannot.
bool is_somewhere(const Call& call, acp_ga_t to) {
  const int before = acp_errno;
  const bool is_good = acp_query_rank(to) >= 0;
  acp_errno = before;
  if (!is_good) {
    structure::fail_no_memory(call, to);
  }
  return is_good;
}

/// Copies from a block. The serial number is read after the copy, which may
/// have come after the removal of the element.
Match copy_from_block(Scratch& scratch,
                      const Found& found,
                      acp_ga_t to,
                      std::size_t bytes) {
  if (!structure::copy_checked(to, found.pair.second.ga, bytes)) {
    return Match::kFailed;
  }
  scratch.clear();
  Chain chain(scratch);
  const std::uint64_t* serial =
      chain.get(found.pair.first.ga - kBlockHeaderBytes, 8);
  if (!chain.run()) {
    return Match::kFailed;
  }
  return *serial == found.serial ? Match::kYes : Match::kChanged;
}

/// Copies from an area: the search has read the value with the bucket.
Match copy_from_area(Scratch& scratch,
                     const Found& found,
                     acp_ga_t to,
                     std::size_t bytes) {
  const std::size_t first = padded(found.pair.first.size) / 8;
  std::memcpy(scratch.data(), found.area + first, bytes);
  return structure::copy_checked(to, scratch.data_ga(), bytes) ? Match::kYes
                                                               : Match::kFailed;
}

}  // namespace

/// Finds and copies; again when the element was removed in between.
bool retrieve(const Call& call, acp_pair_t pair, std::size_t& bytes) {
  Scratch scratch(*call.site);
  bytes = 0;
  Match match = Match::kChanged;
  while (match == Match::kChanged) {
    Found found;
    if (!find(call, pair.first, found)) {
      return false;
    }
    const std::size_t some = std::min(pair.second.size, found.pair.second.size);
    if (!found.is_there || some == 0) {
      return true;
    }
    if (!is_somewhere(call, pair.second.ga)) {
      return false;
    }
    match = found.serial != 0
                ? copy_from_block(scratch, found, pair.second.ga, some)
                : copy_from_area(scratch, found, pair.second.ga, some);
    bytes = match == Match::kYes ? some : 0;
  }
  return match == Match::kYes;
}

}  // namespace acp::middle::table
