// Tests of one rank's heap, with caches and without, in this process's own
// memory.
#include "middle/malloc/peer_heap.h"

#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "middle/heap_in_memory.h"
#include "support/verdict.h"

namespace acp::middle::test {

namespace {

constexpr std::uint64_t kMiB = 1 << 20;

/// A random size: mostly small, sometimes a run of pages.
std::uint64_t some_size(std::mt19937_64& random) {
  return random() % (std::uint64_t{1} << (random() % 18));
}

struct Block {
  std::uint64_t offset;
  std::uint64_t size;
};

}  // namespace

TEMPLATE_TEST_CASE_SIG("heap: blocks never overlap and everything comes back",
                       "[malloc]",
                       ((std::uint64_t kCacheBytes), kCacheBytes),
                       kMiB,
                       64 << 10,
                       0) {
  HeapInMemory heap(std::uint64_t{8} << 20);
  PeerHeap peer(heap.memory, heap.layout, kCacheBytes, nullptr);
  std::mt19937_64 random(5);
  std::map<std::uint64_t, std::uint64_t> blocks;
  std::size_t refused = 0;
  for (int i = 0; i < 100'000; ++i) {
    // Allocates until the heap is full, then frees until it is empty.
    const bool grows = i / 10'000 % 2 == 0;
    if (random() % 4 < (grows ? 1 : 3) && !blocks.empty()) {
      auto any = blocks.lower_bound(heap.layout.begin() +
                                    random() % (heap.layout.end()));
      any = any == blocks.end() ? blocks.begin() : any;
      REQUIRE(peer.free(any->first) == FreeResult::kDone);
      blocks.erase(any);
      continue;
    }
    const std::uint64_t size = some_size(random);
    std::uint64_t offset = 0;
    if (peer.allocate(size, offset) != Outcome::kDone) {
      ++refused;
      continue;
    }
    REQUIRE(offset >= heap.layout.begin());
    REQUIRE(offset + size <= heap.layout.end());
    REQUIRE(offset % (size != 0 && size % 64 == 0 ? 64 : 16) == 0);
    const auto after = blocks.lower_bound(offset);
    REQUIRE((after == blocks.end() || offset + size <= after->first));
    REQUIRE((after == blocks.begin() ||
             std::prev(after)->first + std::prev(after)->second <= offset));
    REQUIRE(blocks.emplace(offset, size).second);
  }
  CHECK(refused > 100);
  for (const auto& [offset, size] : blocks) {
    REQUIRE(peer.free(offset) == FreeResult::kDone);
  }
  REQUIRE(peer.trim() == Outcome::kDone);
  std::uint64_t everything = 0;
  REQUIRE(peer.allocate(heap.layout.largest_block(), everything) ==
          Outcome::kDone);
  REQUIRE(peer.free(everything) == FreeResult::kDone);
  CHECK(heap.is_whole());
  CHECK(peer.wrong_frees() == 0);
}

TEST_CASE("heap: the last byte can be had in blocks of each class",
          "[malloc]") {
  HeapInMemory heap(std::uint64_t{3} << 20);
  PeerHeap peer(heap.memory, heap.layout, kMiB, nullptr);
  for (const ClassShape& shape : kClassShapes) {
    INFO(shape.block_bytes);
    std::vector<std::uint64_t> blocks;
    std::uint64_t offset = 0;
    while (peer.allocate(shape.block_bytes, offset) == Outcome::kDone) {
      blocks.push_back(offset);
    }
    // Spans do not fill chunks, and blocks do not fill spans: a rest stays.
    const std::uint64_t spans =
        heap.layout.chunks() * (kPagesPerChunk / shape.span_pages);
    CHECK(blocks.size() == spans * shape.span_blocks);
    for (const std::uint64_t block : blocks) {
      REQUIRE(peer.free(block) == FreeResult::kDone);
    }
  }
  // The caches keep some blocks. The next call that finds none gets them all.
  std::uint64_t offset = 0;
  REQUIRE(peer.allocate(heap.layout.largest_block(), offset) == Outcome::kDone);
}

// The addresses lie inside of blocks, beside them and outside of the heap.
// Afterwards both blocks can be freed, and only once.
TEMPLATE_TEST_CASE_SIG("heap: what is no block is refused",
                       "[malloc]",
                       ((std::uint64_t kCacheBytes), kCacheBytes),
                       kMiB,
                       64 << 10,
                       0) {
  HeapInMemory heap(std::uint64_t{2} << 20);
  PeerHeap peer(heap.memory, heap.layout, kCacheBytes, nullptr);
  std::uint64_t block = 0;
  std::uint64_t run = 0;
  REQUIRE(peer.allocate(96, block) == Outcome::kDone);
  REQUIRE(peer.allocate(100'000, run) == Outcome::kDone);
  for (const std::uint64_t wrong :
       {std::uint64_t{0}, heap.layout.begin() - 16, heap.layout.end(),
        block + 16, block + 8, run + 16, run + kPageBytes, run + 99'999,
        run + 200'000}) {
    INFO(wrong);
    CHECK(peer.free(wrong) == FreeResult::kWrong);
  }
  CHECK(peer.free(run) == FreeResult::kDone);
  CHECK(peer.free(run) == FreeResult::kWrong);
  CHECK(peer.free(block) == FreeResult::kDone);
  CHECK(peer.free(block) == FreeResult::kWrong);
  REQUIRE(peer.trim() == Outcome::kDone);
}

TEST_CASE("heap: ranks and threads of a rank hand blocks to each other",
          "[malloc][threads]") {
  HeapInMemory heap(std::uint64_t{16} << 20);
  // Each PeerHeap stands for a rank. Two of them have two threads each. The
  // last one has one thread and no cache.
  PeerHeap ranks[] = {{heap.memory, heap.layout, kMiB, nullptr},
                      {heap.memory, heap.layout, kMiB, nullptr},
                      {heap.memory, heap.layout, 0, nullptr}};
  constexpr std::size_t kBoxes = 256;
  // Each thread puts blocks in, and another takes them out and frees them:
  // {offset | size << 40}.
  std::vector<std::atomic<std::uint64_t>> boxes(kBoxes);
  acp::test::Verdict verdict;
  const auto check_and_free = [&](PeerHeap& rank, std::uint64_t box) {
    if (box == 0) {
      return;
    }
    const Block block{box & 0xff'ffff'ffff, box >> 40};
    const auto* words = reinterpret_cast<const std::uint64_t*>(
        heap.memory.direct + block.offset);
    for (std::uint64_t i = 0; i < block.size / 8; ++i) {
      verdict.expect(words[i] == block.offset + i, "a block was overwritten");
    }
    verdict.expect(rank.free(block.offset) == FreeResult::kDone,
                   "a block was not freed");
  };
  std::vector<std::thread> threads;
  for (std::uint32_t me = 0; me < 5; ++me) {
    threads.emplace_back([&, me] {
      PeerHeap& rank = ranks[me % 3];
      std::mt19937_64 random(me);
      for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t size = some_size(random);
        std::uint64_t offset = 0;
        if (rank.allocate(size, offset) != Outcome::kDone) {
          continue;
        }
        auto* words =
            reinterpret_cast<std::uint64_t*>(heap.memory.direct + offset);
        for (std::uint64_t j = 0; j < size / 8; ++j) {
          words[j] = offset + j;
        }
        check_and_free(rank,
                       boxes[random() % kBoxes].exchange(offset | size << 40));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(verdict.failure() == std::string());
  for (std::atomic<std::uint64_t>& box : boxes) {
    check_and_free(ranks[0], box.load());
  }
  for (PeerHeap& rank : ranks) {
    REQUIRE(rank.trim() == Outcome::kDone);
    CHECK(rank.wrong_frees() == 0);
  }
  std::uint64_t everything = 0;
  REQUIRE(ranks[1].allocate(heap.layout.largest_block(), everything) ==
          Outcome::kDone);
  REQUIRE(ranks[1].free(everything) == FreeResult::kDone);
  CHECK(heap.is_whole());
}

}  // namespace acp::middle::test
