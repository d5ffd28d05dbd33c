// Asks libibverbs for the limits of each device. Called by facts.cc. acp_info
// does not link libibverbs: the functions come from the library that
// libacp-verbs.so has loaded.
#include "rdma_limits.h"

#include <algorithm>
#include <string_view>

#include <infiniband/verbs.h>

#include "loaded_function.h"

namespace acp::info {

namespace {

/// The functions of libibverbs that are called here.
struct Verbs {
  decltype(&::ibv_get_device_list) get_device_list = nullptr;
  decltype(&::ibv_free_device_list) free_device_list = nullptr;
  decltype(&::ibv_get_device_name) get_device_name = nullptr;
  decltype(&::ibv_open_device) open_device = nullptr;
  decltype(&::ibv_close_device) close_device = nullptr;
  decltype(&::ibv_query_device) query_device = nullptr;
  bool is_complete = false;

  Verbs() {
    void* const library = loaded_library("libibverbs.so.1");
    is_complete =
        find_loaded(library, "ibv_get_device_list", get_device_list) &&
        find_loaded(library, "ibv_free_device_list", free_device_list) &&
        find_loaded(library, "ibv_get_device_name", get_device_name) &&
        find_loaded(library, "ibv_open_device", open_device) &&
        find_loaded(library, "ibv_close_device", close_device) &&
        find_loaded(library, "ibv_query_device", query_device);
  }
};

/// ACP_VERBS_ATOMICS=device needs either of the last two.
const char* name_of(ibv_atomic_cap atomics) {
  switch (atomics) {
    case IBV_ATOMIC_NONE: return "none";
    case IBV_ATOMIC_HCA: return "between queue pairs";
    case IBV_ATOMIC_GLOB: return "with the CPU's";
  }
  return "unknown";
}

std::uint64_t count_of(int number) {
  return static_cast<std::uint64_t>(std::max(number, 0));
}

RdmaLimits limits_of(const char* device, const ibv_device_attr& facts) {
  return {.device = device,
          .max_qp = count_of(facts.max_qp),
          .max_qp_wr = count_of(facts.max_qp_wr),
          .max_srq = count_of(facts.max_srq),
          .max_srq_wr = count_of(facts.max_srq_wr),
          .max_cqe = count_of(facts.max_cqe),
          .max_mr = count_of(facts.max_mr),
          .max_mr_size = facts.max_mr_size,
          .max_qp_rd_atom = count_of(facts.max_qp_rd_atom),
          .atomics = name_of(facts.atomic_cap)};
}

}  // namespace

/// The list is sorted by device, and leaves out devices that cannot be opened.
std::vector<RdmaLimits> rdma_limits() {
  std::vector<RdmaLimits> all;
  const Verbs verbs;
  int count = 0;
  ibv_device** const devices =
      verbs.is_complete ? verbs.get_device_list(&count) : nullptr;
  if (devices == nullptr) {
    return all;
  }
  for (int i = 0; i < count; ++i) {
    ibv_context* const context = verbs.open_device(devices[i]);
    if (context == nullptr) {
      continue;
    }
    ibv_device_attr facts{};
    if (verbs.query_device(context, &facts) == 0) {
      all.push_back(limits_of(verbs.get_device_name(devices[i]), facts));
    }
    verbs.close_device(context);
  }
  verbs.free_device_list(devices);
  std::ranges::sort(all, {}, &RdmaLimits::device);
  return all;
}

}  // namespace acp::info
