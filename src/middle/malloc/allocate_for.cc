// Allocation for the data structures and channels, called by Site and Channels.
// The return address that debug mode reports is this function's caller. A
// failure is logged under the name that the caller gives, and not under
// acp_malloc.
#include "middle/malloc/allocate_for.h"

#include "middle/log.h"
#include "middle/malloc/heaps.h"

namespace acp::middle {

acp_ga_t allocate_for(const char* function, std::size_t size, int rank) {
  Heaps* heaps = Heaps::current();
  if (__builtin_expect(heaps == nullptr, 0)) {
    acp_errno = Heaps::reason_for_none();
    log_error("{}: {}", function, acpx_strerror(acp_errno));
    return ACP_GA_NULL;
  }
  return heaps->allocate(size, rank, __builtin_return_address(0), function);
}

}  // namespace acp::middle
