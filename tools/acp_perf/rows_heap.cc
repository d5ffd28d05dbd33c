// Rows of acp_malloc and acp_free in pairs of one size. With
// ACP_MALLOC_CACHE=off in the environment, the rows measure the heap without
// the caller's cache. Rows on the target compare with get8, a round trip.
#include <algorithm>
#include <array>

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

constexpr std::size_t kSize = 64;
constexpr std::size_t kMany = 64;

/// Allocates and frees `count` blocks, again and again.
Verdict run_pairs(Context& context,
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

void add_row(Rows& rows, const char* name, bool is_own, std::size_t count) {
  Row row;
  row.name = name;
  row.what = std::string("acp_malloc and acp_free of 64 bytes, ") +
             (is_own ? "own heap" : "target's heap") +
             (count == 1 ? "" : ", 64 before the first is freed");
  row.raw_direct = is_own ? "" : "get8";
  row.raw_network = is_own ? "" : "get8";
  row.needs = is_own ? Needs::kNothing : Needs::kPeer;
  row.run = [is_own, count](Context& context, Samples& samples) {
    return run_pairs(context, samples, is_own ? context.rank : context.target,
                     count);
  };
  rows.push_back(std::move(row));
}

}  // namespace

void add_heap_rows(Rows& rows) {
  add_row(rows, "heap.own", true, 1);
  add_row(rows, "heap.own.64", true, kMany);
  add_row(rows, "heap.peer", false, 1);
  add_row(rows, "heap.peer.64", false, kMany);
}

}  // namespace acp::perf
