// Remembers every queue pair that rdma_create_qp makes in this process, through
// a wrapper (--wrap=rdma_create_qp). Only tests of the verbs transport link it.
#include "rdma-vm/created_pairs.h"

#include <cerrno>
#include <unordered_map>

#include <rdma/rdma_cma.h>

#include "verbs/completion_queues.h"

namespace acp::verbs {

namespace {

/// By queue pair. An address that is used again has the newest limits.
std::unordered_map<const ibv_qp*, ibv_qp_cap>& limits() {
  static std::unordered_map<const ibv_qp*, ibv_qp_cap> known;
  return known;
}

}  // namespace

std::vector<ibv_qp*>& created_pairs() {
  static std::vector<ibv_qp*> created;
  return created;
}

ibv_qp_cap limits_of(const ibv_qp& pair) {
  return limits().at(&pair);
}

bool& are_large_refused() {
  static bool are_refused = false;
  return are_refused;
}

bool is_rxe(const ibv_qp& pair) {
  ibv_device_attr attributes{};
  return ibv_query_device(pair.context, &attributes) == 0 &&
         attributes.vendor_id == 0xffffff;
}

}  // namespace acp::verbs

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
int __real_rdma_create_qp(rdma_cm_id* id,
                          ibv_pd* domain,
                          ibv_qp_init_attr* attributes);

int __wrap_rdma_create_qp(rdma_cm_id* id,
                          ibv_pd* domain,
                          ibv_qp_init_attr* attributes) {
  if (acp::verbs::are_large_refused() &&
      attributes->cap.max_send_wr >= acp::verbs::kSendQueue) {
    errno = ENOMEM;
    return -1;
  }
  const int result = __real_rdma_create_qp(id, domain, attributes);
  if (result == 0) {
    acp::verbs::created_pairs().push_back(id->qp);
    acp::verbs::limits()[id->qp] = attributes->cap;
  }
  return result;
}

// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)

}  // extern "C"
