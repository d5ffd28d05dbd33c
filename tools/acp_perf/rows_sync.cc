// The row of acp_sync of all ranks. rows.cc lists it, and runner.cc runs it. No
// rank may call acp_sync more often than rank 0 has told it to, or the next
// row would begin on one rank alone.
#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

/// Number of acp_sync in a batch: small enough for oversubscribed hosts, large
/// enough for the resolution of the clock.
constexpr std::uint64_t kBatch = 64;

/// Rank 0 tells the other ranks how many acp_sync follow; 0 ends the row.
void tell_count(const Context& context, std::uint64_t count) {
  for (int rank = 1; rank < context.procs; ++rank) {
    context.memory.put_word(rank, Word::kCount, count);
  }
  acp_sync();
}

/// True when every rank has finished `batches`, as it must have after the
/// acp_sync of tell_count().
bool all_reached(const Context& context, std::uint64_t batches) {
  bool ok = true;
  for (int rank = 1; rank < context.procs; ++rank) {
    ok &= context.memory.get_word(rank, Word::kPhase) == batches;
  }
  return ok;
}

/// Each batch begins with tell_count(), outside of the timed part; it also
/// shows whether a rank left the batch before too early.
Outcome run_sync(Context& context, Samples& samples) {
  const std::int64_t start = now_ns();
  std::uint64_t batches = 0;
  bool ok = true;
  std::int64_t after = start;
  do {
    tell_count(context, kBatch);
    ok &= all_reached(context, batches);
    const std::int64_t before = now_ns();
    for (std::uint64_t i = 0; i < kBatch; ++i) {
      ok &= acp_sync() == 0;
    }
    after = now_ns();
    // The first batch warms up.
    if (batches++ == 0) continue;
    const double ns = static_cast<double>(after - before) - clock_cost_ns();
    if (!samples.add(ns, kBatch)) break;
  } while (after - start < context.time_ns || samples.batches() < 3);
  tell_count(context, 0);
  return expect(ok && all_reached(context, batches),
                "a rank was not where the others were");
}

void respond_sync(Context& context) {
  const std::uint64_t* count = context.memory.own_word(Word::kCount);
  std::uint64_t* phase = context.memory.own_word(Word::kPhase);
  std::uint64_t batches = 0;
  *static_cast<volatile std::uint64_t*>(phase) = batches;
  for (;;) {
    acp_sync();
    const std::uint64_t syncs =
        *static_cast<const volatile std::uint64_t*>(count);
    if (syncs == 0) return;
    for (std::uint64_t i = 0; i < syncs; ++i) {
      acp_sync();
    }
    *static_cast<volatile std::uint64_t*>(phase) = ++batches;
  }
}

}  // namespace

void add_sync_rows(Rows& rows) {
  append(rows, {
                   {.name = "sync",
                    .what = "acp_sync of all ranks",
                    .partners = Partners::kAll,
                    .raw_direct = "raw.barrier",
                    .raw_network = "raw.udp",
                    .run = run_sync,
                    .respond = respond_sync},
               });
}

}  // namespace acp::perf
