// How the messages of a transport name a peer.
#pragma once

#include <functional>
#include <string>

#include "transport/transport.h"

namespace acp::transport {

/// NetworkContext::name_of, for a transport and its endpoints.
using NameOf = std::function<std::string(ProcId)>;

/// The name before any acp_reset, and in tests that have no host segment.
inline std::string name_at_launch(ProcId peer) {
  return "rank " + std::to_string(peer);
}

}  // namespace acp::transport
