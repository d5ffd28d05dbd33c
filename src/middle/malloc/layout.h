// Layout of a rank's heap and the meaning of its words. All ranks agree on it;
// docs/malloc.md describes it and changes with this file.
//
//   HeapHeader | scratch | chunk groups | page infos | span bits | pages
//
// A heap of zeros is a heap in which everything is free: nothing is formatted.
//
// 1. Any rank changes a word by compare and swap or by addition. Only an info
//    may also be stored, by the rank that owns the page or that lists its span.
// 2. The rank that sets kListed of a span lists or dissolves it, and no other
//    rank does. A span is therefore in at most one list, once.
// 3. Bits that are not zero are of a span. A rank that has taken a bit has a
//    block, so the span cannot be dissolved. Its info then tells its class for
//    as long as the block is in use. A stale hint therefore never gives a wrong
//    block.
// 4. Only a list's head can mislead when an old value comes back, so it counts
//    its changes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "middle/malloc/size_classes.h"

namespace acp::middle {

using PageNumber = std::uint64_t;
inline constexpr PageNumber kNoPage = ~std::uint64_t{0};

inline constexpr std::uint64_t kChunksPerGroup = 64;
inline constexpr std::uint64_t kChunkBytes = kPageBytes * kPagesPerChunk;

/// The words of a chunk group. `taken_chunks` has a bit for each chunk that is
/// not both whole and free. `free_pages` has, for each such chunk, a bit for
/// each free page.
struct ChunkGroup {
  std::uint64_t taken_chunks;
  std::uint64_t free_pages[kChunksPerGroup];
};

static_assert(sizeof(ChunkGroup) == 8 * (1 + kChunksPerGroup));

/// The head of a list of spans. Each has a cache line, so that ranks that use
/// different classes do not disturb each other.
struct alignas(64) ListHead {
  /// {changes:32 | page + 1:32} of the first span with free blocks. `changes`
  /// counts the changes of the head, so a page that comes back is not taken for
  /// the old one.
  std::uint64_t word;
};

struct HeapHeader {
  ListHead spans[kClasses];
  /// {finished:32 | under way:32}. A rank that finds the heap full sees here
  /// whether another rank has taken lists off.
  ListHead sweeps;
};

inline constexpr std::uint64_t kHeaderBytes = 4096;
static_assert(sizeof(HeapHeader) <= kHeaderBytes);

/// Bytes of the scratch: results and sources of the owner's own operations on
/// other heaps.
inline constexpr std::uint64_t kScratchBytes = 12288;

/// Offset of a run's bytes in its first page. Few small blocks have this
/// offset, so a rank that frees an address knows without a round trip what may
/// be large.
inline constexpr std::uint64_t kRunOffset = 64;

// ---- Words ----------------------------------------------------------------

/// The info of a page. 0: no block begins here, or the page is inside a run. A
/// page of a span: {link:32 | 0:16 | pages back to the head:8 | class + 1:8}.
/// The head's link is the next span of its list, as page + 1. The first page of
/// a run: {pages:56 | 255:8}.
namespace info {

inline constexpr std::uint64_t kRunKind = 255;

constexpr std::uint64_t span(SizeClass size_class,
                             std::uint64_t back,
                             std::uint64_t link) noexcept {
  return link << 32 | back << 8 | (std::uint64_t{size_class} + 1);
}

constexpr std::uint64_t run(std::uint64_t pages) noexcept {
  return pages << 8 | kRunKind;
}

constexpr bool is_run(std::uint64_t word) noexcept {
  return (word & 255) == kRunKind;
}

constexpr bool is_span(std::uint64_t word) noexcept {
  return (word & 255) != 0 && (word & 255) <= kClasses;
}

constexpr SizeClass size_class(std::uint64_t word) noexcept {
  return static_cast<SizeClass>((word & 255) - 1);
}

constexpr std::uint64_t back(std::uint64_t word) noexcept {
  return word >> 8 & 255;
}

constexpr std::uint64_t link(std::uint64_t word) noexcept {
  return word >> 32;
}

constexpr std::uint64_t run_pages(std::uint64_t word) noexcept {
  return word >> 8;
}

}  // namespace info

/// Above the bits of a span's blocks (1: free): the span is in its class's
/// list, or a rank is about to put it there.
inline constexpr std::uint64_t kListed = std::uint64_t{1} << 63;

// ---- Offsets --------------------------------------------------------------

/// Offsets in a heap. A plain value, equal on all ranks.
class HeapLayout {
 public:
  /// The layout of a heap of `bytes` bytes. A heap that is too small has no
  /// chunk.
  explicit constexpr HeapLayout(std::uint64_t bytes) noexcept {
    // A chunk costs its bytes, two words for each page, and its share of a
    // group.
    constexpr std::uint64_t kPerChunk = kChunkBytes + 16 * kPagesPerChunk + 9;
    constexpr std::uint64_t kFixed =
        kHeaderBytes + kScratchBytes + kGroupStride + 2 * 4096;
    chunks_ = bytes < kFixed ? 0 : (bytes - kFixed) / kPerChunk;
    groups_ = (chunks_ + kChunksPerGroup - 1) / kChunksPerGroup;
    infos_ =
        round_up(kHeaderBytes + kScratchBytes + groups_ * kGroupStride, 64);
    bits_ = infos_ + pages() * 8;
    pages_ = round_up(bits_ + pages() * 8, 4096);
  }

