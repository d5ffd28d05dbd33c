// Visits the elements of a set or map without locks. An element that is there
// all the time is visited once, and no element twice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "middle/table/table.h"

namespace acp::middle::table {

/// All shares, or the caller's alone.
enum class Extent : std::uint8_t { kAll, kLocal };

/// A position in a table, as iterators keep it. `entry` is the bucket's
/// address, which is aligned to 64, plus {generation:3 | number of the
/// entry:3}. ACP_GA_NULL is the end.
struct Position {
  Extent extent = Extent::kAll;
  int rank = -1;
  std::uint64_t bucket_index = 0;
  acp_ga_t entry = ACP_GA_NULL;

  static Position of(Extent extent, const Found& found);

  acp_ga_t bucket() const { return entry & ~acp_ga_t{63}; }

  std::size_t number() const { return entry & 7; }

  std::uint64_t generation() const { return entry >> 3 & 7; }
};

/// A walk through the shares. It reads 16 buckets of a share at a time, twice
/// in one flight. A bucket that is equal in both reads is of one version. Used
/// by one thread.
class Walk {
 public:
  Walk(const structure::Call& call, Extent extent)
      : call_(call), extent_(extent), scratch_(*call.site) {}

  /// Goes in front of the first element. False: failed.
  [[nodiscard]] bool begin();
  /// Goes to the element of a position. False: failed.
  [[nodiscard]] bool begin_at(const Position& position);

  /// Goes to the next element. At the end found().is_there is false. False:
  /// failed.
  [[nodiscard]] bool next();

  const Found& found() const { return found_; }

  /// The bytes of an element on the caller's rank. Those of a small element are
  /// in the walk's scratch, until the walk goes on.
  struct Copy {
    bool is_there = false;
    acp_pair_t pair{};
    structure::Block block;
  };

  /// The part of an element that is copied.
  enum class Part : std::uint8_t { kPair, kKey };

  /// Copies the element found, or only its key; the value is then undefined.
  /// is_there is false when the element was removed meanwhile. False: no
  /// memory, or the job is ending.
  [[nodiscard]] bool copy(Copy& copy, Part part);

 private:
  bool read(acp_ga_t bucket, std::size_t count);
  bool next_bucket();
  bool copy_block(Copy& copy, Part part);

  /// Buckets of a flight: two reads of them fill the 8 KiB of a scratch.
  static constexpr std::size_t kAtOnce = 16;

  const structure::Call& call_;
  const Extent extent_;
  structure::Scratch scratch_;
  // begin(), begin_at() and next() write all fields from here on.
  Directory directory_;
  Found found_;
  std::size_t share_ = 0;      ///< The current share.
  std::size_t end_share_ = 0;  ///< The first that the walk leaves out.
  /// Number in the share of the current bucket or, for an overflow bucket, of
  /// the bucket it belongs to.
  std::uint64_t bucket_ = 0;
  acp_ga_t at_ = ACP_GA_NULL;
  std::size_t entry_ = 0;  ///< Next entry of the current bucket.
  std::size_t read_ = 0;   ///< Buckets in the scratch, which follow each other.
  std::size_t current_ = 0;  ///< Index of the current one among them.
  const Bucket* words_ = nullptr;
  /// Second read of the buckets at words_.
  const Bucket* words_again_ = nullptr;
};

/// Reads the element of a position. False: it is not there any more (reported),
/// or failed.
bool dereference(const structure::Call& call,
                 const Position& position,
                 acp_pair_t& pair);

}  // namespace acp::middle::table
