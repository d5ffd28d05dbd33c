// What the mover needs to know of the wires: the runtime provides it.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "gmm/global_address.h"
#include "transport/transport.h"

namespace acp::gma {

/// The path to one peer in one color.
struct Link {
  transport::Endpoint* endpoint = nullptr;
  std::size_t max_message = 0;  ///< Bytes.
  std::size_t max_posted = 0;   ///< Bytes of one posted step; 0: none.
  transport::ProcId proc = 0;
};

/// Finds the wire for a peer. Called with the engine's mutex held.
class Links {
 public:
  Links() = default;
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;
  virtual ~Links() = default;

  /// kUnsupported when no wire leads there, else as Transport::endpoint.
  virtual Result<Link> link(gmm::Rank rank, gmm::Color color) = 0;
};

}  // namespace acp::gma
