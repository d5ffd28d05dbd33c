// Finds the network that the linker recorded in the program. acp_init asks,
// before it opens a network. Reads a symbol of the program, and calls nothing
// there.
#include "api/program_net.h"

namespace acp::api {

// `acpcc -ndev udp` gives the linker -Wl,--defsym=acpx_ndev_udp=1. The linker
// then defines this symbol in the program, and in no other program. Nothing is
// stored there: only whether the address is null is looked at. A network has
// the variable FOLDER_symbol here, and in the program the symbol
// acpx_ndev_NAME.
#define ACP_SYMBOL(variable, name)                            \
  [[gnu::weak, gnu::visibility("default")]] extern const char \
      variable##_symbol asm("acpx_ndev_" name);
#define ACP_NETWORK(folder, name, ...) ACP_SYMBOL(folder, name)
#define ACP_MODULE_NETWORK(folder, name, ...) ACP_SYMBOL(folder, name)
#define ACP_MISSING_NETWORK(name)
ACP_SYMBOL(shm, "shm")
#include "settings/networks.def"
#undef ACP_NETWORK
#undef ACP_MODULE_NETWORK

namespace {

struct ProgramNet {
  const char* name;  ///< A value of ACP_NET.
  const char* symbol;
};

}  // namespace

const char* program_net() noexcept {
  const ProgramNet nets[] = {
#define ACP_NETWORK(folder, name, ...) {name, &folder##_symbol},
#define ACP_MODULE_NETWORK(folder, name, ...) {name, &folder##_symbol},
#include "settings/networks.def"
#undef ACP_NETWORK
#undef ACP_MODULE_NETWORK
#undef ACP_MISSING_NETWORK
      {"shm", &shm_symbol},
  };
  for (const ProgramNet& net : nets) {
    if (net.symbol != nullptr) {
      return net.name;
    }
  }
  return nullptr;
}

}  // namespace acp::api
