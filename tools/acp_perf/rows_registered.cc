// Rows of operations on registered memory that the target's program got from
// malloc. rows.cc lists them, and runner.cc runs them. No row may register
// memory: memory.cc has done it before.
#include "copy_loop.h"
#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

Outcome run_add(Context& context, Samples& samples) {
  const Memory& memory = context.memory;
  const acp_ga_t local = memory.word(context.rank, Word::kResult);
  std::uint64_t* old = memory.own_word(Word::kResult);
  acp_complete(acp_copy(local, context.peer.registered, 8, ACP_HANDLE_NULL));
  const std::uint64_t start = *old;
  std::uint64_t count = 0;
  bool ok = true;
  measure(context.time_ns, 1, samples, [&] {
    acp_complete(acp_add8(local, context.peer.registered, 1, ACP_HANDLE_NULL));
    ok &= *old == start + count++;
  });
  return expect(ok, "an old value is wrong");
}

Row copy_row(Way way, std::uint64_t bytes, Unit unit) {
  const bool is_put = way == Way::kPut;
  return {.name = std::string(is_put ? "malloc.put" : "malloc.get") +
                  (unit == Unit::kTime ? "" : ".") + size_name(bytes),
          .what = is_put ? "acp_copy to registered malloc memory, acp_complete"
                         : "acp_copy from registered malloc memory, "
                           "acp_complete",
          .unit = unit,
          .bytes = bytes,
          .raw_direct =
              (is_put ? "raw.cma.write." : "raw.cma.read.") + size_name(bytes),
          .raw_network = unit == Unit::kTime ? "raw.udp" : "raw.udp.stream",
          .run = [way, bytes](Context& context, Samples& samples) {
            return run_copies(context, samples, way, context.peer.registered,
                              bytes, 1);
          }};
}

}  // namespace

void add_registered_rows(Rows& rows) {
  for (const Way way : {Way::kPut, Way::kGet}) {
    append(rows, {copy_row(way, 8, Unit::kTime),
                  copy_row(way, 4096, Unit::kBandwidth),
                  copy_row(way, 1 << 20, Unit::kBandwidth)});
  }
  append(rows, {{.name = "malloc.add8",
                 .what = "acp_add8 on registered malloc memory, acp_complete",
                 .raw_direct = "raw.line",
                 .raw_network = "raw.udp",
                 .run = run_add}});
}

}  // namespace acp::perf
