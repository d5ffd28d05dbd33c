// The address card: 512 bytes at most that a process publishes before the first
// connection, so that all others know where each of its colors listens. Written
// and read by VerbsTransport. Little-endian:
//
//   offset 0  u32 magic      'VRBC'
//          4  u8  version    5
//          5  u8  colors     1 .. kMaxColors
//          6  u16 packet     bytes of the largest packet
//          8  u8  atomics    Executor
//          9  u8  writes     WriteOrder
//         10  2 B zero
//         12  per color: its address, kAddressBytes
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "protocol/host_segment.h"
#include "transport/address.h"
#include "transport/transport.h"

namespace acp::verbs {

inline constexpr transport::Color kMaxColors = 12;
inline constexpr std::size_t kCardHeaderBytes = 12;
inline constexpr std::size_t kCardColorBytes = transport::kAddressBytes;
inline constexpr std::size_t kMaxCardBytes =
    kCardHeaderBytes + kMaxColors * kCardColorBytes;
static_assert(kMaxCardBytes <= protocol::kCardBytes);
static_assert(kCardHeaderBytes + kCardColorBytes <= protocol::kShortCardBytes);

/// The executor of 8-byte atomics on a process's memory.
enum class Executor : std::uint8_t {
  kAgent = 0,
  kDevice = 1,  ///< The first device alone.
  kBoth = 2     ///< Agent, CPUs and devices: the atomics of all agree.
};

/// "device", or "agent" where agents may execute atomics.
const char* executor_name(Executor executor) noexcept;

/// The order that a process relies on when it writes to memory of a peer;
/// docs/verbs.md, "Writes without an order".
enum class WriteOrder : std::uint8_t {
  kOrdered = 0,    ///< InfiniBand's order of one connection.
  kUnordered = 1,  ///< Proofs alone.
  kRelaxed = 2     ///< Proofs; memory is registered for relaxed ordering.
};

/// The value of ACP_VERBS_WRITES.
const char* write_order_name(WriteOrder writes) noexcept;

/// A plain value. listen_addresses is valid for color < colors: where each
/// color listens.
struct AddressCard {
  transport::Color colors = 0;
  std::uint16_t packet_bytes = 0;
  Executor atomics = Executor::kAgent;
  WriteOrder writes = WriteOrder::kOrdered;
  std::array<transport::Address, kMaxColors> listen_addresses{};

  friend bool operator==(const AddressCard&, const AddressCard&) = default;
};

/// Writes the address card; `card.colors` is 1 .. kMaxColors. Returns the
/// number of bytes written.
std::size_t encode_card(const AddressCard& card,
                        std::span<std::byte, kMaxCardBytes> bytes);

/// Pure: bytes to address card. Bytes after the last color are ignored. Nothing
/// when the bytes are no valid address card of this version.
std::optional<AddressCard> decode_card(std::span<const std::byte> bytes);

}  // namespace acp::verbs
