// The functions of libucp that the raw rows call; loaded_library.h.
#pragma once

#include <ucp/api/ucp.h>

namespace acp::perf {

#define ACP_UCP_FUNCTIONS(X)    \
  X(ucp_config_read)            \
  X(ucp_config_modify)          \
  X(ucp_config_release)         \
  X(ucp_init_version)           \
  X(ucp_cleanup)                \
  X(ucp_worker_create)          \
  X(ucp_worker_destroy)         \
  X(ucp_worker_progress)        \
  X(ucp_worker_get_address)     \
  X(ucp_worker_release_address) \
  X(ucp_ep_create)              \
  X(ucp_ep_close_nbx)           \
  X(ucp_ep_flush_nbx)           \
  X(ucp_ep_rkey_unpack)         \
  X(ucp_rkey_pack)              \
  X(ucp_rkey_buffer_release)    \
  X(ucp_rkey_destroy)           \
  X(ucp_mem_map)                \
  X(ucp_mem_unmap)              \
  X(ucp_put_nbx)                \
  X(ucp_get_nbx)                \
  X(ucp_atomic_op_nbx)          \
  X(ucp_request_check_status)   \
  X(ucp_request_free)

/// Functions by their names. Plain value.
struct UcpLibrary {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a member has no parentheses.
#define ACP_UCP_MEMBER(name) decltype(&::name) name = nullptr;
  ACP_UCP_FUNCTIONS(ACP_UCP_MEMBER)
#undef ACP_UCP_MEMBER
};

/// The library, which stays loaded; null when the machine has none, or one
/// that lacks a function. Not thread-safe.
const UcpLibrary* ucp_library();

}  // namespace acp::perf
