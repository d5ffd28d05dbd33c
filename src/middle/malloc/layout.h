// Where things are in a rank's heap, and what its words mean. All ranks agree
// on it; docs/malloc.md has the picture and changes with this file.
//
//   HeapHeader | scratch | regions | page infos | span bits | pages
//
// A heap of zeros is a heap in which everything is free: nothing is formatted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "middle/malloc/size_classes.h"

namespace acp::middle {

using PageNumber = std::uint64_t;
inline constexpr PageNumber kNoPage = ~std::uint64_t{0};

inline constexpr std::uint64_t kChunksPerRegion = 64;
inline constexpr std::uint64_t kChunkBytes = kPageBytes * kPagesPerChunk;

/// Words of a region, in this order: a bit for each chunk that is not whole
/// and free; then for each chunk a bit for each page that is free while the
/// chunk is not whole and free.
struct Region {
  std::uint64_t taken_chunks;
  std::uint64_t free_pages[kChunksPerRegion];
};

static_assert(sizeof(Region) == 8 * (1 + kChunksPerRegion));

/// First words of a heap. A line for each, so that ranks that use different
/// classes do not meet.
struct alignas(64) ListHead {
  /// {tag:32 | page + 1:32} of the first span with free blocks; every change
  /// moves the tag on, so a head that comes back is not taken for the old one.
  std::uint64_t word;
};

struct HeapHeader {
  ListHead spans[kClasses];
  /// {finished:32 | under way:32}: who finds the heap full looks whether
  /// somebody else has lists in hand.
  ListHead sweeps;
};

inline constexpr std::uint64_t kHeaderBytes = 4096;
static_assert(sizeof(HeapHeader) <= kHeaderBytes);

/// Results and sources of the owner's own operations on other heaps.
inline constexpr std::uint64_t kScratchBytes = 12288;

/// Where in its first page a run's bytes begin. Few small blocks lie there, so
/// who frees an address knows, without a journey, what may be large.
inline constexpr std::uint64_t kRunOffset = 64;

// ---- Words ----------------------------------------------------------------

/// Word of a page. 0: no block begins here, none covers it (or it is inside of
/// a run). A page of a span: {link:32 | 0:16 | pages back to the head:8 |
/// class + 1:8}, the link, of the head alone, being the next span of its list
/// as page + 1. The first page of a run: {pages:56 | 255:8}.
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

/// In the bits of a span, above its blocks' bits (1: free): the span is in its
/// class's list, or somebody is about to put it there.
inline constexpr std::uint64_t kListed = std::uint64_t{1} << 63;

// ---- Offsets --------------------------------------------------------------

/// A plain value, the same on all ranks.
class HeapLayout {
 public:
  /// For a heap of `bytes` altogether; at least kSmallestHeap.
  explicit constexpr HeapLayout(std::uint64_t bytes) noexcept {
    // Per chunk: its bytes, two words for each page, and its share of a region.
    constexpr std::uint64_t kPerChunk = kChunkBytes + 16 * kPagesPerChunk + 9;
    constexpr std::uint64_t kFixed =
        kHeaderBytes + kScratchBytes + kRegionStride + 2 * 4096;
    chunks_ = bytes < kFixed ? 0 : (bytes - kFixed) / kPerChunk;
    regions_ = (chunks_ + kChunksPerRegion - 1) / kChunksPerRegion;
    infos_ =
        round_up(kHeaderBytes + kScratchBytes + regions_ * kRegionStride, 64);
    bits_ = infos_ + pages() * 8;
    pages_ = round_up(bits_ + pages() * 8, 4096);
  }

  constexpr std::uint64_t chunks() const noexcept { return chunks_; }

  constexpr std::uint64_t regions() const noexcept { return regions_; }

  constexpr std::uint64_t pages() const noexcept {
    return chunks_ * kPagesPerChunk;
  }

  /// Of the last region, chunks that do not exist count as taken.
  constexpr std::uint64_t missing_chunks(std::uint64_t region) const noexcept {
    const std::uint64_t there = chunks_ - region * kChunksPerRegion;
    return there >= kChunksPerRegion ? 0 : ~std::uint64_t{0} << there;
  }

  static constexpr std::uint64_t span_list(SizeClass size_class) noexcept {
    return offsetof(HeapHeader, spans) + size_class * sizeof(ListHead);
  }

  static constexpr std::uint64_t sweeps() noexcept {
    return offsetof(HeapHeader, sweeps);
  }

  static constexpr std::uint64_t scratch() noexcept { return kHeaderBytes; }

  constexpr std::uint64_t region(std::uint64_t number) const noexcept {
    return kHeaderBytes + kScratchBytes + number * kRegionStride;
  }

  /// The word of the pages of a chunk.
  constexpr std::uint64_t free_pages(std::uint64_t chunk) const noexcept {
    return region(chunk / kChunksPerRegion) + 8 + chunk % kChunksPerRegion * 8;
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

  /// Of an address among the pages.
  constexpr PageNumber page_at(std::uint64_t offset) const noexcept {
    return (offset - pages_) / kPageBytes;
  }

  /// Bytes of the largest block, when nothing is in use.
  constexpr std::uint64_t largest_block() const noexcept {
    return chunks_ * kChunkBytes - kRunOffset;
  }

  /// Where the pages begin and end.
  constexpr std::uint64_t begin() const noexcept { return pages_; }

  constexpr std::uint64_t end() const noexcept { return page(pages()); }

 private:
  static constexpr std::uint64_t kRegionStride = 576;  ///< Whole lines.

  static constexpr std::uint64_t round_up(std::uint64_t value,
                                          std::uint64_t unit) noexcept {
    return (value + unit - 1) / unit * unit;
  }

  std::uint64_t chunks_ = 0;
  std::uint64_t regions_ = 0;
  std::uint64_t infos_ = 0;
  std::uint64_t bits_ = 0;
  std::uint64_t pages_ = 0;
};

}  // namespace acp::middle
