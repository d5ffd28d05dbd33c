// Allocations and frees. The blocks of a rank are listed in its starter memory,
// where every rank finds them.
#include <algorithm>

#include "acp/malloc.h"
#include "explore/image/programs.h"
#include "explore/operations.h"

namespace explore {

namespace {

constexpr std::uint64_t kContent = 128;  ///< Offsets in starter memory.
constexpr std::uint64_t kBlocks = 1024;
constexpr std::size_t kMostBlocks = 64;

/// A block in use. Its first and last word are its own address.
struct Block {
  acp_ga_t ga;
  std::uint64_t bytes;
};

acp_ga_t block_at(int rank, std::uint64_t number) {
  return acp_query_starter_ga(rank) + kBlocks + number * sizeof(Block);
}

void copy(acp_ga_t to, acp_ga_t from, std::size_t bytes) {
  acp_complete(acp_copy(to, from, bytes, ACP_HANDLE_NULL));
}

/// Reads an entry of a rank's list.
Block read(int rank, std::uint64_t number) {
  copy(own_ga(kContent), block_at(rank, number), sizeof(Block));
  const std::uint64_t* words = own_words(kContent);
  return {words[0], words[1]};
}

std::uint64_t word_at(acp_ga_t ga) {
  copy(own_ga(kContent), ga, 8);
  return *own_words(kContent);
}

class MallocProgram : public Program {
 public:
  Handles create(std::uint64_t /*variant*/) override { return {}; }

  void use(const Handles& /*handles*/) override {}

  std::uint64_t run(const Operation& operation) override {
    acp_errno = 0;
    switch (operation.code) {
      case heap::kAllocate:
      case heap::kAllocateLast:
        return allocate(operation.a, static_cast<int>(operation.b));
      case heap::kFree:
        free(static_cast<int>(operation.b), operation.a);
        return unless_failed(kNothing);
      case heap::kFreeMaybe:
        free(static_cast<int>(operation.b), operation.a);
        return kNothing;
      case heap::kTrim:
        (void)acpx_trim_malloc();
        return unless_failed(kNothing);
      default: return kFailure;
    }
  }

  /// 1 if no two blocks overlap and each has its words; the number of blocks.
  std::size_t dump(std::uint64_t* to, std::size_t /*most*/) override {
    Block all[kMostBlocks];
    std::size_t count = 0;
    for (int rank = 0; rank < acp_procs(); ++rank) {
      for (std::uint64_t i = 0; i < kMostBlocks; ++i) {
        const Block block = read(rank, i);
        if (block.ga != ACP_GA_NULL && count < kMostBlocks) {
          all[count++] = block;
        }
      }
    }
    std::sort(all, all + count,
              [](const Block& a, const Block& b) { return a.ga < b.ga; });
    to[0] = 1;
    to[1] = count;
    for (std::size_t i = 0; i < count; ++i) {
      const bool overlaps =
          i + 1 < count && all[i].ga + all[i].bytes > all[i + 1].ga;
      if (overlaps || word_at(all[i].ga) != all[i].ga ||
          word_at(all[i].ga + all[i].bytes - 8) != all[i].ga) {
        to[0] = 0;
      }
    }
    return 2;
  }

  void destroy() override {
    for (int rank = 0; rank < acp_procs(); ++rank) {
      for (std::uint64_t i = 0; i < kMostBlocks; ++i) {
        if (read(rank, i).ga != ACP_GA_NULL) {
          free(rank, i);
        }
      }
    }
  }

 private:
  std::uint64_t allocate(std::uint64_t bytes, int rank) {
    const acp_ga_t block = acp_malloc(bytes, rank);
    if (block == ACP_GA_NULL) {
      return kFailure;
    }
    std::uint64_t* words = own_words(kContent);
    words[0] = block;
    copy(block, own_ga(kContent), 8);
    copy(block + bytes - 8, own_ga(kContent), 8);
    auto* list =
        static_cast<Block*>(acp_query_address(block_at(acp_rank(), 0)));
    Block* entry = std::find_if(list, list + kMostBlocks, [](const Block& one) {
      return one.ga == ACP_GA_NULL;
    });
    *entry = {block, bytes};
    return kNothing;
  }

  static void free(int rank, std::uint64_t number) {
    const Block block = read(rank, number);
    if (block.ga == ACP_GA_NULL) {
      return;  // another rank was faster
    }
    std::uint64_t* words = own_words(kContent);
    words[0] = words[1] = 0;
    copy(block_at(rank, number), own_ga(kContent), sizeof(Block));
    acp_free(block.ga);
  }
};

}  // namespace

Program* malloc_program() {
  static MallocProgram program;
  return &program;
}

}  // namespace explore
