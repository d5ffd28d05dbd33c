// Tests of acp_malloc and acp_free as a program sees them: sizes, alignment,
// failures, exhaustion and recovery, and blocks that a rank frees for
// its neighbour. Heaps are small: middle/CMakeLists.txt sets ACP_HEAP_SIZE.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/spmd.h"
#include "support/spmd_memory.h"
#include "support/stderr_capture.h"

namespace {

std::uint64_t setting(const char* name) {
  std::uint64_t value = 0;
  EXPECT_EQ(acpx_setting(name, &value), 0);
  return value;
}

/// Finds the largest block of an empty heap by trying.
std::size_t largest_block(int rank) {
  std::size_t fits = 0;
  const spmd::StderrCapture quiet;
  for (std::size_t step = std::size_t{1} << 40; step >= 1024; step /= 2) {
    const acp_ga_t ga = acp_malloc(fits + step, rank);
    if (ga != ACP_GA_NULL) {
      fits += step;
      acp_free(ga);
    }
  }
  acp_errno = 0;
  return fits;
}

/// Whether a rank's heap is reached by the network.
bool is_far(int rank) {
  const acp_ga_t ga = acp_malloc(8, rank);
  EXPECT(ga != ACP_GA_NULL);
  const bool is_mapped = acpx_pointer(ga) != nullptr;
  acp_errno = 0;
  acp_free(ga);
  return !is_mapped;
}

/// All ranks return their caches. The heaps are then as at the start.
void expect_all_free(std::size_t largest) {
  EXPECT_EQ(acpx_trim_malloc(), 0);
  EXPECT_EQ(acp_sync(), 0);
  const int right = spmd::right_of(acp_rank());
  const acp_ga_t all = acp_malloc(largest, right);
  EXPECT(all != ACP_GA_NULL);
  acp_free(all);
  EXPECT_EQ(acp_sync(), 0);
}

/// Allocates blocks of `size` on one rank until its heap is full.
std::vector<acp_ga_t> take_all(std::size_t size, int rank) {
  std::vector<acp_ga_t> blocks;
  const spmd::StderrCapture quiet;
  while (true) {
    const acp_ga_t ga = acp_malloc(size, rank);
    if (ga == ACP_GA_NULL) {
      break;
    }
    blocks.push_back(ga);
  }
  EXPECT_EQ(acp_errno, int{ACPX_NO_MEMORY});
  acp_errno = 0;
  return blocks;
}

void free_all(const std::vector<acp_ga_t>& blocks) {
  for (const acp_ga_t ga : blocks) {
    acp_free(ga);
  }
}

void expect_disjoint(std::vector<acp_ga_t> blocks, std::size_t size) {
  std::sort(blocks.begin(), blocks.end());
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    EXPECT(blocks[i] - blocks[i - 1] >= size);
  }
}

}  // namespace

