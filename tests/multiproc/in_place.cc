// Puts whose data a network may send from where they lie: the memory is gone
// as soon as their end, or that of its registration, allows it.
#include <sys/mman.h>

#include <cstring>
#include <string>
#include <string_view>

#include "support/spmd.h"
#include "support/spmd_memory.h"

namespace {

using spmd::Block;
using spmd::Memory;

constexpr std::size_t kLargest = 400'000;

/// Registered pages of their own, which are unmapped at the end: whoever reads
/// them later dies.
class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : bytes_(bytes),
        start_(::mmap(nullptr,
                      bytes,
                      PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS,
                      -1,
                      0)) {
    EXPECT(start_ != MAP_FAILED);
    key_ = acp_register_memory(start_, bytes, 0);
    EXPECT(key_ != ACP_ATKEY_NULL);
  }

  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  ~Pages() {
    EXPECT_EQ(acp_unregister_memory(key_), 0);
    EXPECT_EQ(::munmap(start_, bytes_), 0);
  }

  void fill(int byte) { std::memset(start_, byte, bytes_); }

  acp_ga_t address() const { return acp_query_ga(key_, start_); }

 private:
  std::size_t bytes_;
  void* start_;
  acp_atkey_t key_ = ACP_ATKEY_NULL;
};

}  // namespace

SPMD_CASE(gone_after_the_end, "sources that are unmapped after their put") {
  std::mt19937_64 random = spmd::random_of_job();
  const Block block(Memory::kLibrary, kLargest);
  const std::size_t rounds = spmd::scaled_flights(2000);
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::size_t bytes = 1 + random() % kLargest;
    {
      Pages source(bytes);
      source.fill(static_cast<int>(round));
      EXPECT_DONE(acp_copy(block.at(spmd::right_of(acp_rank())),
                           source.address(), bytes, ACP_HANDLE_NULL));
    }
    EXPECT_EQ(acp_sync(), 0);
    EXPECT(
        std::string_view(reinterpret_cast<const char*>(block.data()), bytes) ==
        std::string(bytes, static_cast<char>(round)));
    EXPECT_EQ(acp_sync(), 0);
  }
}

SPMD_CASE(others_go_on, "the end of one put leaves the sources of others") {
  constexpr std::size_t kPuts = 4;
  std::mt19937_64 random = spmd::random_of_job();
  const Block block(Memory::kLibrary, kPuts * kLargest);
  const std::size_t rounds = spmd::scaled_flights(1000);
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::size_t bytes = 1 + random() % kLargest;
    Pages source(kPuts * bytes);
    source.fill(static_cast<int>(round));
    acp_handle_t first = ACP_HANDLE_NULL;
    for (std::size_t put = 0; put < kPuts; ++put) {
      const acp_handle_t handle =
          acp_copy(block.at(spmd::right_of(acp_rank()), put * bytes),
                   source.address() + put * bytes, bytes, ACP_HANDLE_NULL);
      first = put == 0 ? handle : first;
    }
    acp_complete(first);
    acp_complete(ACP_HANDLE_ALL);
    EXPECT_EQ(acp_sync(), 0);
    EXPECT(std::string_view(reinterpret_cast<const char*>(block.data()),
                            kPuts * bytes) ==
           std::string(kPuts * bytes, static_cast<char>(round)));
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
