// The first bytes of the address cards of udp, verbs and ucx. They tell for
// which network an address card is, by which version of the layout, and how
// many colors it has. Used by the encoders and decoders of address cards.
// Little-endian:
//
//   offset 0  u32 magic
//          4  u8  version
//          5  u8  colors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/assert.h"
#include "base/little_endian.h"
#include "transport/transport.h"

namespace acp::transport {

inline constexpr std::size_t kCardHeadBytes = 6;

/// The head of every valid address card of one network. A plain value.
struct CardHead {
  std::uint32_t magic = 0;
  std::uint8_t version = 0;
  Color most_colors = 0;
};

/// Writes kCardHeadBytes. Precondition: `colors` is 1 .. most_colors.
inline void encode_card_head(const CardHead& head,
                             Color colors,
                             std::byte* to) noexcept {
  ACP_ASSERT(colors >= 1 && colors <= head.most_colors);
  store_little(to, head.magic);
  to[4] = std::byte{head.version};
  to[5] = static_cast<std::byte>(colors);
}

/// Returns how many colors the address card has. Nothing when the bytes begin
/// no address card of this network and version. Zeros, which a process leaves
/// that has not opened the network, fail at the magic number.
inline std::optional<Color> decode_card_head(
    const CardHead& head, std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < kCardHeadBytes ||
      load_little<std::uint32_t>(bytes.data()) != head.magic ||
      bytes[4] != std::byte{head.version}) {
    return std::nullopt;
  }
  const auto colors = static_cast<Color>(bytes[5]);
  if (colors < 1 || colors > head.most_colors) {
    return std::nullopt;
  }
  return colors;
}

}  // namespace acp::transport
