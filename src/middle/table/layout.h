// Layout of sets and maps in memory: shares, buckets, entries, blocks.
// docs/containers.md, "Set and map", describes it and changes with this file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "acp/global_memory.h"

namespace acp::middle::table {

inline constexpr std::size_t kEntries = 5;
inline constexpr std::size_t kAreaBytes = 32;

/// A bucket, 256 bytes: up to kEntries elements. Elements that do not fit go to
/// overflow buckets.
///
/// 1. The lock of a bucket is also the lock of its overflow buckets. Only its
///    holder writes to any of them.
/// 2. The uid names the table. An operation that finds another uid has an old
///    directory and reads the control again.
/// 3. A change of an entry writes the begin version, the area, the entry's
///    word, then the end version. A reader reads in the opposite order and
///    retries while the two versions differ.
/// 4. An overflow bucket stays until the table is destroyed.
struct Bucket {
  std::uint64_t lock;  ///< {uid:32 | rank + 1 of the holder, or 0:32}
  std::uint64_t end;   ///< Version, written last.
  std::uint64_t entries[kEntries];
  acp_ga_t overflow;  ///< Next overflow bucket, or ACP_GA_NULL.
  std::uint64_t areas[kEntries][kAreaBytes / 8];
  std::uint64_t begin;  ///< Version, written first.
  std::uint64_t unused[3];
};

inline constexpr std::size_t kBucketBytes = sizeof(Bucket);
static_assert(kBucketBytes == 256);
static_assert(offsetof(Bucket, areas) == 64);

/// The first line of a share, which is the part of a table on one rank. The
/// buckets follow.
struct alignas(64) ShareHeader {
  std::uint64_t count;  ///< Elements of the share. Changed by atomic additions.
};

inline constexpr std::size_t kShareHeaderBytes = sizeof(ShareHeader);

constexpr std::uint64_t locked_by(std::uint32_t uid, std::uint64_t holder) {
  return std::uint64_t{uid} << 32 | holder;
}

/// The number of the queue in which the waiters of a bucket's lock stand, of
/// `queues` on the bucket's rank. A product spreads addresses that differ by
/// multiples of a bucket.
constexpr std::uint64_t queue_number(acp_ga_t bucket, std::uint64_t queues) {
  constexpr std::uint64_t kSpread = 0x9e37'79b9'7f4a'7c15;
  return (bucket * kSpread >> 32) % queues;
}

constexpr std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

enum class State : std::uint8_t { kFree = 0, kInline = 1, kBlock = 2 };

/// The word of an entry: {state:2 | generation:14 | fingerprint:16 | key
/// bytes:16 | value bytes:16}. The sizes are of an element in the area, and 0
/// for one in a block. A free entry keeps its generation, so that old iterators
/// are refused.
struct Entry {
  std::uint64_t word;

  static Entry make(State state,
                    std::uint64_t generation,
                    std::uint16_t fingerprint,
                    std::uint64_t key_bytes,
                    std::uint64_t value_bytes) {
    return {static_cast<std::uint64_t>(state) << 62 |
            (generation & 0x3fff) << 48 | std::uint64_t{fingerprint} << 32 |
            key_bytes << 16 | value_bytes};
  }

  State state() const { return static_cast<State>(word >> 62); }

  std::uint64_t generation() const { return word >> 48 & 0x3fff; }

  std::uint16_t fingerprint() const {
    return static_cast<std::uint16_t>(word >> 32);
  }

  std::uint64_t key_bytes() const { return word >> 16 & 0xffff; }

  std::uint64_t value_bytes() const { return word & 0xffff; }
};

/// The area of an element that is too large for it: the element lies in a block
/// of the heap.
struct BlockArea {
  acp_ga_t block;
  std::uint64_t key_bytes;
  std::uint64_t value_bytes;
  /// Copy of the block's first word, its serial number. The word changes when
  /// the element is removed.
  std::uint64_t serial;
};

static_assert(sizeof(BlockArea) == kAreaBytes);

/// Bytes in front of a block's key. The value follows the key, aligned to 8.
inline constexpr std::size_t kBlockHeaderBytes = 16;

constexpr bool fits_area(std::uint64_t key_bytes, std::uint64_t value_bytes) {
  return key_bytes <= kAreaBytes && value_bytes <= kAreaBytes &&
         padded(key_bytes) + value_bytes <= kAreaBytes;
}

}  // namespace acp::middle::table
