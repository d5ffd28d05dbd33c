// Rows of small operations that are made without a call (acp/inline.h). The
// loops are those of rows_access.cc and rows_atomic.cc, compiled with
// ACP_INLINE. Where an operation has to be a call, for example between hosts,
// the figures equal those of the other rows. rows.cc lists them, and runner.cc
// runs them.
#define ACP_INLINE

#include <type_traits>

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

#include "access_loops.inc"
#include "atomic_loop.inc"

/// The data are 64 bytes of the buffers, and the signal is the target word.
template <bool is_inline>
Outcome run_put_signal(Context& context, Samples& samples) {
  const acp_ga_t word = context.memory.word(context.target, Word::kTarget);
  const acp_ga_t to = context.memory.inbox(context.target);
  const acp_ga_t from = context.memory.outbox(context.rank);
  context.memory.put_word(context.target, Word::kTarget, 0);
  std::uint64_t count = 0;
  measure(context.time_ns, 1, samples, [&] {
    ++count;
    if constexpr (is_inline) {
      acpx_put_signal(to, from, 64, word, 1, ACP_HANDLE_NULL);
    } else {
      (acpx_put_signal)(to, from, 64, word, 1, ACP_HANDLE_NULL);
    }
    acp_complete(ACP_HANDLE_ALL);
  });
  return expect(context.memory.get_word(context.target, Word::kTarget) == count,
                "the target has not got every signal");
}

}  // namespace

/// Each row has the name of the row with a call, and ".inline".
void add_inline_rows(Rows& rows) {
  append(
      rows,
      {{.name = "put8.inline",
        .what = "the same as put8, without a call (acp/inline.h)",
        .raw_direct = "raw.store8.fence",
        .run = run_put<8>},
       {.name = "get8.inline",
        .what = "the same as get8, without a call",
        .raw_direct = "raw.load8",
        .run = run_get<8>},
       {.name = "put8.rate.inline",
        .what = "64 puts of 8 bytes without a call, then one acp_complete",
        .unit = Unit::kRate,
        .raw_direct = "raw.store8",
        .run = run_put_rate<8>},
       {.name = "get8.rate.inline",
        .what = "64 gets of 8 bytes without a call, then one acp_complete",
        .unit = Unit::kRate,
        .raw_direct = "raw.load8",
        .run = run_get_rate<8, ACP_HANDLE_NULL>},
       {.name = "add8.inline",
        .what = "the same as add8, without a call",
        .raw_direct = "raw.fetch_add",
        .run = run_atomic<std::uint64_t, acpx_inline_add8, sum<std::uint64_t>>},
       {.name = "cas8.inline",
        .what = "the same as cas8, without a call",
        .raw_direct = "raw.cas",
        .run =
            run_atomic<std::uint64_t, acpx_inline_cas8, second<std::uint64_t>>},
       {.name = "put_signal.64",
        .what = "acpx_put_signal of 64 bytes, and acp_complete",
        .raw_direct = "raw.fetch_add",
        .run = run_put_signal<false>},
       {.name = "put_signal.64.inline",
        .what = "the same as put_signal.64, without a call",
        .raw_direct = "raw.fetch_add",
        .run = run_put_signal<true>}});
}

}  // namespace acp::perf
