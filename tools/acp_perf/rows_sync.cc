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

/// The samples of a row. The mean of a batch hides a barrier that takes a
/// thousand times as long as the others.
enum class Sample : std::uint8_t { kMeanOfBatch, kEachSync };

/// One batch, timed from the end of the acp_sync in front of it. False: there
/// is no room for more samples.
template <Sample sample>
bool time_batch(Samples* samples, bool& ok) {
  const std::int64_t start = now_ns();
  std::int64_t before = start;
  bool has_room = true;
  for (std::uint64_t i = 0; i < kBatch; ++i) {
    ok &= acp_sync() == 0;
    if constexpr (sample == Sample::kEachSync) {
      const std::int64_t now = now_ns();
      const double ns = static_cast<double>(now - before) - clock_cost_ns();
      has_room = has_room && (samples == nullptr || samples->add(ns, 1));
      before = now;
    }
  }
  if constexpr (sample == Sample::kMeanOfBatch) {
    const double ns = static_cast<double>(now_ns() - start) - clock_cost_ns();
    has_room = samples == nullptr || samples->add(ns, kBatch);
  }
  return has_room;
}

/// Each batch begins with tell_count(), outside of the timed part; it also
/// shows whether a rank left the batch before too early.
template <Sample sample>
Outcome run_sync(Context& context, Samples& samples) {
  const std::int64_t start = now_ns();
  std::uint64_t batches = 0;
  bool ok = true;
  bool has_room = true;
  do {
    tell_count(context, kBatch);
    ok &= all_reached(context, batches);
    // The first batch warms up.
    has_room = time_batch<sample>(batches == 0 ? nullptr : &samples, ok);
    ++batches;
  } while (has_room &&
           (now_ns() - start < context.time_ns || samples.batches() < 3));
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
                    .run = run_sync<Sample::kMeanOfBatch>,
                    .respond = respond_sync},
                   {.name = "sync.each",
                    .what = "acp_sync of all ranks, each timed alone",
                    .partners = Partners::kAll,
                    .raw_direct = "raw.barrier.each",
                    .raw_network = "raw.udp",
                    .run = run_sync<Sample::kEachSync>,
                    .respond = respond_sync},
               });
}

}  // namespace acp::perf
