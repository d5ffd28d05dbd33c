// The operations on one element of a set or map. Called by table_api.h,
// map_api.cc, several.cc and copies.cc. Failures are reported with the
// public function's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "acp/element.h"
#include "middle/structure/bytes.h"
#include "middle/structure/control.h"
#include "middle/table/directory.h"
#include "middle/table/layout.h"

namespace acp::middle::table {

/// A key whose bytes this rank can read, and its hash. open() writes all
/// fields. Lives in one call, on its thread.
class Key {
 public:
  /// Takes a key; fetches it when it is another rank's. False: it is empty or
  /// cannot be read (reported), or the job is ending.
  [[nodiscard]] bool open(structure::Scratch& scratch,
                          const structure::Call& call,
                          acp_element_t key);

  const std::byte* bytes() const { return bytes_; }

  std::size_t size() const { return size_; }

  acp_ga_t ga() const { return source_.ga(); }

  std::uint16_t fingerprint() const {
    return static_cast<std::uint16_t>(hash_ * 0x9e37'79b9'7f4a'7c15 >> 48);
  }

  std::size_t share_in(const Directory& directory) const {
    return (hash_ >> 32) * directory.shares.size() >> 32;
  }

  std::uint64_t bucket_in(const Directory& directory) const {
    return (hash_ & 0xffff'ffff) * directory.buckets >> 32;
  }

 private:
  structure::Source source_;
  const std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t hash_ = 0;
};

/// The result of a search. Plain value.
struct Found {
  bool is_there = false;
  int rank = -1;
  /// Number of the bucket in its share, also when the entry is in an overflow
  /// bucket.
  std::uint64_t bucket_index = 0;
  /// The bucket or overflow bucket that has the entry.
  acp_ga_t bucket = ACP_GA_NULL;
  std::size_t entry = 0;
  std::uint64_t generation = 0;
  acp_pair_t pair{};
  /// The serial number of the element's block; 0: it has no block.
  std::uint64_t serial = 0;
  std::uint64_t area[kAreaBytes / 8] = {};
};

/// The addresses and sizes of the key and the value of an entry.
acp_pair_t pair_in(acp_ga_t bucket, const Bucket& words, std::size_t entry);

enum class Outcome : std::uint8_t { kFailed, kInserted, kPresent };

/// False: failed. Otherwise found.is_there tells whether the key is there.
bool find(const structure::Call& call, acp_element_t element, Found& found);

/// Decides what an insert does with a key that is there already.
enum class Present : std::uint8_t {
  kKeep,  ///< The old value stays.
  /// The key gets the new value. Readers see the old or the new one.
  kReplace,
};

/// kPresent: the key was there, and `present` was followed.
Outcome insert(const structure::Call& call,
               acp_element_t element,
               acp_element_t value,
               Present present);

/// Inserts `add` as an 8-byte value, or adds it to the value that is there.
/// `old` gets the value before.
Outcome upsert_add8(const structure::Call& call,
                    acp_element_t element,
                    std::uint64_t add,
                    std::uint64_t& old);

enum class Removal : std::uint8_t { kFailed, kRemoved, kAbsent };
Removal remove(const structure::Call& call, acp_element_t element);

/// Copies the value of pair.first to pair.second and sets `bytes` to the number
/// of bytes. False: failed.
bool retrieve(const structure::Call& call, acp_pair_t pair, std::size_t& bytes);

}  // namespace acp::middle::table
