// Entries of buckets: reads them, compares their keys, and makes new ones.
#pragma once

#include <algorithm>
#include <cstring>
#include <iterator>

#include "middle/structure/bytes.h"
#include "middle/table/locked_buckets.h"
#include "middle/table/table.h"

namespace acp::middle::table {

/// The bytes at an address of this rank's memory.
inline const std::byte* bytes_at(acp_ga_t ga) {
  return static_cast<const std::byte*>(acp_query_address(ga));
}

inline acp_ga_t area_of(acp_ga_t bucket, std::size_t entry) {
  return bucket + offsetof(Bucket, areas) + entry * kAreaBytes;
}

inline BlockArea block_in(const Bucket& words, std::size_t entry) {
  const std::uint64_t* area = words.areas[entry];
  return {area[0], area[1], area[2], area[3]};
}

inline std::uint32_t uid_of(const Bucket& words) {
  return static_cast<std::uint32_t>(words.lock >> 32);
}

/// The number of the first free entry; kEntries when there is none.
inline std::size_t free_entry(const Bucket& words) {
  std::size_t entry = 0;
  while (entry < kEntries &&
         Entry{words.entries[entry]}.state() != State::kFree) {
    ++entry;
  }
  return entry;
}

/// Whether the bucket has an element in a block, whose key may have to be
/// fetched.
inline bool has_block(const Bucket& words) {
  return std::any_of(
      std::begin(words.entries), std::end(words.entries),
      [](std::uint64_t word) { return Entry{word}.state() == State::kBlock; });
}

/// Result of a comparison. kChanged: the block was removed meanwhile, so the
/// bucket has to be read again.
enum class Match : std::uint8_t { kYes, kNo, kChanged, kFailed };

/// Finds a key in one bucket, whose words are given. Sets `entry` to its
/// number.
Match find_in(structure::Scratch& scratch,
              const Key& key,
              const Bucket& words,
              std::size_t& entry);

void set_found(Found& found,
               acp_ga_t bucket,
               const Bucket& words,
               std::size_t entry);

/// A bucket that one chain has read, with its versions.
struct BucketView {
  const std::uint64_t* end = nullptr;
  const std::uint64_t* words = nullptr;
  const std::uint64_t* begin = nullptr;

  static BucketView in(structure::Chain& chain, acp_ga_t bucket) {
    BucketView view{};
    view.end = chain.get(bucket + offsetof(Bucket, end), 8);
    view.words = chain.get(bucket, kBucketBytes);
    view.begin = chain.get(bucket + offsetof(Bucket, begin), 8);
    return view;
  }

  bool is_whole() const { return *begin == *end; }

  Bucket bucket() const {
    Bucket copy;  // NOLINT(*-member-init): all of it is copied over
    std::memcpy(&copy, words, sizeof copy);
    return copy;
  }
};

/// The share and the bucket that a key belongs to. Plain value.
struct Location {
  acp_ga_t share = ACP_GA_NULL;
  acp_ga_t bucket = ACP_GA_NULL;
  std::uint64_t bucket_index = 0;
  std::uint32_t uid = 0;
  int rank = -1;

  static Location of(const Key& key, const Directory& directory) {
    const std::size_t share = key.share_in(directory);
    const std::uint64_t index = key.bucket_in(directory);
    return {directory.shares[share], directory.bucket(share, index), index,
            directory.uid, acp_query_rank(directory.shares[share])};
  }
};

/// A new element: its area and, when it is large, its block. The block is freed
/// unless write() was called. Lives in one call, on its thread.
class NewElement {
 public:
  /// Prepares the element. Key and value are on the caller's rank, and the
  /// block is allocated on call.rank. False: no memory.
  [[nodiscard]] bool make(const structure::Call& call,
                          const Key& key,
                          acp_ga_t value,
                          std::uint64_t value_bytes);

  /// Adds the steps that write the element to an entry of the current bucket.
  void write(structure::Chain& chain,
             LockedBuckets& buckets,
             std::size_t entry,
             const Key& key);

 private:
  // The thread of the call alone uses these fields, so no lock guards them.
  // make() writes them.
  /// Content of the area. When there is a block, write() names it here.
  std::uint64_t area_[kAreaBytes / 8] = {};
  std::uint64_t key_bytes_ = 0;
  std::uint64_t value_bytes_ = 0;
  // Set when there is a block: where its key and its value come from, and its
  // serial number.
  acp_ga_t key_ = ACP_GA_NULL;
  acp_ga_t value_ = ACP_GA_NULL;
  std::uint64_t serial_ = 0;
  structure::Block block_;  ///< Given away by write().
};

}  // namespace acp::middle::table
