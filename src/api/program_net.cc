// Finds the network that the linker recorded in the program. acp_init asks,
// before it opens a network. Reads a symbol of the program, and calls nothing
// there.
#include "api/program_net.h"

// `acpcc -ndev udp` gives the linker -Wl,--defsym=acpx_ndev_udp=1. The linker
// then defines this symbol in the program, and in no other program. Nothing is
// stored there: only whether the address is null is looked at.
extern "C" {
[[gnu::weak, gnu::visibility("default")]] extern const char acpx_ndev_shm;
[[gnu::weak, gnu::visibility("default")]] extern const char acpx_ndev_udp;
[[gnu::weak, gnu::visibility("default")]] extern const char acpx_ndev_ib;
}

namespace acp::api {

const char* program_net() noexcept {
  if (&acpx_ndev_udp != nullptr) {
    return "udp";
  }
  if (&acpx_ndev_ib != nullptr) {
    return "ib";
  }
  return &acpx_ndev_shm != nullptr ? "shm" : nullptr;
}

}  // namespace acp::api
