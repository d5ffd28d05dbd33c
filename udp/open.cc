// UdpTransport::open: checks settings, opens sockets, makes the transport.
// Called once per process, in acp_init.
#include <algorithm>

#include "base/log.h"
#include "udp/faulty_socket.h"
#include "udp/kernel_socket.h"
#include "udp/udp_transport.h"

namespace acp::udp {

namespace {

/// On the loopback interface a datagram costs much more than its bytes, see
/// docs/udp.md, "Measured".
constexpr std::size_t kLoopbackDatagramBytes = 60'000;
/// Fits an Ethernet frame with IPv6 and a tunnel header.
constexpr std::size_t kNetworkDatagramBytes = 1'400;

std::size_t datagram_for(std::span<const Address> addresses) {
  return std::all_of(addresses.begin(), addresses.end(), transport::is_loopback)
             ? kLoopbackDatagramBytes
             : kNetworkDatagramBytes;
}

}  // namespace

/// Checks the settings before it opens sockets. The datagram size depends on
/// the addresses that were bound; faults wrap the socket that was opened.
Result<std::unique_ptr<UdpTransport>> UdpTransport::open(
    const UdpOptions& options,
    const SocketOptions& sockets,
    const Clock& clock) {
  const auto faults = parse_fault_plan(sockets.faults);
  if (!faults) {
    log_error(
        "ACP_UDP_FAULTS: \"{}\" is not understood; it looks like "
        "loss=0.05,duplicate=0.02,reorder=0.05,corrupt=0.01,seed=7",
        sockets.faults);
    return Status::kBadOption;
  }
  if (options.datagram_bytes != 0 &&
      (options.datagram_bytes < kMinDatagramBytes ||
       options.datagram_bytes > kMaxDatagramBytes)) {
    log_error("ACP_UDP_DATAGRAM: {} is not 0 or {} .. {}",
              options.datagram_bytes, kMinDatagramBytes, kMaxDatagramBytes);
    return Status::kBadOption;
  }
  auto opened = KernelSocket::open(sockets.addresses, options.me == 0);
  if (!opened.ok()) {
    return opened.status();
  }
  std::unique_ptr<DatagramSocket> socket = std::move(opened).value();
  UdpOptions settled = options;
  if (settled.datagram_bytes == 0) {
    settled.datagram_bytes = datagram_for(socket->addresses());
  }
  if (faults->is_active()) {
    socket =
        std::make_unique<FaultySocket>(std::move(socket), *faults, options.me);
  }
  return std::make_unique<UdpTransport>(std::move(settled), std::move(socket),
                                        clock);
}

}  // namespace acp::udp
