// Opens datagram sockets of the kernel for tests, by the text of
// ACP_UDP_INTERFACES.
#pragma once

#include <memory>
#include <string_view>

#include "base/assert.h"
#include "transport/interfaces.h"
#include "udp/kernel_socket.h"

namespace acp::test {

/// A socket per address of the list. The addresses have to exist.
inline Result<std::unique_ptr<udp::KernelSocket>> open_socket(
    std::string_view interfaces) {
  const auto known = transport::list_local_addresses();
  ACP_ASSERT(known.ok());
  const auto chosen =
      transport::choose_addresses("ACP_UDP_INTERFACES", interfaces, *known);
  ACP_ASSERT(chosen.ok());
  return udp::KernelSocket::open(*chosen, false);
}

}  // namespace acp::test
