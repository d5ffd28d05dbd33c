// Takes and returns runs of pages of a heap, lock-free, from any rank.
//
// There are two levels of bits. A chunk of 64 pages is whole and free, or
// broken up with its free pages in one word, or taken whole. Free neighbours
// become one again by themselves, since bits do not know when they were freed.
#pragma once

#include <cstdint>

#include "middle/malloc/chunk_index.h"
#include "middle/malloc/heap_memory.h"
#include "middle/malloc/layout.h"

namespace acp::middle {

/// Result of an operation on a heap.
enum class Outcome : std::uint8_t {
  kDone,
  kFull,  ///< Nothing that is free fits.
  /// The job is ending, or a progress step would have to wait (acp_errno).
  kFailed,
};

/// The runs of one heap as one rank sees them. Its state is hints that the heap
/// corrects. One thread at a time.
class PageRuns {
 public:
  PageRuns(const HeapMemory& memory, const HeapLayout& layout) noexcept
      : memory_(memory), layout_(layout), index_(layout.groups()) {}

  /// Takes `pages` (1 or more) pages in a row, which belong to the caller from
  /// now on.
  Outcome take(std::uint64_t pages, PageNumber& first) noexcept;

  /// Returns a run that take() gave. kDone or kFailed.
  Outcome give_back(PageNumber first, std::uint64_t pages) noexcept;

  /// Groups read in the heap since the start.
  std::uint64_t groups_read() const noexcept { return groups_read_; }

 private:
  /// Groups that a search reads at a time, after the first: fewer need more
  /// round trips, and more read words that are not needed.
  static constexpr std::uint64_t kGroupsPerFlight = 8;

  Outcome take_small(unsigned pages, PageNumber& first) noexcept;
  Outcome take_in(std::uint64_t group,
                  ChunkGroup& seen,
                  unsigned pages,
                  PageNumber& first) noexcept;
  Outcome break_up(std::uint64_t group,
                   ChunkGroup& seen,
                   unsigned pages,
                   PageNumber& first) noexcept;
  Outcome take_chunks(std::uint64_t chunks, PageNumber& first) noexcept;
  Outcome claim(std::uint64_t first_chunk, std::uint64_t chunks) noexcept;
  Outcome return_chunks(std::uint64_t first_chunk,
                        std::uint64_t chunks) noexcept;
  Outcome return_pages(std::uint64_t chunk, std::uint64_t mask) noexcept;
  bool read(std::uint64_t group, std::uint64_t count, ChunkGroup* to) noexcept;
  bool refresh(std::uint64_t first, std::uint64_t count) noexcept;

  const HeapMemory& memory_;
  const HeapLayout& layout_;
  /// Group of the last success, for small runs. Written by take_small().
  std::uint64_t hint_ = 0;
  ChunkIndex index_;               ///< The free chunks that this rank knows.
  std::uint64_t groups_read_ = 0;  ///< Counted where groups are read.
};

}  // namespace acp::middle
