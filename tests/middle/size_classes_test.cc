// Tests of the size classes and of the heap's layout.
#include "middle/malloc/size_classes.h"

#include <catch2/catch.hpp>

#include "middle/malloc/layout.h"

namespace acp::middle {

TEST_CASE("size classes: each size gets the smallest class that holds it",
          "[malloc]") {
  CHECK(shape_of(class_for(0)).block_bytes == 16);
  for (std::size_t size = 1; size <= kLargestClassBytes; ++size) {
    const SizeClass size_class = class_for(size);
    const std::size_t bytes = shape_of(size_class).block_bytes;
    const bool is_smallest =
        size_class == 0 ||
        shape_of(static_cast<SizeClass>(size_class - 1)).block_bytes < size;
    if (bytes < size || !is_smallest ||
        (size >= 64 && bytes - size > size / 4) ||
        (size % 64 == 0 && bytes % 64 != 0)) {
      FAIL(size << " bytes got a block of " << bytes);
    }
  }
}

TEST_CASE("size classes: spans waste little and fit a chunk", "[malloc]") {
  for (const ClassShape& shape : kClassShapes) {
    INFO(shape.block_bytes);
    const std::uint64_t used =
        std::uint64_t{shape.span_blocks} * shape.block_bytes;
    const std::uint64_t bytes = shape.span_pages * kPageBytes;
    CHECK(shape.span_pages <= kPagesPerChunk);
    CHECK(shape.span_blocks <= kMaxSpanBlocks);
    CHECK(shape.span_blocks >= 2);
    CHECK(bytes >= used);
    CHECK((bytes - used) * 16 <= bytes);
  }
}

TEST_CASE("size classes: a block is found by its first byte alone",
          "[malloc]") {
  for (const ClassShape& shape : kClassShapes) {
    for (std::uint32_t delta = 0; delta < shape.span_pages * kPageBytes;
         ++delta) {
      const std::uint32_t block = shape.block_at(delta);
      const bool is_block = delta % shape.block_bytes == 0 &&
                            delta / shape.block_bytes < shape.span_blocks;
      if (is_block ? block != delta / shape.block_bytes
                   : block < shape.span_blocks) {
        FAIL(shape.block_bytes << " at " << delta << ": " << block);
      }
    }
  }
}

TEST_CASE("heap layout: parts in order, inside of the heap", "[malloc]") {
  for (const std::uint64_t bytes :
       {std::uint64_t{256} << 10, std::uint64_t{1'000'000},
        std::uint64_t{5} << 20, std::uint64_t{1} << 30,
        std::uint64_t{1} << 40}) {
    INFO(bytes);
    const HeapLayout layout(bytes);
    REQUIRE(layout.chunks() >= 1);
    CHECK(layout.group(0) == kHeaderBytes + kScratchBytes);
    CHECK(layout.free_pages(layout.chunks() - 1) + 8 <= layout.info_of(0));
    CHECK(layout.info_of(layout.pages()) <= layout.bits_of(0));
    CHECK(layout.bits_of(layout.pages()) <= layout.begin());
    CHECK(layout.begin() % 4096 == 0);
    CHECK(layout.end() <= bytes);
    // The metadata may take a fifth of the smallest heap, and 2 % of large
    // ones.
    CHECK(bytes - layout.end() < kChunkBytes * 2 + bytes / 50);
  }
  const HeapLayout layout(std::uint64_t{1} << 30);
  CHECK(layout.missing_chunks(0) == 0);
  const std::uint64_t there = layout.chunks() % kChunksPerGroup;
  CHECK(layout.missing_chunks(layout.groups() - 1) ==
        (there == 0 ? 0 : ~std::uint64_t{0} << there));
}

TEST_CASE("page infos: say what they were made from", "[malloc]") {
  const std::uint64_t span = info::span(39, 63, 0xfedc'ba98);
  CHECK(info::is_span(span));
  CHECK_FALSE(info::is_run(span));
  CHECK(info::size_class(span) == 39);
  CHECK(info::back(span) == 63);
  CHECK(info::link(span) == 0xfedc'ba98);
  const std::uint64_t run = info::run(std::uint64_t{1} << 30);
  CHECK(info::is_run(run));
  CHECK_FALSE(info::is_span(run));
  CHECK(info::run_pages(run) == std::uint64_t{1} << 30);
  CHECK_FALSE(info::is_run(0));
  CHECK_FALSE(info::is_span(0));
}

}  // namespace acp::middle
