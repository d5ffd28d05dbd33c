// Finds the RDMA ports that this process can use, and explains why others
// cannot be used. Called by VerbsTransport::open.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "status/result.h"
#include "verbs/address_card.h"
#include "verbs/port_order.h"
#include "verbs/resource.h"

namespace acp::verbs {

/// An address of the RDMA fabric, in network byte order.
using Gid = std::array<std::uint8_t, 16>;

/// Text such as "fe80:0000:0000:0000:0202:c9ff:fe00:0001", as RDMA tools print
/// it.
std::string format_gid(const Gid& gid);

/// A port with an address, and an rdma_cm id that is bound to it.
struct Port {
  CmId id;
  std::string name;                   ///< "rxe0 port 1".
  std::string interface;              ///< "eth0", which has the address.
  transport::Address listen_address;  ///< Port 0 until it listens.
  Gid gid{};
  /// Text that ports have alike which reach each other: "ib" and the subnet
  /// prefix of the GID, or "roce" and the IP subnet.
  std::string fabric;
};

/// Opens the channel for events of all connections, non-blocking. kUnsupported:
/// logged with the remedy.
Result<EventChannel> open_event_channel();

/// The ports that `wanted` names, in that order
/// ("rxe0,mlx5_1:2,mlx5_2@eth2.100"). If `wanted` is empty, all usable ports in
/// the order of order_ports(), up to `most`, each with its first address. At
/// least one.
/// kUnsupported, kBadOption: logged with the remedy.
Result<std::vector<Port>> find_ports(rdma_event_channel& channel,
                                     std::string_view wanted,
                                     std::size_t most,
                                     const PortChooser& chooser);

}  // namespace acp::verbs
