// Opens the network that ACP_NET names, from libacp or from a module.
#pragma once

#include <memory>

#include "status/result.h"
#include "transport/network.h"

namespace acp::api {

/// The runtime::NetTransportFactory of the library. With ACP_NET=auto or shm it
/// opens the first network of settings/networks.def.
Result<std::unique_ptr<transport::Transport>> open_network(
    const transport::NetworkContext& context);

}  // namespace acp::api
