// How the engine finds the way to a rank; the runtime implements it.
#pragma once

#include <algorithm>
#include <cstddef>

#include "gmm/global_address.h"
#include "status/result.h"
#include "transport/transport.h"

namespace acp::gma {

/// The endpoint to one rank in one color, with the limits of its transport.
struct PeerEndpoint {
  transport::Endpoint* endpoint = nullptr;
  std::size_t max_message = 0;  ///< Bytes of one message, all parts.
  std::size_t max_posted = 0;   ///< Bytes of one posted step; 0: no posting.
  bool orders_posts = false;    ///< Capabilities::orders_posts.
  transport::ProcId proc = 0;   ///< The process that has the rank.

  /// Bytes of a message that suits the path now.
  std::size_t good_message() const noexcept {
    return std::min(max_message, endpoint->good_message());
  }
};

/// Finds endpoints by rank. Called with the engine's mutex held.
class Endpoints {
 public:
  Endpoints() = default;
  Endpoints(const Endpoints&) = delete;
  Endpoints& operator=(const Endpoints&) = delete;
  virtual ~Endpoints() = default;

  /// Fails with kUnsupported when no transport reaches the rank, and as
  /// Transport::endpoint does.
  virtual Result<PeerEndpoint> endpoint_of(gmm::Rank rank,
                                           gmm::Color color) = 0;
};

}  // namespace acp::gma
