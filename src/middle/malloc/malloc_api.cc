// The functions of chapter 4.9, acp/malloc.h, and acpx_trim_malloc. Programs
// call them. Each makes one call and takes no lock itself.
#include "acp/extension.h"
#include "acp/malloc.h"
#include "base/memory_reserve.h"
#include "middle/lacks_memory.h"
#include "middle/log.h"
#include "middle/malloc/heaps.h"

namespace {

void fail_without_heaps(const char* function) {
  acp_errno = acp::middle::Heaps::reason_for_none();
  acp::middle::log_error("{}: {}", function, acpx_strerror(acp_errno));
}

}  // namespace

extern "C" {

acp_ga_t acp_malloc(size_t size, int rank) {
  acp::middle::Heaps* heaps = acp::middle::Heaps::current();
  if (__builtin_expect(heaps == nullptr, 0)) {
    fail_without_heaps("acp_malloc");
    return ACP_GA_NULL;
  }
  if (acp::middle::lacks_memory("acp_malloc")) {
    return ACP_GA_NULL;
  }
  const acp::MustNotFail must_not_fail;
  return heaps->allocate(size, rank, __builtin_return_address(0), "acp_malloc");
}

void acp_free(acp_ga_t ga) {
  acp::middle::Heaps* heaps = acp::middle::Heaps::current();
  if (__builtin_expect(heaps == nullptr, 0)) {
    fail_without_heaps("acp_free");
  } else if (ga != ACP_GA_NULL) {
    const acp::MustNotFail must_not_fail;
    heaps->free(ga, __builtin_return_address(0));
  }
}

int acpx_trim_malloc(void) {
  acp::middle::Heaps* heaps = acp::middle::Heaps::current();
  if (heaps == nullptr) {
    fail_without_heaps("acpx_trim_malloc");
    return -1;
  }
  const acp::MustNotFail must_not_fail;
  return heaps->trim();
}

}  // extern "C"
