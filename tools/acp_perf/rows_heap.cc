// Rows of acp_malloc and acp_free in pairs of one size. With
// ACP_MALLOC_CACHE=off in the environment, the rows measure the heap without
// the caller's cache. Rows on the target compare with get8, a round trip.
// rows.cc lists them, and runner.cc runs them. A row may keep no block, neither
// allocated nor in the cache.
#include <algorithm>
#include <array>

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

constexpr std::size_t kSize = 64;
constexpr std::size_t kMany = 64;

/// Allocates and frees `count` blocks, again and again.
Outcome run_pairs(Context& context,
                  Samples& samples,
                  int rank,
                  std::size_t count) {
  std::array<acp_ga_t, kMany> blocks{};
  bool is_good = true;
  measure(context.time_ns, count, samples, [&] {
    for (std::size_t i = 0; i < count; ++i) {
      blocks[i] = acp_malloc(kSize, rank);
    }
    for (std::size_t i = 0; i < count; ++i) {
      is_good &= blocks[i] != ACP_GA_NULL;
      acp_free(blocks[i]);
    }
  });
  std::sort(blocks.begin(), blocks.begin() + count);
  is_good &= std::adjacent_find(blocks.begin(), blocks.begin() + count) ==
             blocks.begin() + count;
  acpx_trim_malloc();
  return expect(is_good, "acp_malloc failed, or gave a block twice");
}

template <std::size_t count>
Outcome run_own(Context& context, Samples& samples) {
  return run_pairs(context, samples, context.rank, count);
}

template <std::size_t count>
Outcome run_peer(Context& context, Samples& samples) {
  return run_pairs(context, samples, context.target, count);
}

}  // namespace

/// The limit of a target's heap is one get of 8 bytes.
void add_heap_rows(Rows& rows) {
  append(rows,
         {
             {.name = "heap.own",
              .what = "acp_malloc and acp_free of 64 bytes, own heap",
              .run = run_own<1>},
             {.name = "heap.own.64",
              .what = "acp_malloc and acp_free of 64 bytes, own heap, 64 "
                      "before the first is "
                      "freed",
              .run = run_own<kMany>},
             {.name = "heap.peer",
              .what = "acp_malloc and acp_free of 64 bytes, target's heap",
              .needs = Needs::kPeer,
              .raw_direct = "get8",
              .raw_network = "get8",
              .run = run_peer<1>},
             {.name = "heap.peer.64",
              .what = "acp_malloc and acp_free of 64 bytes, target's heap, 64 "
                      "before the first "
                      "is freed",
              .needs = Needs::kPeer,
              .raw_direct = "get8",
              .raw_network = "get8",
              .run = run_peer<kMany>},
         });
}

}  // namespace acp::perf
