// Rows of single puts and gets of 8 and 16 bytes, each completed, and of many
// puts or gets with one completion. rows.cc lists them, and runner.cc runs
// them. A row may leave no operation open, because the next row uses the same
// words.
#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

#include "access_loops.inc"

/// One put to the rank's target and its completion, as in run_put.
void put_once(const Words& words, std::uint64_t value) {
  *words.own_source = value;
  acp_complete(acp_copy(words.target, words.source, 8, ACP_HANDLE_NULL));
}

/// Each rank puts to the next one, so that all share the cores of their host.
Words words_in_ring(const Context& context) {
  Words words = words_of(context);
  words.target =
      context.memory.word((context.rank + 1) % context.procs, Word::kTarget);
  return words;
}

/// Rank 0 measures while all other ranks put as well.
Outcome run_put_all(Context& context, Samples& samples) {
  const Words words = words_in_ring(context);
  std::uint64_t count = 0;
  measure(context.time_ns, 1, samples, [&] { put_once(words, ++count); });
  for (int rank = 1; rank < context.procs; ++rank) {
    context.memory.put_word(rank, Word::kStop, context.row);
  }
  return expect(context.memory.get_word(1, Word::kTarget) == count,
                "the target does not hold the last value put");
}

void respond_put_all(Context& context) {
  const Words words = words_in_ring(context);
  for (std::uint64_t count = 0; !context.is_row_over();) {
    put_once(words, ++count);
  }
}

}  // namespace

/// put8, get8 and their rates come before the rows that name them as raw rows:
/// select_rows goes through the table backwards.
void add_access_rows(Rows& rows) {
  append(rows,
         {
             {.name = "put8",
              .what = "acp_copy of 8 bytes to the target, and acp_complete",
              .raw_direct = "raw.store8.fence",
              .raw_network = "raw.udp",
              .raw_rdma = "raw.rdma.put",
              .raw_ucp = "raw.ucp.put8",
              .run = run_put<8>},
             {.name = "get8",
              .what = "acp_copy of 8 bytes from the target, and acp_complete",
              .raw_direct = "raw.load8",
              .raw_network = "raw.udp",
              .raw_rdma = "raw.rdma.get",
              .raw_ucp = "raw.ucp.get8",
              .run = run_get<8>},
             {.name = "put8.rate",
              .what = "64 puts of 8 bytes, then one acp_complete",
              .unit = Unit::kRate,
              .raw_direct = "raw.store8",
              .raw_ucp = "raw.ucp.put8.rate",
              .run = run_put_rate<8>},
             {.name = "get8.rate",
              .what = "64 gets of 8 bytes, then one acp_complete",
              .unit = Unit::kRate,
              .raw_direct = "raw.load8",
              .run = run_get_rate<8, ACP_HANDLE_NULL>},
             {.name = "put8.all",
              .what = "the same as put8 while each rank puts to the next one",
              .needs = Needs::kPeer,
              .partners = Partners::kAll,
              .raw_direct = "put8",
              .raw_network = "put8",
              .run = run_put_all,
              .respond = respond_put_all},
             // No copy of 16 bytes has to be seen whole. So a NIC that writes
             // no word of 8 bytes whole, and leaves put8 to messages, still
             // executes put16 by itself.
             {.name = "put16",
              .what = "the same as put8 with 16 bytes",
              .raw_direct = "put8",
              .raw_network = "put8",
              .raw_rdma = "raw.rdma.put",
              .run = run_put<16>},
             {.name = "get16",
              .what = "the same as get8 with 16 bytes",
              .raw_direct = "get8",
              .raw_network = "get8",
              .raw_rdma = "raw.rdma.get",
              .run = run_get<16>},
             {.name = "put16.rate",
              .what = "the same as put8.rate with 16 bytes",
              .unit = Unit::kRate,
              .raw_direct = "put8.rate",
              .raw_network = "put8.rate",
              .run = run_put_rate<16>},
             {.name = "put16.cont",
              .what = "the same as put16.rate with ACP_HANDLE_CONT",
              .unit = Unit::kRate,
              .raw_direct = "put16.rate",
              .raw_network = "put16.rate",
              .run = run_put_rate<16, ACP_HANDLE_CONT>},
             {.name = "get16.one_by_one",
              .what = "64 gets with ACP_HANDLE_ALL, then one acp_complete",
              .unit = Unit::kRate,
              .run = run_get_rate<16, ACP_HANDLE_ALL>},
             {.name = "get16.cont",
              .what = "the same as get16.one_by_one with ACP_HANDLE_CONT",
              .unit = Unit::kRate,
              .raw_direct = "get16.one_by_one",
              .raw_network = "get16.one_by_one",
              .run = run_get_rate<16, ACP_HANDLE_CONT>},
         });
}

}  // namespace acp::perf
