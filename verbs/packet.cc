// Appending and reading rows of packets. Called by Endpoint. It may not
// allocate, because every message passes here. Bytes come from the peer, so
// reading trusts nothing.
#include "verbs/packet.h"

#include <cstring>

#include "base/little_endian.h"

namespace acp::verbs {

/// An empty part may have a null pointer, which memcpy must not get.
std::size_t append_row(std::span<std::byte> packet,
                       std::size_t used,
                       std::span<const std::span<const std::byte>> parts,
                       std::size_t bytes,
                       Row row) noexcept {
  if (packet.size() - used < kMessagePrefixBytes + bytes) {
    return 0;
  }
  store_little(
      packet.data() + used,
      static_cast<std::uint16_t>(bytes | static_cast<std::uint16_t>(row)));
  used += kMessagePrefixBytes;
  for (const std::span<const std::byte> part : parts) {
    if (!part.empty()) {
      std::memcpy(packet.data() + used, part.data(), part.size());
      used += part.size();
    }
  }
  return used;
}

std::optional<RowView> take_row(std::span<const std::byte>& packet) noexcept {
  if (packet.size() < kMessagePrefixBytes) {
    return std::nullopt;
  }
  const auto prefix = load_little<std::uint16_t>(packet.data());
  const std::size_t size = prefix & (kControlBit - 1U);
  if (size > packet.size() - kMessagePrefixBytes) {
    return std::nullopt;
  }
  RowView row;
  row.row = static_cast<Row>(prefix & kControlBit);
  row.bytes = packet.subspan(kMessagePrefixBytes, size);
  packet = packet.subspan(kMessagePrefixBytes + size);
  return row;
}

}  // namespace acp::verbs
