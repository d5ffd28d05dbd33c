// The sizes of small blocks, up to 32 KiB: multiples of 16 up to 128, then four
// to each doubling. Of a block for more than 64 bytes, at most a fifth is
// wasted. Larger requests get pages. Nothing here touches memory.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace acp::middle {

using SizeClass = std::uint8_t;

// The layout that docs/malloc.md shows; all ranks need one. A page has an info
// word, and a chunk a bit for each page. Larger pages waste more at the end of
// a block, and smaller ones need more words.
inline constexpr std::uint64_t kPageBytes = 1024;
inline constexpr std::uint64_t kPagesPerChunk = 64;
inline constexpr std::size_t kLargestClassBytes = 32768;
inline constexpr std::size_t kClasses = 40;
/// Most blocks of a span: one bit each in a word that has one more bit.
inline constexpr std::uint32_t kMaxSpanBlocks = 63;

/// The shape of a size class. A span is a run of pages, divided into blocks of
/// one class.
struct ClassShape {
  std::uint32_t block_bytes = 0;
  std::uint32_t span_blocks = 0;
  std::uint32_t span_pages = 0;
  /// 2^32 / block_bytes, rounded up, for block_at().
  std::uint32_t reciprocal = 0;

  /// Number of the block that begins `delta` bytes after the span's start;
  /// span_blocks or more when none does.
  constexpr std::uint32_t block_at(std::uint32_t delta) const noexcept {
    const auto block =
        static_cast<std::uint32_t>((std::uint64_t{delta} * reciprocal) >> 32);
    return block * block_bytes == delta ? block : span_blocks;
  }

  /// A mask with a bit for each block.
  constexpr std::uint64_t all_blocks() const noexcept {
    return (std::uint64_t{1} << span_blocks) - 1;
  }
};

constexpr std::uint32_t class_block_bytes(std::size_t index) noexcept {
  if (index < 8) {
    return static_cast<std::uint32_t>(16 * (index + 1));
  }
  const std::size_t doubling = (index - 8) / 4;
  const std::size_t quarter = (index - 8) % 4;
  return static_cast<std::uint32_t>((128U << doubling) +
                                    (quarter + 1) * (32U << doubling));
}

/// A span has at most 16 KiB, but at least two blocks, since caches take spans.
constexpr ClassShape make_shape(std::size_t index) noexcept {
  constexpr std::uint32_t kSpanBytes = 16384;
  const std::uint32_t bytes = class_block_bytes(index);
  std::uint32_t blocks = kSpanBytes / bytes;
  blocks = blocks < kMaxSpanBlocks ? blocks : kMaxSpanBlocks;
  blocks = blocks > 2 ? blocks : 2;
  const auto pages = static_cast<std::uint32_t>(
      (std::uint64_t{blocks} * bytes + kPageBytes - 1) / kPageBytes);
  // Exact for every delta inside a span: the error is below delta / 2^32.
  const auto reciprocal = static_cast<std::uint32_t>(
      ((std::uint64_t{1} << 32) + bytes - 1) / bytes);
  return {bytes, blocks, pages, reciprocal};
}

inline constexpr std::array<ClassShape, kClasses> kClassShapes = [] {
  std::array<ClassShape, kClasses> shapes{};
  for (std::size_t i = 0; i < kClasses; ++i) {
    shapes[i] = make_shape(i);
  }
  return shapes;
}();

static_assert(kClassShapes[kClasses - 1].block_bytes == kLargestClassBytes);

constexpr const ClassShape& shape_of(SizeClass size_class) noexcept {
  return kClassShapes[size_class];
}

/// The smallest class that holds `size` bytes, 0 .. kLargestClassBytes. A block
/// of 0 bytes is one of 16.
constexpr SizeClass class_for(std::size_t size) noexcept {
  if (size <= 128) {
    return static_cast<SizeClass>(size == 0 ? 0 : (size - 1) / 16);
  }
  // 128 * 2^d < size <= 128 * 2^(d+1)
  const std::size_t doubling = std::bit_width((size - 1) >> 7) - 1;
  const std::size_t quarter = ((size - 1) >> (5 + doubling)) - 4;
  return static_cast<SizeClass>(8 + 4 * doubling + quarter);
}

static_assert(class_for(kLargestClassBytes) == kClasses - 1);

}  // namespace acp::middle
