// Defaults of endpoints that reach no memory without their peer. Called by the
// engine for transports that carry messages only; they refuse, and log nothing.
#include "transport/transport.h"

namespace acp::transport {

Status Endpoint::copy_cross_memory(Direction,
                                   std::span<std::byte>,
                                   std::uint64_t) {
  return Status::kUnsupported;
}

Status Endpoint::post(std::span<const RemoteStep>, std::uint64_t) {
  return Status::kUnsupported;
}

Status Endpoint::post_behind(std::span<const RemoteStep>, std::uint64_t) {
  return Status::kUnsupported;
}

Status Endpoint::post_then_send(std::span<const RemoteStep>,
                                std::uint64_t,
                                std::span<const std::span<const std::byte>>) {
  return Status::kUnsupported;
}

}  // namespace acp::transport
