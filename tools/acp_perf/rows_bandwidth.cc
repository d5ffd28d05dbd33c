// Rows of the bandwidth of puts and gets: a window of copies on one buffer,
// then one completion. rows.cc lists them, and runner.cc runs them. A row may
// leave no copy open, because the next row uses the same buffers.
#include <cstring>

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

enum class Way : std::uint8_t { kPut, kGet };

/// Puts and gets are both checked in this rank's outbox: a get row first puts
/// the pattern that it will get, a put row fetches the pattern at the end.
Outcome run_copy(Context& context,
                 Samples& samples,
                 Way way,
                 std::uint64_t bytes) {
  const Memory& memory = context.memory;
  const acp_ga_t remote = memory.inbox(context.target);
  const acp_ga_t local = memory.outbox(context.rank);
  const acp_ga_t destination = way == Way::kPut ? remote : local;
  const acp_ga_t source = way == Way::kPut ? local : remote;
  std::byte* own = memory.own_outbox();

  fill_pattern(own, bytes, context.row);
  if (way == Way::kGet) {
    acp_complete(acp_copy(remote, local, bytes, ACP_HANDLE_NULL));
    std::memset(own, 0, bytes);
  }
  const std::uint64_t window = window_of(bytes);
  measure(context.time_ns, window, samples, [&] {
    acp_handle_t last = ACP_HANDLE_NULL;
    for (std::uint64_t i = 0; i < window; ++i) {
      last = acp_copy(destination, source, bytes, ACP_HANDLE_NULL);
    }
    acp_complete(last);
  });
  if (way == Way::kPut) {
    std::memset(own, 0, bytes);
    acp_complete(acp_copy(local, remote, bytes, ACP_HANDLE_NULL));
  }
  return expect(has_pattern(own, bytes, context.row), "copied bytes differ");
}

Row row_of(Way way, std::uint64_t bytes) {
  const bool is_put = way == Way::kPut;
  return {
      .name = (is_put ? "put." : "get.") + size_name(bytes),
      .what = is_put ? "bandwidth of puts from one buffer"
                     : "bandwidth of gets into one buffer",
      .unit = Unit::kBandwidth,
      .bytes = bytes,
      .raw_direct = "raw.memmove." + size_name(bytes),
      .raw_network = "raw.udp.stream",
      .raw_rdma = "raw.rdma.stream",
      .raw_ucp = (is_put ? "raw.ucp.put." : "raw.ucp.get.") + size_name(bytes),
      .run = [way, bytes](Context& context, Samples& samples) {
        return run_copy(context, samples, way, bytes);
      }};
}

}  // namespace

void add_bandwidth_rows(Rows& rows) {
  for (const Way way : {Way::kPut, Way::kGet}) {
    for (const std::uint64_t bytes : kBandwidthSizes) {
      rows.push_back(row_of(way, bytes));
    }
  }
}

}  // namespace acp::perf
