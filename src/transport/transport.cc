#include "transport/transport.h"

namespace acp::transport {

Status Endpoint::transfer(Direction, std::span<std::byte>, std::uint64_t) {
  return Status::kUnsupported;
}

std::optional<Window> Transport::window(ProcId) {
  return std::nullopt;
}

}  // namespace acp::transport
