// The functions of libibverbs that the raw rows call; loaded_library.h.
#pragma once

#include <infiniband/verbs.h>

namespace acp::perf {

#define ACP_RDMA_FUNCTIONS(X) \
  X(ibv_get_device_list)      \
  X(ibv_free_device_list)     \
  X(ibv_get_device_name)      \
  X(ibv_open_device)          \
  X(ibv_close_device)         \
  X(ibv_query_port)           \
  X(_ibv_query_gid_table)     \
  X(ibv_alloc_pd)             \
  X(ibv_dealloc_pd)           \
  X(ibv_reg_mr)               \
  X(ibv_dereg_mr)             \
  X(ibv_create_cq)            \
  X(ibv_destroy_cq)           \
  X(ibv_create_qp)            \
  X(ibv_modify_qp)            \
  X(ibv_destroy_qp)

/// Functions by their names. Some names are macros of verbs.h as well, so a
/// call has parentheses around the member: (library.ibv_reg_mr)(...). Plain
/// value.
struct RdmaLibrary {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a member has no parentheses.
#define ACP_RDMA_MEMBER(name) decltype(&::name) name = nullptr;
  ACP_RDMA_FUNCTIONS(ACP_RDMA_MEMBER)
#undef ACP_RDMA_MEMBER
};

/// The library, which stays loaded; null when the machine has none, or one
/// that lacks a function. Not thread-safe.
const RdmaLibrary* rdma_library();

}  // namespace acp::perf
