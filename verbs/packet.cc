// Appending and reading frames of packets. Called by Endpoint. It may not
// allocate, because every message passes here. Bytes come from the peer, so
// reading trusts nothing.
#include "verbs/packet.h"

#include <cstring>

#include "base/little_endian.h"

namespace acp::verbs {

/// An empty part may have a null pointer, which memcpy must not get.
std::size_t append_frame(std::span<std::byte> packet,
                         std::size_t used,
                         std::span<const std::span<const std::byte>> parts,
                         std::size_t bytes,
                         FrameKind kind) noexcept {
  if (packet.size() - used < kFrameHeaderBytes + bytes) {
    return 0;
  }
  store_little(
      packet.data() + used,
      static_cast<std::uint16_t>(bytes | static_cast<std::uint16_t>(kind)));
  used += kFrameHeaderBytes;
  for (const std::span<const std::byte> part : parts) {
    if (!part.empty()) {
      std::memcpy(packet.data() + used, part.data(), part.size());
      used += part.size();
    }
  }
  return used;
}

std::optional<FrameView> take_frame(
    std::span<const std::byte>& packet) noexcept {
  if (packet.size() < kFrameHeaderBytes) {
    return std::nullopt;
  }
  const auto prefix = load_little<std::uint16_t>(packet.data());
  const std::size_t size = prefix & (kControlBit - 1U);
  if (size > packet.size() - kFrameHeaderBytes) {
    return std::nullopt;
  }
  FrameView frame;
  frame.kind = static_cast<FrameKind>(prefix & kControlBit);
  frame.bytes = packet.subspan(kFrameHeaderBytes, size);
  packet = packet.subspan(kFrameHeaderBytes + size);
  return frame;
}

}  // namespace acp::verbs