  constexpr std::uint64_t chunks() const noexcept { return chunks_; }

  constexpr std::uint64_t groups() const noexcept { return groups_; }

  constexpr std::uint64_t pages() const noexcept {
    return chunks_ * kPagesPerChunk;
  }

  /// Mask of the chunks that the last group lacks. They count as taken.
  constexpr std::uint64_t missing_chunks(std::uint64_t group) const noexcept {
    const std::uint64_t there = chunks_ - group * kChunksPerGroup;
    return there >= kChunksPerGroup ? 0 : ~std::uint64_t{0} << there;
  }

  static constexpr std::uint64_t span_list(SizeClass size_class) noexcept {
    return offsetof(HeapHeader, spans) + size_class * sizeof(ListHead);
  }

  static constexpr std::uint64_t sweeps() noexcept {
    return offsetof(HeapHeader, sweeps);
  }

  static constexpr std::uint64_t scratch() noexcept { return kHeaderBytes; }

  constexpr std::uint64_t group(std::uint64_t number) const noexcept {
    return kHeaderBytes + kScratchBytes + number * kGroupStride;
  }

  /// The word of free pages of a chunk.
  constexpr std::uint64_t free_pages(std::uint64_t chunk) const noexcept {
    return group(chunk / kChunksPerGroup) + 8 + chunk % kChunksPerGroup * 8;
  }

  constexpr std::uint64_t info_of(PageNumber page) const noexcept {
    return infos_ + page * 8;
  }

  constexpr std::uint64_t bits_of(PageNumber head) const noexcept {
    return bits_ + head * 8;
  }

  constexpr std::uint64_t page(PageNumber number) const noexcept {
    return pages_ + number * kPageBytes;
  }

  /// The page that has an offset.
  constexpr PageNumber page_at(std::uint64_t offset) const noexcept {
    return (offset - pages_) / kPageBytes;
  }

  /// Bytes of the largest block in an empty heap.
  constexpr std::uint64_t largest_block() const noexcept {
    return chunks_ * kChunkBytes - kRunOffset;
  }

  /// Where the pages begin and end.
  constexpr std::uint64_t begin() const noexcept { return pages_; }

  constexpr std::uint64_t end() const noexcept { return page(pages()); }

 private:
  static constexpr std::uint64_t kGroupStride = 576;  ///< Whole lines.

  static constexpr std::uint64_t round_up(std::uint64_t value,
                                          std::uint64_t unit) noexcept {
    return (value + unit - 1) / unit * unit;
  }

  std::uint64_t chunks_ = 0;
  std::uint64_t groups_ = 0;
  std::uint64_t infos_ = 0;
  std::uint64_t bits_ = 0;
  std::uint64_t pages_ = 0;
};

}  // namespace acp::middle
