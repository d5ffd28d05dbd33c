// Tests of page runs: with threads as ranks, and on heaps that are too large
// for this process.
#include "middle/malloc/page_runs.h"

#include <algorithm>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "middle/heap_in_memory.h"
#include "support/verdict.h"

namespace acp::middle::test {

namespace {

/// The bits of a heap, without its blocks: it is too large to exist here.
class LargeHeap {
 public:
  explicit LargeHeap(std::uint64_t bytes)
      : layout(bytes), words_(layout.group(layout.groups()) / 8) {
    memory.direct = reinterpret_cast<std::byte*>(words_.data());
  }

  HeapLayout layout;
  HeapMemory memory;

 private:
  std::vector<std::uint64_t> words_;
};

struct Run {
  PageNumber first;
  std::uint64_t pages;
};

/// A random length: mostly small, sometimes several chunks.
std::uint64_t some_pages(std::mt19937_64& random) {
  return random() % 8 != 0 ? 1 + random() % 64 : 1 + random() % 400;
}

}  // namespace

TEST_CASE("page runs: the whole heap is one run, again and again", "[malloc]") {
  HeapInMemory heap(std::uint64_t{20} << 20);
  PageRuns runs(heap.memory, heap.layout);
  for (int i = 0; i < 3; ++i) {
    PageNumber first = 1;
    REQUIRE(runs.take(heap.layout.pages(), first) == Outcome::kDone);
    CHECK(first == 0);
    PageNumber more = 0;
    CHECK(runs.take(1, more) == Outcome::kFull);
    CHECK(runs.take(heap.layout.pages() + 1, more) == Outcome::kFull);
    REQUIRE(runs.give_back(first, heap.layout.pages()) == Outcome::kDone);
    CHECK(heap.is_whole());
  }
}

TEST_CASE("page runs: what a run leaves of its last chunk is used",
          "[malloc]") {
  HeapInMemory heap(std::uint64_t{4} << 20);
  PageRuns runs(heap.memory, heap.layout);
  std::vector<Run> taken;
  PageNumber first = 0;
  REQUIRE(runs.take(65, first) == Outcome::kDone);
  REQUIRE(runs.take(63, first) == Outcome::kDone);
  CHECK(first == 65);
  CHECK(runs.give_back(0, 65) == Outcome::kDone);
  CHECK_FALSE(heap.is_whole());
  CHECK(runs.give_back(65, 63) == Outcome::kDone);
  CHECK(heap.is_whole());
}

TEST_CASE("page runs: large runs are found without a search", "[malloc]") {
  LargeHeap heap(std::uint64_t{64} << 30);
  PageRuns runs(heap.memory, heap.layout);
  // 17 chunks each, the length of a block of 1 MiB.
  constexpr std::uint64_t kPages = 17 * kPagesPerChunk;
  std::vector<PageNumber> taken;
  PageNumber first = 0;
  while (runs.take(kPages, first) == Outcome::kDone)
    taken.push_back(first);
  CHECK(taken.size() == heap.layout.chunks() / 17);
  // A run reads one or two groups. Finding the heap full reads all groups
  // once more.
  const std::uint64_t groups = heap.layout.groups();
  CHECK(runs.groups_read() <= 3 * taken.size() + 2 * groups);

  // Half of the heap now consists of holes that are too small for the next
  // runs.
  std::uint64_t before = runs.groups_read();
  for (std::size_t i = 0; i < taken.size() / 2; i += 2)
    REQUIRE(runs.give_back(taken[i], kPages) == Outcome::kDone);
  REQUIRE(runs.give_back(taken[taken.size() - 2], kPages) == Outcome::kDone);
  REQUIRE(runs.give_back(taken[taken.size() - 1], kPages) == Outcome::kDone);
  REQUIRE(runs.take(kPages + 1, first) == Outcome::kDone);
  CHECK(first == taken[taken.size() - 2]);
  REQUIRE(runs.take(kPages, first) == Outcome::kDone);
  CHECK(first == taken[0]);
  CHECK(runs.groups_read() - before <= 8);

  // Another rank, which knows nothing of this, reads each group once.
  PageRuns others(heap.memory, heap.layout);
  REQUIRE(others.take(kPages, first) == Outcome::kDone);
  CHECK(first == taken[2]);
  REQUIRE(others.give_back(first, kPages) == Outcome::kDone);
  // A rank finds a run that its peer has returned when it reads all groups
  // again.
  REQUIRE(others.give_back(taken[1], kPages) == Outcome::kDone);
  before = runs.groups_read();
  REQUIRE(runs.take(2 * kPages, first) == Outcome::kDone);
  CHECK(first == taken[1]);
  CHECK(runs.groups_read() - before <= groups + 8);
}

TEST_CASE("page runs: every page can be had one by one", "[malloc]") {
  HeapInMemory heap(std::uint64_t{6} << 20);
  PageRuns runs(heap.memory, heap.layout);
  std::vector<bool> is_mine(heap.layout.pages());
  PageNumber page = 0;
  std::uint64_t count = 0;
  for (; runs.take(1, page) == Outcome::kDone; ++count) {
    REQUIRE(page < is_mine.size());
    REQUIRE_FALSE(is_mine[page]);
    is_mine[page] = true;
  }
  CHECK(count == heap.layout.pages());
  // Every second page is freed: no two free ones are in a row.
  for (PageNumber i = 0; i < heap.layout.pages(); i += 2) {
    REQUIRE(runs.give_back(i, 1) == Outcome::kDone);
  }
  CHECK(runs.take(2, page) == Outcome::kFull);
  CHECK(runs.take(1, page) == Outcome::kDone);
  REQUIRE(runs.give_back(page, 1) == Outcome::kDone);
  for (PageNumber i = 1; i < heap.layout.pages(); i += 2) {
    REQUIRE(runs.give_back(i, 1) == Outcome::kDone);
  }
  CHECK(heap.is_whole());
}

// A map of the runs that are taken is the model. A run may be refused only when
// nearly a quarter of the heap is in use.
TEST_CASE("page runs: random runs never overlap, and a full heap is full",
          "[malloc]") {
  HeapInMemory heap(std::uint64_t{12} << 20);
  PageRuns runs(heap.memory, heap.layout);
  std::mt19937_64 random(11);
  std::map<PageNumber, std::uint64_t> taken;
  std::uint64_t used = 0;
  for (int i = 0; i < 30'000; ++i) {
    if (random() % 2 == 0 && !taken.empty()) {
      auto any = taken.lower_bound(random() % heap.layout.pages());
      any = any == taken.end() ? taken.begin() : any;
      REQUIRE(runs.give_back(any->first, any->second) == Outcome::kDone);
      used -= any->second;
      taken.erase(any);
      continue;
    }
    const std::uint64_t pages = some_pages(random);
    PageNumber first = 0;
    if (runs.take(pages, first) != Outcome::kDone) {
      INFO("refused " << pages << " with " << used << " in use");
      REQUIRE(used + 600 > heap.layout.pages() / 4);
      continue;
    }
    REQUIRE(first + pages <= heap.layout.pages());
    const auto after = taken.lower_bound(first);
    REQUIRE((after == taken.end() || first + pages <= after->first));
    REQUIRE((after == taken.begin() ||
             std::prev(after)->first + std::prev(after)->second <= first));
    taken[first] = pages;
    used += pages;
  }
  for (const auto& [first, pages] : taken) {
    REQUIRE(runs.give_back(first, pages) == Outcome::kDone);
  }
  CHECK(heap.is_whole());
}

// Every page has a word with the number of its owner. A thread takes a run and
// writes its number there, and must not find another number.
TEST_CASE("page runs: threads share a heap and no page", "[malloc][threads]") {
  HeapInMemory heap(std::uint64_t{12} << 20);
  std::vector<std::atomic<std::uint32_t>> owner(heap.layout.pages());
  acp::test::Verdict verdict;
  std::vector<std::thread> threads;
  for (std::uint32_t me = 1; me <= 4; ++me) {
    threads.emplace_back([&, me] {
      PageRuns runs(heap.memory, heap.layout);
      std::mt19937_64 random(me);
      std::vector<Run> mine;
      for (int i = 0; i < 4000; ++i) {
        Run run{0, some_pages(random)};
        if (random() % 2 == 0 &&
            runs.take(run.pages, run.first) == Outcome::kDone) {
          for (std::uint64_t j = 0; j < run.pages; ++j) {
            verdict.expect(owner[run.first + j].exchange(me) == 0,
                           "a page has two owners");
          }
          mine.push_back(run);
        } else if (!mine.empty()) {
          std::swap(mine[random() % mine.size()], mine.back());
          for (std::uint64_t j = 0; j < mine.back().pages; ++j) {
            verdict.expect(owner[mine.back().first + j].exchange(0) == me,
                           "a page changed its owner");
          }
          verdict.expect(runs.give_back(mine.back().first, mine.back().pages) ==
                             Outcome::kDone,
                         "a run was not given back");
          mine.pop_back();
        }
      }
      for (const Run& run : mine) {
        for (std::uint64_t j = 0; j < run.pages; ++j) {
          owner[run.first + j].store(0);
        }
        runs.give_back(run.first, run.pages);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(verdict.failure() == std::string());
  CHECK(heap.is_whole());
}

}  // namespace acp::middle::test
