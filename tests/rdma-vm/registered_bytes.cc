// Counts the bytes that this process registers, through wrappers of the
// functions that register memory and end that. Only tests of the verbs
// transport link it.
#include "rdma-vm/registered_bytes.h"

namespace acp::verbs {

std::map<const ibv_pd*, std::size_t>& registered_bytes() {
  static std::map<const ibv_pd*, std::size_t> bytes;
  return bytes;
}

}  // namespace acp::verbs

namespace {

ibv_mr* count(ibv_mr* region) {
  if (region != nullptr) {
    acp::verbs::registered_bytes()[region->pd] += region->length;
  }
  return region;
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
ibv_mr* __real_ibv_reg_mr(ibv_pd* domain,
                          void* address,
                          size_t bytes,
                          int access);
ibv_mr* __real_ibv_reg_mr_iova2(ibv_pd* domain,
                                void* address,
                                size_t bytes,
                                uint64_t remote_address,
                                unsigned int access);
int __real_ibv_dereg_mr(ibv_mr* region);

ibv_mr* __wrap_ibv_reg_mr(ibv_pd* domain,
                          void* address,
                          size_t bytes,
                          int access) {
  return count(__real_ibv_reg_mr(domain, address, bytes, access));
}

ibv_mr* __wrap_ibv_reg_mr_iova2(ibv_pd* domain,
                                void* address,
                                size_t bytes,
                                uint64_t remote_address,
                                unsigned int access) {
  return count(
      __real_ibv_reg_mr_iova2(domain, address, bytes, remote_address, access));
}

int __wrap_ibv_dereg_mr(ibv_mr* region) {
  const ibv_pd* domain = region->pd;
  const size_t bytes = region->length;
  const int error = __real_ibv_dereg_mr(region);
  if (error == 0 && (acp::verbs::registered_bytes()[domain] -= bytes) == 0) {
    acp::verbs::registered_bytes().erase(domain);
  }
  return error;
}

// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)

}  // extern "C"
