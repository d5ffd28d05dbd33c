// A stress test: all ranks call acp_malloc and acp_free at random, on random
// ranks, at once. Each block in use has its owner's mark in its first and last
// words, so that blocks that overlap are found when one is freed. Other ranks
// free some of the blocks.
#include <cstdlib>
#include <string_view>
#include <vector>

#include "support/spmd.h"
#include "support/spmd_memory.h"
#include "support/stderr_capture.h"

namespace {

struct Held {
  acp_ga_t ga;
  std::size_t size;
  std::uint64_t mark;
};

/// Whether another rank's heap is reached by the network.
bool is_far() {
  const acp_ga_t ga = acp_malloc(8, spmd::right_of(acp_rank()));
  EXPECT(ga != ACP_GA_NULL);
  const bool is_mapped = acpx_pointer(ga) != nullptr;
  acp_errno = 0;
  acp_free(ga);
  return !is_mapped;
}

/// Writes and checks marks, directly or by copies.
class Marker {
 public:
  explicit Marker(const spmd::Block& scratch) : scratch_(scratch) {}

  void mark(const Held& held) {
    if (held.size < 8) return;
    scratch_.word(0).store(held.mark);
    acpx_op_t ops[2] = {put(held.ga), put(last_of(held))};
    EXPECT_DONE(acpx_post(ops, 2, ACP_HANDLE_NULL));
  }

  void check(const Held& held) {
    if (held.size < 8) return;
    acpx_op_t ops[2] = {get(held.ga, 8), get(last_of(held), 16)};
    EXPECT_DONE(acpx_post(ops, 2, ACP_HANDLE_NULL));
    EXPECT_EQ(scratch_.word(1).load(), held.mark);
    EXPECT_EQ(scratch_.word(2).load(), held.mark);
  }

 private:
  static acp_ga_t last_of(const Held& held) {
    return held.ga + (held.size - 8) / 8 * 8;
  }

  acpx_op_t put(acp_ga_t to) const {
    acpx_op_t op{};
    op.opcode = ACPX_PUT;
    op.remote = to;
    op.local = scratch_.mine(0);
    op.size = 8;
    return op;
  }

  acpx_op_t get(acp_ga_t from, std::size_t to) const {
    acpx_op_t op{};
    op.opcode = ACPX_GET;
    op.remote = from;
    op.local = scratch_.mine(to);
    op.size = 8;
    return op;
  }

  const spmd::Block& scratch_;
};

/// The blocks are on rank 0, whose heap is often full.
acp_ga_t malloc_quietly(std::size_t size) {
  const spmd::StderrCapture quiet;
  return acp_malloc(size, 0);
}

/// A random size up to 64 KiB, log-uniform.
std::size_t some_size(std::mt19937_64& random) {
  return random() % (std::size_t{1} << random() % 17);
}

/// Returns `full`, or fewer steps where each takes round trips, and fewest
/// where packets are lost.
std::size_t steps(std::size_t full) {
  if (!is_far()) return spmd::scaled(full);
  const char* cache = std::getenv("ACP_MALLOC_CACHE");
  const bool is_bare = cache != nullptr && std::string_view(cache) == "off";
  const bool is_lossy = std::getenv("ACP_UDP_FAULTS") != nullptr;
  return spmd::scaled(full / (is_lossy ? 100 : is_bare ? 50 : 1), 500);
}

}  // namespace

// Each block has a mark at its begin and at its end, which are looked at before
// it is freed. A block that overlaps another one loses a mark.
SPMD_CASE(malloc_shadow, "acp_malloc: random blocks of random ranks") {
  const spmd::Block scratch(spmd::Memory::kLibrary, 64);
  Marker marker(scratch);
  auto random = spmd::random_of_rank();
  std::vector<Held> held;
  std::size_t refused = 0;
  const std::size_t count = steps(1'000'000);
  for (std::size_t i = 0; i < count; ++i) {
    if (random() % 512 < held.size()) {
      std::swap(held[random() % held.size()], held.back());
      marker.check(held.back());
      acp_free(held.back().ga);
      held.pop_back();
      continue;
    }
    const int rank =
        static_cast<int>(random() % static_cast<unsigned>(acp_procs()));
    const std::size_t size = some_size(random);
    const acp_ga_t ga = acp_malloc(size, rank);
    if (ga == ACP_GA_NULL) {
      ++refused;
      continue;
    }
    held.push_back({ga, size, random()});
    marker.mark(held.back());
  }
  EXPECT_EQ(refused, 0U);
  for (const Held& one : held) {
    marker.check(one);
    acp_free(one.ga);
  }
  EXPECT_EQ(acpx_trim_malloc(), 0);
  EXPECT_EQ(acp_sync(), 0);
}

SPMD_CASE(malloc_full_shadow, "acp_malloc: the same in a heap that is full") {
  const spmd::Block scratch(spmd::Memory::kLibrary, 64);
  Marker marker(scratch);
  auto random = spmd::random_of_rank();
  std::vector<Held> held;
  const std::size_t count = steps(20'000);
  const std::size_t at_most = count / 4;
  std::uint64_t heap = 0;
  EXPECT_EQ(acpx_setting("ACP_HEAP_SIZE", &heap), 0);
  // Cached blocks may lie anywhere in the heap, so all ranks return them first.
  EXPECT_EQ(acpx_trim_malloc(), 0);
  EXPECT_EQ(acp_sync(), 0);
  // One large block leaves one MiB for which all ranks compete.
  acp_ga_t most = ACP_GA_NULL;
  if (acp_rank() == 0) {
    most = acp_malloc(heap - heap / 40 - (std::size_t{1} << 20), 0);
    EXPECT(most != ACP_GA_NULL);
  }
  EXPECT_EQ(acp_sync(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    if (held.size() > at_most || (random() % 3 == 0 && !held.empty())) {
      std::swap(held[random() % held.size()], held.back());
      marker.check(held.back());
      acp_free(held.back().ga);
      held.pop_back();
      continue;
    }
    const std::size_t size = some_size(random);
    const acp_ga_t ga = malloc_quietly(size);
    if (ga == ACP_GA_NULL) {
      EXPECT_EQ(acp_errno, int{ACPX_NO_MEMORY});
      acp_errno = 0;
      // Half of the blocks are freed, so that it is worth asking again.
      for (std::size_t j = held.size() / 2; j < held.size(); ++j) {
        marker.check(held[j]);
        acp_free(held[j].ga);
      }
      held.resize(held.size() / 2);
      continue;
    }
    held.push_back({ga, size, random()});
    marker.mark(held.back());
  }
  for (const Held& one : held) {
    marker.check(one);
    acp_free(one.ga);
  }
  EXPECT_EQ(acpx_trim_malloc(), 0);
  EXPECT_EQ(acp_sync(), 0);
  if (acp_rank() == 0) {
    acp_free(most);
    const acp_ga_t all = acp_malloc(heap - heap / 40, 0);
    EXPECT(all != ACP_GA_NULL);
    acp_free(all);
  }
}
