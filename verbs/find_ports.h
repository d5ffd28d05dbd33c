// Which ports of which devices can be used here, and why not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "verbs/address_card.h"
#include "verbs/resource.h"

namespace acp::verbs {

/// A port with an address, and an id bound to it.
struct Port {
  CmId id;
  std::string name;              ///< "rxe0 port 1".
  ListenAddress listen_address;  ///< Port 0 of the address: not listening yet.
};

/// The channel of all events of connections, non-blocking. kUnsupported,
/// logged with what to do.
Result<EventChannel> open_event_channel();

/// The ports that `wanted` names, in that order ("rxe0,mlx5_1:2"), or when it
/// is empty all that can be used, by name. At least one. kUnsupported,
/// kBadOption: logged with what to do.
Result<std::vector<Port>> find_ports(rdma_event_channel& channel,
                                     std::string_view wanted);

}  // namespace acp::verbs
