// Cases of puts and gets whose data a network sends from user memory without a
// copy. Once the put has ended, or the memory is unregistered, the library must
// not read the memory. After a get it must survive that the memory is gone. The
// cases make it unreadable then.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "support/spmd.h"
#include "support/spmd_memory.h"

namespace {

using spmd::Block;
using spmd::Memory;

constexpr std::size_t kLargest = 400'000;

/// Registered pages of their own. A read after hide() kills the process.
class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : bytes_(whole_pages(bytes)),
        start_(::mmap(nullptr,
                      bytes_,
                      PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS,
                      -1,
                      0)) {
    EXPECT(start_ != MAP_FAILED);
    key_ = acp_register_memory(start_, bytes_, 0);
    EXPECT(key_ != ACP_ATKEY_NULL);
  }

  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  ~Pages() {
    EXPECT_EQ(acp_unregister_memory(key_), 0);
    EXPECT_EQ(::munmap(start_, bytes_), 0);
  }

  void fill(int byte) { std::memset(start_, byte, bytes_); }

  void hide() { EXPECT_EQ(::mprotect(start_, bytes_, PROT_NONE), 0); }

  acp_ga_t address() const { return acp_query_ga(key_, start_); }

 private:
  static std::size_t whole_pages(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
  }

  std::size_t bytes_;
  void* start_;
  acp_atkey_t key_ = ACP_ATKEY_NULL;
};

/// Gives the right neighbour the address of this rank's source, and returns
/// that of the right neighbour's. Collective. The address stands behind the
/// data.
acp_ga_t exchange(const Block& block, const Pages& source) {
  block.word(kLargest / 8).store(source.address());
  EXPECT_EQ(acp_sync(), 0);
  EXPECT_DONE(acp_copy(block.mine(kLargest + 8),
                       block.at(spmd::right_of(acp_rank()), kLargest), 8,
                       ACP_HANDLE_NULL));
  return block.word(kLargest / 8 + 1).load();
}

/// Whether the first bytes of the block are all `byte`.
bool holds(const Block& block, std::size_t bytes, std::size_t byte) {
  return std::string_view(reinterpret_cast<const char*>(block.data()), bytes) ==
         std::string(bytes, static_cast<char>(byte));
}

}  // namespace

SPMD_CASE(hidden_after_the_end,
          "sources that nobody may read after their put") {
  std::mt19937_64 random = spmd::random_of_job();
  const Block block(Memory::kLibrary, kLargest);
  const std::size_t rounds = spmd::scaled_flights(2000);
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::size_t bytes = 1 + random() % kLargest;
    Pages source(bytes);
    source.fill(static_cast<int>(round));
    EXPECT_DONE(acp_copy(block.at(spmd::right_of(acp_rank())), source.address(),
                         bytes, ACP_HANDLE_NULL));
    source.hide();
    EXPECT_EQ(acp_sync(), 0);
    EXPECT(holds(block, bytes, round));
    EXPECT_EQ(acp_sync(), 0);
  }
}

// Each source is hidden as soon as its own put is complete, while later puts
// may still be under way.
SPMD_CASE(hidden_one_by_one, "sources of several puts under way") {
  constexpr std::size_t kPuts = 4;
  std::mt19937_64 random = spmd::random_of_job();
  const Block block(Memory::kLibrary, kPuts * kLargest);
  const std::size_t rounds = spmd::scaled_flights(1000);
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::size_t bytes = 1 + random() % kLargest;
    std::deque<Pages> sources;
    std::vector<acp_handle_t> handles;
    for (std::size_t put = 0; put < kPuts; ++put) {
      sources.emplace_back(bytes).fill(static_cast<int>(round));
      handles.push_back(
          acp_copy(block.at(spmd::right_of(acp_rank()), put * bytes),
                   sources.back().address(), bytes, ACP_HANDLE_NULL));
    }
    for (std::size_t put = 0; put < kPuts; ++put) {
      EXPECT_DONE(handles[put]);
      sources[put].hide();
    }
    EXPECT_EQ(acp_sync(), 0);
    EXPECT(holds(block, kPuts * bytes, round));
    EXPECT_EQ(acp_sync(), 0);
  }
}

SPMD_CASE(gone_under_way, "sources that are unregistered under their puts") {
  std::mt19937_64 random = spmd::random_of_job();
  const Block block(Memory::kLibrary, kLargest);
  const std::size_t rounds = spmd::scaled_flights(500);
  for (std::size_t round = 0; round < rounds; ++round) {
    {
      Pages source(kLargest);
      for (int put = 0; put < 3; ++put) {
        const std::size_t bytes = 1 + random() % kLargest;
        (void)acp_copy(block.at(spmd::right_of(acp_rank())), source.address(),
                       bytes, ACP_HANDLE_NULL);
      }
    }
    acp_complete(ACP_HANDLE_ALL);  // some may have failed, and say so
  }
  EXPECT_EQ(acp_sync(), 0);
}

SPMD_CASE(hidden_after_a_get, "memory that is gone after the gets of others") {
  std::mt19937_64 random = spmd::random_of_job();
  const Block block(Memory::kLibrary, kLargest + 16);
  const int right = spmd::right_of(acp_rank());
  const std::size_t rounds = spmd::scaled_flights(2000);
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::size_t bytes = 1 + random() % kLargest;
    Pages source(bytes);
    source.fill(static_cast<int>(round) + acp_rank());
    const acp_ga_t from = exchange(block, source);
    EXPECT_DONE(acp_copy(block.mine(0), from, bytes, ACP_HANDLE_NULL));
    EXPECT(holds(block, bytes, round + static_cast<std::size_t>(right)));
    EXPECT_EQ(acp_sync(), 0);
    source.hide();
  }
}

SPMD_CASE(gone_under_gets, "memory that is unregistered under gets of others") {
  std::mt19937_64 random = spmd::random_of_job();
  const Block block(Memory::kLibrary, kLargest + 16);
  const std::size_t rounds = spmd::scaled_flights(500);
  for (std::size_t round = 0; round < rounds; ++round) {
    {
      const Pages source(kLargest);
      const acp_ga_t from = exchange(block, source);
      for (int get = 0; get < 3; ++get) {
        const std::size_t bytes = 1 + random() % kLargest;
        (void)acp_copy(block.mine(0), from, bytes, ACP_HANDLE_NULL);
      }
    }
    acp_complete(ACP_HANDLE_ALL);  // some may have failed, and say so
    EXPECT_EQ(acp_sync(), 0);
  }
}
