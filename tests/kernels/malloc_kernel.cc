// The direct paths of a heap under all schedules: ranks of one host allocate
// and free there by loads, stores and CPU atomics. middle/malloc/layout.h has
// the invariants.
#include <array>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "kernels/program.h"
#include "middle/heap_in_memory.h"
#include "middle/malloc/peer_heap.h"

namespace kernels {

namespace {

using acp::middle::FreeResult;
using acp::middle::Outcome;
using acp::middle::PeerHeap;
using acp::middle::test::HeapInMemory;

constexpr std::uint64_t kHeapBytes = std::uint64_t{1} << 20;

/// An action of a rank. Sizes are in bytes.
struct Action {
  std::uint64_t allocate = 0;  ///< 0: frees the block that it got last.
};

/// Each thread is a rank with a view of its own of one mapped heap.
class Heap : public Program {
 public:
  /// The actions of each rank, and the sizes of blocks that rank 0 has
  /// allocated before: the first is rank 0's, the next rank 1's, and so on.
  Heap(std::vector<std::vector<Action>> actions,
       std::vector<std::uint64_t> given,
       std::uint64_t cache_bytes)
      : actions_(std::move(actions)), blocks_(actions_.size()) {
    for (std::size_t rank = 0; rank < actions_.size(); ++rank) {
      ranks_.emplace_back(heap_.memory, heap_.layout, cache_bytes, nullptr);
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      blocks_[i % blocks_.size()].push_back(new_block(0, given[i]));
    }
    name_memory(heap_.memory.direct, kHeapBytes, "heap");
  }

  std::size_t threads() const override { return actions_.size(); }

  void run(std::size_t rank) override {
    for (const Action& action : actions_[rank]) {
      std::vector<Block>& mine = blocks_[rank];
      if (action.allocate != 0) {
        mine.push_back(new_block(rank, action.allocate));
        fill(mine.back(), rank);
      } else {
        expect_own(mine.back(), rank);
        expect(ranks_[rank].free(mine.back().offset) == FreeResult::kDone,
               "invariant 3: a block in use is found and freed");
        mine.pop_back();
      }
    }
  }

  void check() override {
    for (std::size_t rank = 0; rank < blocks_.size(); ++rank) {
      for (const Block& block : blocks_[rank]) {
        expect(ranks_[rank].free(block.offset) == FreeResult::kDone,
               "invariant 3: a block in use is found and freed");
      }
    }
    for (PeerHeap& rank : ranks_) {
      expect(rank.trim() == Outcome::kDone, "trim() works");
    }
    std::uint64_t offset = 0;
    expect(ranks_[0].allocate(heap_.layout.largest_block(), offset) ==
               Outcome::kDone,
           "invariant 2: nothing is lost, the heap is free at the end");
  }

 private:
  struct Block {
    std::uint64_t offset;
    std::uint64_t bytes;
  };

  Block new_block(std::size_t rank, std::uint64_t bytes) {
    Block block{0, bytes};
    expect(ranks_[rank].allocate(bytes, block.offset) == Outcome::kDone,
           "a heap with room gives a block");
    return block;
  }

  /// The first and the last word of a block are the user's. Two users at a time
  /// are a race, and so is a user that does not see the end of the one before.
  std::array<std::uint64_t*, 2> words(const Block& block) {
    std::byte* begin = heap_.memory.direct + block.offset;
    return {reinterpret_cast<std::uint64_t*>(begin),
            reinterpret_cast<std::uint64_t*>(begin + block.bytes - 8)};
  }

  void fill(const Block& block, std::size_t rank) {
    for (std::uint64_t* word : words(block)) {
      *word = rank + 1;
    }
  }

  void expect_own(const Block& block, std::size_t rank) {
    for (const std::uint64_t* word : words(block)) {
      expect(*word == rank + 1 || *word == 0,
             "invariant 3: a block has one user");
    }
  }

  HeapInMemory heap_{kHeapBytes};
  const std::vector<std::vector<Action>> actions_;
  std::deque<PeerHeap> ranks_;
  std::vector<std::vector<Block>> blocks_;  ///< By rank.
};

}  // namespace

std::vector<Case> all_cases() {
  using Actions = std::vector<std::vector<Action>>;
  using Sizes = std::vector<std::uint64_t>;
  constexpr std::uint64_t kSmall = 1024;  // Few of them fill a span.
  constexpr std::uint64_t kRun = 20'000;
  const Actions both = {{{kSmall}, {}}, {{kSmall}, {}}};
  const Actions runs = {{{kRun}, {}}, {{kRun}, {}}};
  return {
      make_case<Heap>("small", 2, both, Sizes{}, 0U),
      make_case<Heap>("small.cached", 2, both, Sizes{}, 65536U),
      make_case<Heap>("free.allocate", 2, Actions{{{}}, {{kSmall}}},
                      Sizes{kSmall}, 0U),
      make_case<Heap>("free.free", 3, Actions{{{}}, {{}}},
                      Sizes{kSmall, kSmall}, 0U),
      make_case<Heap>("full_span", 2, Actions{{{}, {}}, {{kSmall}, {}}},
                      Sizes{kSmall, kSmall, kSmall, kSmall}, 0U),
      make_case<Heap>("run", 2, runs, Sizes{}, 0U),
      make_case<Heap>("mixed", 2, Actions{{{kRun}, {}}, {{kSmall}, {}}},
                      Sizes{}, 0U),
  };
}

}  // namespace kernels
