// UdpTransport::open: checks settings, opens sockets, makes the transport.
// Called by open_network.cc, once per process. It sends nothing, and an error
// leaves no socket open.
#include <algorithm>
#include <vector>

#include "base/log.h"
#include "transport/interfaces.h"
#include "udp/faulty_socket.h"
#include "udp/kernel_socket.h"
#include "udp/udp_transport.h"

namespace acp::udp {

namespace {

using transport::LocalAddress;

/// On the loopback interface a datagram costs much more than its bytes, see
/// docs/udp.md, "Measured".
constexpr std::size_t kLoopbackDatagramBytes = 60'000;
/// The MTU of Ethernet, for an interface that does not tell its own.
constexpr std::uint32_t kUsualMtu = 1'500;
/// Headers of IP and UDP.
constexpr std::uint32_t kIpv4Headers = 28;
constexpr std::uint32_t kIpv6Headers = 48;

/// The largest datagram that leaves through an interface in one piece. PathMtu
/// finds out how much of that the path to each peer carries.
std::size_t datagram_through(const LocalAddress& local) {
  if (transport::is_loopback(local.address)) {
    return kLoopbackDatagramBytes;
  }
  const std::uint32_t mtu = local.mtu == 0 ? kUsualMtu : local.mtu;
  const std::uint32_t headers = local.address.family == transport::Family::kIpv4
                                    ? kIpv4Headers
                                    : kIpv6Headers;
  return std::clamp<std::size_t>(mtu - std::min(mtu, headers),
                                 kMinDatagramBytes, kLoopbackDatagramBytes);
}

std::size_t datagram_for(std::span<const LocalAddress> addresses) {
  std::size_t most = 0;
  for (const LocalAddress& local : addresses) {
    most = std::max(most, datagram_through(local));
  }
  return most;
}

/// The addresses of the colors: what the user names, else the one that routes
/// to the other hosts, else 127.0.0.1. A host that needs a route and has none
/// fails, because no other host would reach its loopback address.
Result<std::vector<LocalAddress>> local_addresses(
    const SocketOptions& sockets) {
  if (!sockets.interfaces.empty()) {
    const auto known = transport::list_local_addresses();
    if (!known.ok()) {
      return known.status();
    }
    auto chosen = transport::choose_addresses("ACP_UDP_INTERFACES",
                                              sockets.interfaces, *known);
    if (chosen.ok() && chosen->size() > kMaxColors) {
      log_error("ACP_UDP_INTERFACES: more than {} addresses", kMaxColors);
      return Status::kBadOption;
    }
    return chosen;
  }
  if (!sockets.why_no_route.empty()) {
    log_error(
        "this host knows no address of another host of this job ({}): give "
        "each host an address that the others reach, under acprun in --host, "
        "in the node file or in /etc/hosts of each host, or name the interface "
        "in ACP_UDP_INTERFACES",
        sockets.why_no_route);
    return Status::kSystem;
  }
  const auto own = transport::address_towards(
      sockets.route_to.empty() ? "127.0.0.1" : sockets.route_to);
  return own.ok() ? Result(std::vector{*own}) : own.status();
}

/// Everybody who reaches an address that is not loopback could write into the
/// memory of the job, so `off` is refused there.
Result<Security> security_for(std::string_view setting,
                              std::span<const LocalAddress> addresses,
                              bool warns) {
  const auto outside =
      std::ranges::find_if_not(addresses, [](const LocalAddress& one) {
        return transport::is_loopback(one.address);
      });
  const bool is_inside = outside == addresses.end();
  if (setting == "encrypt") {
    return Security::kEncrypt;
  }
  if (setting == "auth" || (setting == "auto" && !is_inside)) {
    return Security::kAuth;
  }
  if (setting == "off" && !is_inside) {
    log_error(
        "ACP_UDP_SECURITY=off: {} is not a loopback address, and whoever "
        "reaches it could write into the memory of this job; leave the setting "
        "out, or say insecure instead of off",
        transport::format_address(outside->address));
    return Status::kBadOption;
  }
  if (setting == "insecure" && !is_inside && warns) {
    log_warning(
        "udp: packets are not authenticated (ACP_UDP_SECURITY=insecure): "
        "whoever reaches {} can write into the memory of this job",
        transport::format_address(outside->address));
  }
  return Security::kOff;
}

std::string describe(const LocalAddress& local) {
  return fmt::format("{}{}{}", local.interface,
                     local.interface.empty() ? "" : " at ",
                     transport::format_address(local.address));
}

Status check_datagram(std::size_t bytes) {
  if (bytes == 0 ||
      (bytes >= kMinDatagramBytes && bytes <= kMaxDatagramBytes)) {
    return Status::kOk;
  }
  log_error("ACP_UDP_DATAGRAM: {} is not 0 or {} .. {}", bytes,
            kMinDatagramBytes, kMaxDatagramBytes);
  return Status::kBadOption;
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
    log_error("ACP_UDP_FAULTS: \"{}\" is not understood; it looks like {}",
              sockets.faults, kFaultPlanExample);
    return Status::kBadOption;
  }
  if (const Status status = check_datagram(options.datagram_bytes);
      status != Status::kOk) {
    return status;
  }
  const auto addresses = local_addresses(sockets);
  if (!addresses.ok()) {
    return addresses.status();
  }
  const auto security =
      security_for(sockets.security, *addresses, options.me == 0);
  if (!security.ok()) {
    return security.status();
  }
  auto opened = KernelSocket::open(*addresses, options.me == 0);
  if (!opened.ok()) {
    return opened.status();
  }
  std::unique_ptr<DatagramSocket> socket = std::move(opened).value();
  UdpOptions settled = options;
  settled.security = *security;
  if (*security != Security::kOff) {
    const auto aes =
        choose_aes_gcm(sockets.tags, sockets.module_folders, sockets.warnings);
    if (!aes.ok()) {
      return aes.status();
    }
    settled.aes = *aes;
  }
  for (const LocalAddress& each : *addresses) {
    settled.color_texts.push_back(describe(each));
  }
  if (settled.datagram_bytes == 0) {
    settled.datagram_bytes = datagram_for(*addresses);
  }
  if (faults->is_active()) {
    socket = std::make_unique<FaultySocket>(std::move(socket), *faults,
                                            options.me, clock);
  }
  return std::make_unique<UdpTransport>(std::move(settled), std::move(socket),
                                        clock);
}

}  // namespace acp::udp
