// The address card: 512 bytes at most that a process publishes before the
// first packet, so that all others know where each of its colors listens.
// Written and read by UdpTransport. Little-endian:
//
//   offset 0  u32 magic      'UDPC'
//          4  u8  version    3
//          5  u8  colors     1 .. kMaxColors
//          6  u16 datagram   largest datagram that is sent and taken, bytes
//          8  u8  Security, equal in all processes
//          9  u8  1: this process has AES-256-GCM
//         10  per color: its address, kAddressBytes, and u16 the second port
//             that its datagrams come from
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "protocol/host_segment.h"
#include "transport/address.h"
#include "transport/transport.h"
#include "udp/security.h"

namespace acp::udp {

using transport::Address;
using transport::Family;

inline constexpr transport::Color kMaxColors = 16;
/// A datagram of this size can be taken by every process.
inline constexpr std::size_t kLeastDatagramBytes = 576;
inline constexpr std::size_t kCardHeaderBytes = 10;
inline constexpr std::size_t kCardColorBytes = transport::kAddressBytes + 2;
inline constexpr std::size_t kMaxCardBytes =
    kCardHeaderBytes + kMaxColors * kCardColorBytes;
static_assert(kMaxCardBytes <= protocol::kCardBytes);
static_assert(kCardHeaderBytes + kCardColorBytes <= protocol::kShortCardBytes);

/// A plain value. The arrays are valid for index < colors.
struct AddressCard {
  transport::Color colors = 0;
  std::uint16_t datagram_bytes = 0;
  Security security = Security::kOff;
  bool has_aes = false;
  std::array<Address, kMaxColors> addresses{};
  std::array<std::uint16_t, kMaxColors> send_ports{};

  friend bool operator==(const AddressCard&, const AddressCard&) = default;
};

/// Whether a datagram from `from` can come from the process that listens at
/// `own` and whose connected sockets send from port `send_port`.
inline bool sends_from(const Address& own,
                       std::uint16_t send_port,
                       const Address& from) noexcept {
  return (from.port == own.port || from.port == send_port) &&
         from.bytes == own.bytes && from.family == own.family;
}

/// Writes the address card; `card.colors` is 1 .. kMaxColors. Returns the
/// number of bytes written.
std::size_t encode_card(const AddressCard& card,
                        std::span<std::byte, kMaxCardBytes> bytes);

/// Pure: bytes to address card. Bytes after the last color are ignored. Nothing
/// when the bytes are no valid address card of this version.
std::optional<AddressCard> decode_card(std::span<const std::byte> bytes);

}  // namespace acp::udp