// The sizes lie on both sides of several limits, such as 16 bytes and 32 KiB. A
// block is usable when its first and last word can be written, and the last one
// read back.
SPMD_CASE(acp_malloc_sizes, "acp_malloc: aligned, on that rank, usable") {
  const spmd::Block mine(spmd::Memory::kLibrary, 4096);
  for (int rank = 0; rank < acp_procs(); ++rank) {
    std::vector<acp_ga_t> blocks;
    for (std::size_t size : {0, 1, 15, 16, 17, 64, 100, 128, 1000, 1024, 4096,
                             10'000, 32'768, 32'769, 65'536, 200'000}) {
      const acp_ga_t ga = acp_malloc(size, rank);
      EXPECT(ga != ACP_GA_NULL);
      EXPECT_EQ(acp_query_rank(ga), rank);
      EXPECT_EQ(ga % 16, 0U);
      EXPECT(size == 0 || size % 64 != 0 || ga % 64 == 0);
      if (size >= 8) {
        mine.word(0).store(ga);
        EXPECT_DONE(acp_copy(ga, mine.mine(0), 8, ACP_HANDLE_NULL));
        EXPECT_DONE(acp_copy(ga + size - 8, mine.mine(0), 8, ACP_HANDLE_CONT));
        EXPECT_DONE(acp_copy(mine.mine(8), ga + size - 8, 8, ACP_HANDLE_NULL));
        EXPECT_EQ(mine.word(1).load(), ga);
      }
      blocks.push_back(ga);
    }
    std::sort(blocks.begin(), blocks.end());
    EXPECT(std::adjacent_find(blocks.begin(), blocks.end()) == blocks.end());
    free_all(blocks);
  }
  EXPECT_EQ(acpx_trim_malloc(), 0);
}

SPMD_CASE(acp_malloc_refuses, "acp_malloc: bad rank, too large, exhausted") {
  EXPECT_FAILS(acp_malloc(8, -1), ACP_GA_NULL, ACPX_BAD_RANK);
  EXPECT_FAILS(acp_malloc(8, acp_procs()), ACP_GA_NULL, ACPX_BAD_RANK);
  EXPECT_FAILS(acp_malloc(SIZE_MAX, 0), ACP_GA_NULL, ACPX_TOO_LARGE);
  spmd::StderrCapture capture;
  EXPECT_FAILS(acp_malloc(setting("ACP_HEAP_SIZE") + 1, 0), ACP_GA_NULL,
               ACPX_TOO_LARGE);
  const std::string text = capture.stop();
  EXPECT(text.find("ACP_HEAP_SIZE") != std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

SPMD_CASE(acp_free_wrong, "acp_free: ignores what is no block") {
  const int right = spmd::right_of(acp_rank());
  const acp_ga_t block = acp_malloc(100, right);
  const acp_ga_t run = acp_malloc(100'000, right);
  acp_errno = 0;
  acp_free(ACP_GA_NULL);
  acp_free(acp_query_starter_ga(right));
  acp_free(block + 16);
  acp_free(block + 1);
  acp_free(run + 1024);
  acp_free(~std::uint64_t{0});
  acp_free(1);
  EXPECT_EQ(acp_errno, 0);
  acp_free(block);
  acp_free(run);
  EXPECT_EQ(acpx_trim_malloc(), 0);
}

SPMD_CASE(acp_malloc_exhaustion,
          "acp_malloc: a heap can be used up, and comes back whole") {
  if (acp_rank() == 0) {
    const int rank = acp_procs() - 1;
    const std::size_t largest = largest_block(rank);
    EXPECT(largest > setting("ACP_HEAP_SIZE") * 3 / 4);
    for (const std::size_t size :
         {std::size_t{16}, std::size_t{500}, std::size_t{5000},
          std::size_t{32'768}, std::size_t{150'000}}) {
      // This takes many round trips, and lost packets make them slow.
      const bool is_lossy = std::getenv("ACP_UDP_FAULTS") != nullptr;
      if (size < (is_lossy ? 32'768 : 5000) && is_far(rank)) continue;
      const std::vector<acp_ga_t> blocks = take_all(size, rank);
      EXPECT(blocks.size() * size > largest / 2);
      expect_disjoint(blocks, size);
      free_all(blocks);
      const acp_ga_t all = acp_malloc(largest, rank);
      EXPECT(all != ACP_GA_NULL);
      acp_free(all);
    }
  }
}

SPMD_CASE(acp_malloc_exhaustion_together,
          "acp_malloc: all ranks use up one heap together") {
  std::size_t largest = 0;
  if (acp_rank() == 0) {
    largest = largest_block(0);
  }
  largest = spmd::broadcast(largest, 0);
  for (const std::size_t size : {std::size_t{200}, std::size_t{70'000}}) {
    const std::vector<acp_ga_t> blocks = take_all(size, 0);
    std::uint64_t all = 0;
    for (const std::uint64_t count : spmd::gather(blocks.size())) {
      all += count;
    }
    // The other ranks have cached blocks when this rank finds no more.
    EXPECT(all * size > largest / 2);
    free_all(blocks);
    EXPECT_EQ(acpx_trim_malloc(), 0);
    EXPECT_EQ(acp_sync(), 0);
    if (acp_rank() == acp_procs() - 1) {
      const acp_ga_t whole = acp_malloc(largest, 0);
      EXPECT(whole != ACP_GA_NULL);
      acp_free(whole);
    }
    EXPECT_EQ(acp_sync(), 0);
  }
}

// Each rank allocates at its right neighbour, and frees what its left neighbour
// allocated. When all caches are returned, each heap must have room for as
// large a block as rank 0's.
SPMD_CASE(acp_free_of_others, "acp_free: by another rank than acp_malloc") {
  const int right = spmd::right_of(acp_rank());
  const int left = (acp_rank() + acp_procs() - 1) % acp_procs();
  for (std::size_t i = 0; i < spmd::scaled(1000); ++i) {
    const acp_ga_t ga = acp_malloc(1 + i * 37 % 5000, right);
    EXPECT(ga != ACP_GA_NULL);
    acp_free(spmd::gather(ga)[static_cast<std::size_t>(left)]);
  }
  EXPECT_EQ(acp_sync(), 0);
  std::size_t largest = 0;
  if (acp_rank() == 0) {
    EXPECT_EQ(acpx_trim_malloc(), 0);
  }
  EXPECT_EQ(acpx_trim_malloc(), 0);
  EXPECT_EQ(acp_sync(), 0);
  if (acp_rank() == 0) {
    largest = largest_block(0);
  }
  expect_all_free(spmd::broadcast(largest, 0));
}

SPMD_CASE(acp_malloc_leaves_failures,
          "acp_malloc: failures of the program's operations stay uncollected") {
  const int right = spmd::right_of(acp_rank());
  static std::uint64_t word = 0;
  const acp_atkey_t key = acp_register_memory(&word, sizeof word, 0);
  EXPECT(key != ACP_ATKEY_NULL);
  const auto words = spmd::gather(acp_query_ga(key, &word));
  EXPECT_EQ(acp_unregister_memory(key), 0);
  EXPECT_EQ(acp_sync(), 0);
  for (const std::size_t size : {24, 3000, 1 << 20}) {
    const acp_handle_t handle =
        acp_copy(words[static_cast<std::size_t>(right)],
                 acp_query_starter_ga(acp_rank()), 8, ACP_HANDLE_NULL);
    acp_errno = 0;
    const acp_ga_t block = acp_malloc(size, right);
    EXPECT(block != ACP_GA_NULL);
    EXPECT_EQ(acp_errno, 0);
    acp_free(block);
    EXPECT_EQ(acpx_trim_malloc(), 0);
    if (handle != ACP_HANDLE_NULL) {  // otherwise it has failed in the call
      EXPECT_FAILS(acpx_complete_timeout(handle, spmd::kPatience), -1,
                   ACPX_BAD_KEY);
    }
  }
  EXPECT_EQ(acp_sync(), 0);
}

// Threads of a rank share its cache. Each thread looks at the end whether it
// got one block twice.
SPMD_CASE(acp_malloc_threads, "acp_malloc: from four threads of each rank") {
  std::vector<std::thread> threads;
  std::atomic<bool> is_good{true};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &is_good] {
      auto random = spmd::random_of_rank(static_cast<std::uint64_t>(t));
      std::vector<acp_ga_t> blocks;
      for (std::size_t i = 0; i < spmd::scaled(2000); ++i) {
        const int rank =
            static_cast<int>(random() % static_cast<unsigned>(acp_procs()));
        blocks.push_back(acp_malloc(random() % 3000, rank));
        if (blocks.back() == ACP_GA_NULL) {
          is_good = false;
          blocks.pop_back();
        }
        if (random() % 2 == 0 && !blocks.empty()) {
          std::swap(blocks[random() % blocks.size()], blocks.back());
          acp_free(blocks.back());
          blocks.pop_back();
        }
      }
      std::sort(blocks.begin(), blocks.end());
      if (std::adjacent_find(blocks.begin(), blocks.end()) != blocks.end()) {
        is_good = false;
      }
      free_all(blocks);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT(is_good.load());
  EXPECT_EQ(acpx_trim_malloc(), 0);
  EXPECT_EQ(acp_sync(), 0);
}

namespace {

/// Blocks that a progress step frees, and what its calls left in acp_errno.
struct FreeingStep {
  std::vector<acp_ga_t> blocks;
  int error = 0;
  std::atomic<bool> is_done{false};  // pairs with the thread that waits

  static int run(void* arg) {
    auto& step = *static_cast<FreeingStep*>(arg);
    if (step.is_done.load()) return 0;
    acp_errno = 0;
    for (const acp_ga_t ga : step.blocks)
      acp_free(ga);
    step.error = acp_errno;
    step.is_done.store(true);
    return 1;
  }

  static int has_run(void* arg) {
    return static_cast<FreeingStep*>(arg)->is_done.load() ? 1 : 0;
  }
};

void free_in_a_step(std::vector<acp_ga_t> blocks) {
  FreeingStep step;
  step.blocks = std::move(blocks);
  EXPECT_EQ(acpx_add_progress(FreeingStep::run, &step), 0);
  EXPECT_EQ(acpx_wait_until(FreeingStep::has_run, &step, spmd::kPatience), 0);
  EXPECT_EQ(acpx_remove_progress(FreeingStep::run, &step), 0);
  EXPECT_EQ(step.error, 0);
}

}  // namespace

// The second large block has no room before the first one is free.
SPMD_CASE(acp_free_in_a_step,
          "acp_free: also in a progress step, on every heap") {
  std::size_t largest = 0;
  if (acp_rank() == 0) {
    largest = largest_block(0);
    for (const int rank : {0, acp_procs() - 1}) {
      std::vector<acp_ga_t> small;
      for (int i = 0; i < 100; ++i) {
        small.push_back(acp_malloc(100, rank));
        EXPECT(small.back() != ACP_GA_NULL);
      }
      free_in_a_step(small);
      for (int i = 0; i < 3; ++i) {
        const acp_ga_t large = acp_malloc(largest / 3 * 2, rank);
        EXPECT(large != ACP_GA_NULL);
        free_in_a_step({large});
      }
    }
  }
  EXPECT_EQ(acp_sync(), 0);
  expect_all_free(spmd::broadcast(largest, 0));
}

// The ends of a channel free their memory in the progress step of channels.
SPMD_CASE(channels_give_memory_back,
          "acp_free_ch: the heaps get the memory of both ends back") {
  SPMD_NEEDS_RANKS(2);
  // All rings together would fill the receiver's heap.
  const std::uint64_t rounds =
      setting("ACP_HEAP_SIZE") / setting("ACP_CH_BUFFER") + 32;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    if (acp_rank() < 2) {
      const acp_ch_t ch = acp_create_ch(0, 1);
      EXPECT(ch != ACP_CH_NULL);
      // The message connects the ends, and keeps the ranks together.
      std::uint64_t word = 17;
      const acp_request_t request = acp_rank() == 0
                                        ? acp_nbsend_ch(ch, &word, sizeof word)
                                        : acp_nbrecv_ch(ch, &word, sizeof word);
      EXPECT(acp_wait_ch(request) != SIZE_MAX);
      EXPECT_EQ(acp_free_ch(ch), 0);
    }
    if (i % 16 == 15) EXPECT_EQ(acp_sync(), 0);
  }
  EXPECT_EQ(acp_sync(), 0);
}

SPMD_CASE(acp_malloc_and_reset, "acp_reset: heaps are empty again") {
  const int right = spmd::right_of(acp_rank());
  const acp_ga_t first = acp_malloc(100, right);
  EXPECT(first != ACP_GA_NULL);
  EXPECT(acp_malloc(1 << 20, right) != ACP_GA_NULL);
  EXPECT_EQ(acp_reset(right), 0);
  EXPECT_EQ(acp_rank(), right);
  EXPECT_EQ(acp_sync(), 0);
  std::size_t largest = 0;
  if (acp_rank() == 0) {
    largest = largest_block(0);
  }
  expect_all_free(spmd::broadcast(largest, 0));
  EXPECT(largest == 0 || largest > setting("ACP_HEAP_SIZE") * 3 / 4);
}
