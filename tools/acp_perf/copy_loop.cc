// Puts and gets of one buffer. Rows call it, and runner.cc runs them. No copy
// may be open when it returns, because the next row uses the same buffers.
#include "copy_loop.h"

#include <cstring>

#include "timing.h"

namespace acp::perf {

/// Puts and gets are both checked in this rank's outbox. A get row first puts
/// the pattern that it will get. A put row fetches the pattern at the end.
Outcome run_copies(Context& context,
                   Samples& samples,
                   Way way,
                   acp_ga_t remote,
                   std::uint64_t bytes,
                   std::uint64_t window) {
  const Memory& memory = context.memory;
  const acp_ga_t local = memory.outbox(context.rank);
  const acp_ga_t destination = way == Way::kPut ? remote : local;
  const acp_ga_t source = way == Way::kPut ? local : remote;
  std::byte* own = memory.own_outbox();

  fill_pattern(own, bytes, context.row);
  if (way == Way::kGet) {
    acp_complete(acp_copy(remote, local, bytes, ACP_HANDLE_NULL));
    std::memset(own, 0, bytes);
  }
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

}  // namespace acp::perf
