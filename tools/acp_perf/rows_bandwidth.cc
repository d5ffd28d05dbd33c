// Rows of the bandwidth of puts and gets: a window of copies on one buffer,
// then one completion. rows.cc lists them, and runner.cc runs them. A row may
// leave no copy open, because the next row uses the same buffers.
#include "copy_loop.h"
#include "rows.h"

namespace acp::perf {

Row bandwidth_row(Way way, std::uint64_t bytes) {
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
        return run_copies(context, samples, way,
                          context.memory.inbox(context.target), bytes,
                          window_of(bytes));
      }};
}

void add_bandwidth_rows(Rows& rows) {
  for (const Way way : {Way::kPut, Way::kGet}) {
    for (const std::uint64_t bytes : kBandwidthSizes) {
      rows.push_back(bandwidth_row(way, bytes));
    }
  }
}

}  // namespace acp::perf
