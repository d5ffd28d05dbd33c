// The functions of acp/channel.h, and acpx_wait_ch_timeout. Programs call them.
// Each checks that a job is running, makes one call, and takes no lock itself.
#include "acp/channel.h"
#include "acp/extension.h"
#include "acp/infrastructure.h"
#include "base/memory_reserve.h"
#include "middle/channel/channels.h"
#include "middle/lacks_memory.h"

using acp::middle::channel::channels;
using acp::middle::channel::Way;

namespace {

/// Outside of acp_init .. acp_finalize acp_rank() reports the error, with the
/// name of `function`.
bool is_too_early_or_late(const char* function) {
  if (channels().is_running()) {
    return false;
  }
  const char* before = acpx_enter_call(function);
  const bool is_outside = acp_rank() < 0;
  acpx_leave_call(before);
  return is_outside;
}

bool cannot_begin(const char* function) {
  return is_too_early_or_late(function) || acp::middle::lacks_memory(function);
}

std::uint64_t number(const void* handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

acp_request_t as_request(std::uint64_t handle) {
  return reinterpret_cast<acp_request_t>(handle);
}

}  // namespace

extern "C" {

acp_ch_t acp_create_ch(int sender, int receiver) {
  if (cannot_begin("acp_create_ch")) {
    return ACP_CH_NULL;
  }
  const acp::MustNotFail must_not_fail;
  return reinterpret_cast<acp_ch_t>(channels().create(sender, receiver));
}

acp_request_t acp_nbfree_ch(acp_ch_t ch) {
  if (cannot_begin("acp_nbfree_ch")) {
    return ACP_REQUEST_NULL;
  }
  const acp::MustNotFail must_not_fail;
  return as_request(channels().free("acp_nbfree_ch", number(ch)));
}

int acp_free_ch(acp_ch_t ch) {
  if (cannot_begin("acp_free_ch")) {
    return -1;
  }
  const acp::MustNotFail must_not_fail;
  const char* function = "acp_free_ch";
  const std::uint64_t request = channels().free(function, number(ch));
  return request != 0 && channels().wait(function, request) !=
                             acp::middle::channel::kWaitFailed
             ? 0
             : -1;
}

acp_request_t acp_nbsend_ch(acp_ch_t ch, void* buf, size_t size) {
  if (cannot_begin("acp_nbsend_ch")) {
    return ACP_REQUEST_NULL;
  }
  const acp::MustNotFail must_not_fail;
  return as_request(channels().post(Way::kSend, number(ch), buf, size));
}

acp_request_t acp_nbrecv_ch(acp_ch_t ch, void* buf, size_t size) {
  if (cannot_begin("acp_nbrecv_ch")) {
    return ACP_REQUEST_NULL;
  }
  const acp::MustNotFail must_not_fail;
  return as_request(channels().post(Way::kReceive, number(ch), buf, size));
}

size_t acp_wait_ch(acp_request_t request) {
  const acp::MustNotFail must_not_fail;
  return is_too_early_or_late("acp_wait_ch")
             ? acp::middle::channel::kWaitFailed
             : channels().wait("acp_wait_ch", number(request));
}

int acpx_wait_ch_timeout(acp_request_t request, int timeout_ms, size_t* size) {
  const acp::MustNotFail must_not_fail;
  if (is_too_early_or_late("acpx_wait_ch_timeout")) {
    return -1;
  }
  const std::size_t result =
      channels().wait("acpx_wait_ch_timeout", number(request), timeout_ms);
  if (result >= acp::middle::channel::kWaitTimedOut) {
    return result == acp::middle::channel::kWaitFailed ? -1 : 1;
  }
  if (size != nullptr) {
    *size = result;
  }
  return 0;
}

int acp_waitall_ch(acp_request_t* requests, int n, size_t* sizes) {
  const acp::MustNotFail must_not_fail;
  return is_too_early_or_late("acp_waitall_ch")
             ? -1
             : channels().wait_all(requests, n, sizes);
}

}  // extern "C"
