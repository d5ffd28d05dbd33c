// Rows of copies between two other ranks: from rank 1 to rank 2, or inside rank
// 1 when there is no rank 2. rows.cc lists them, and runner.cc runs them. The
// other two ranks may not touch the buffers before the row has ended.
#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

Outcome run_copy(Context& context, Samples& samples, std::uint64_t bytes) {
  const Memory& memory = context.memory;
  const acp_ga_t source = memory.inbox(context.target);
  // Rank 2 does not use its outbox while it waits for the end of the row.
  const acp_ga_t destination = memory.outbox(context.third);
  const acp_ga_t local = memory.outbox(context.rank);
  std::byte* own = memory.own_outbox();
  fill_pattern(own, bytes, context.row);
  acp_complete(acp_copy(source, local, bytes, ACP_HANDLE_NULL));
  measure(context.time_ns, 1, samples, [&] {
    acp_complete(acp_copy(destination, source, bytes, ACP_HANDLE_NULL));
  });
  if (destination != local) {
    fill_pattern(own, bytes, ~context.row);
    acp_complete(acp_copy(local, destination, bytes, ACP_HANDLE_NULL));
  }
  return expect(has_pattern(own, bytes, context.row), "copied bytes differ");
}

Row row_of(std::uint64_t bytes, Unit unit, const char* raw) {
  return {.name = "remote_copy." + size_name(bytes),
          .what = "acp_copy from rank 1 to rank 2 by rank 0, and acp_complete",
          .unit = unit,
          .bytes = bytes,
          .raw_direct = raw,
          .raw_network = unit == Unit::kTime ? "raw.udp" : "raw.udp.stream",
          .run = [bytes](Context& context, Samples& samples) {
            return run_copy(context, samples, bytes);
          }};
}

}  // namespace

void add_remote_copy_rows(Rows& rows) {
  append(rows, {row_of(8, Unit::kTime, "raw.store8.fence"),
                row_of(65536, Unit::kBandwidth, "raw.memmove.64K"),
                row_of(1 << 20, Unit::kBandwidth, "raw.memmove.1M")});
}

}  // namespace acp::perf
