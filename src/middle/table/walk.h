// Going through all elements of a set or map, without locks: each that is
// there all the time once, none twice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "middle/table/table.h"

namespace acp::middle::table {

/// All shares, or the caller's alone.
enum class Extent : std::uint8_t { kAll, kLocal };

/// A place in a table, as iterators keep it. `entry` has the bucket's address,
/// which is aligned to 64, with the number of the entry and the low bits of
/// its generation in the lowest bits. ACP_GA_NULL: the end.
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

/// Walks; reads 16 buckets of a share at a time, twice in one flight: what is
/// alike in both is of one version. One thread.
class Walk {
 public:
  Walk(const structure::Call& call, Extent extent)
      : call_(call), extent_(extent), scratch_(*call.site) {}

  /// Before the first element. False: failed.
  [[nodiscard]] bool begin();
  /// At an element that an earlier walk was at. False: failed.
  [[nodiscard]] bool begin_at(const Position& position);

  /// Goes to the next element; at the end found().is_there is false. False:
  /// failed.
  [[nodiscard]] bool next();

  const Found& found() const { return found_; }

  /// An element's bytes on the caller's rank. Those of a small one are in the
  /// walk's scratch, until the next step.
  struct Copy {
    bool is_there = false;
    acp_pair_t pair{};
    structure::Block block;
  };

  /// The part of an element that is copied.
  enum class Part : std::uint8_t { kPair, kKey };

  /// Copies the element found, or its key alone; then the value is undefined.
  /// is_there is false when the element was removed meanwhile. False: no
  /// memory, or the end of the job.
  [[nodiscard]] bool copy(Copy& copy, Part part);

 private:
  bool read(acp_ga_t bucket, std::size_t count);
  bool next_bucket();
  bool copy_block(Copy& copy, Part part);

  static constexpr std::size_t kAtOnce = 16;

  const structure::Call& call_;
  const Extent extent_;
  structure::Scratch scratch_;
  Directory directory_;
  Found found_;
  std::size_t share_ = 0;
  std::size_t end_share_ = 0;
  std::uint64_t bucket_ = 0;  ///< Of the share: the chain under way.
  acp_ga_t at_ = ACP_GA_NULL;
  std::size_t entry_ = 0;    ///< The next to look at.
  std::size_t read_ = 0;     ///< Buckets in the scratch that follow each other,
  std::size_t current_ = 0;  ///< and which of them is current.
  const Bucket* words_ = nullptr;
  const Bucket* words_again_ = nullptr;  ///< As words_, read later.
};

/// Reads the element of a position. False: none is there any more (reported),
/// or failed.
bool dereference(const structure::Call& call,
                 const Position& position,
                 acp_pair_t& pair);

}  // namespace acp::middle::table
