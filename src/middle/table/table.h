// The operations on one element of a set or map. Failures are reported with
// the public function's name.
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

/// A key that can be read here, and where it belongs.
class Key {
 public:
  /// Fetches a key of another rank. False: empty, or cannot be read.
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

/// An element that was found. Plain value.
struct Found {
  bool is_there = false;
  int rank = -1;
  std::uint64_t bucket_index = 0;  ///< The chain's first bucket in its share.
  acp_ga_t bucket = ACP_GA_NULL;   ///< That which has the entry.
  std::size_t entry = 0;
  std::uint64_t generation = 0;
  acp_pair_t pair{};
  std::uint64_t tag = 0;  ///< Of its block; 0: it has none.
  std::uint64_t area[kAreaBytes / 8] = {};
};

/// What an entry of a bucket at `bucket` holds.
acp_pair_t pair_in(acp_ga_t bucket, const Bucket& words, std::size_t entry);

enum class Outcome : std::uint8_t { kFailed, kInserted, kPresent };

/// False: failed. Otherwise found.is_there says.
bool find(const structure::Call& call, acp_element_t element, Found& found);

/// The way of an insert with a key that is there already.
enum class Present : std::uint8_t {
  kKeep,     ///< Nothing: the old value stays.
  kReplace,  ///< It gets the new value, in one step for all readers.
};

/// kPresent: the key was there, and what `present` says has been done.
Outcome insert(const structure::Call& call,
               acp_element_t element,
               acp_element_t value,
               Present present);

/// As insert of `add`; a value that is there, 8 bytes, gets it added.
Outcome upsert_add8(const structure::Call& call,
                    acp_element_t element,
                    std::uint64_t add,
                    std::uint64_t& old);

enum class Removal : std::uint8_t { kFailed, kRemoved, kAbsent };
Removal remove(const structure::Call& call, acp_element_t element);

/// Copies the value; `bytes` is how many. False: failed.
bool retrieve(const structure::Call& call, acp_pair_t pair, std::size_t& bytes);

}  // namespace acp::middle::table
