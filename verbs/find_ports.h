// Finds the RDMA ports that this process can use, and explains why others
// cannot be used. Called by VerbsTransport::open.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "verbs/address_card.h"
#include "verbs/resource.h"

namespace acp::verbs {

/// A port with an address, and an rdma_cm id that is bound to it.
struct Port {
  CmId id;
  std::string name;              ///< "rxe0 port 1".
  ListenAddress listen_address;  ///< Port 0 until it listens.
};

/// Opens the channel for events of all connections, non-blocking. kUnsupported:
/// logged with the remedy.
Result<EventChannel> open_event_channel();

/// The ports that `wanted` names, in that order ("rxe0,mlx5_1:2"). If `wanted`
/// is empty, all usable ports, sorted by name. At least one. kUnsupported,
/// kBadOption: logged with the remedy.
Result<std::vector<Port>> find_ports(rdma_event_channel& channel,
                                     std::string_view wanted);

}  // namespace acp::verbs
