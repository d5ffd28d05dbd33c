// The layout of one UDP datagram between two processes of a job. Pure
// functions, used by Endpoint and UdpTransport. Little-endian:
//
//   offset  0  u8   version (high half) and PacketType (low half)
//           1  u8   flags, kFlag...
//           2  u16  payload bytes
//           4  u32  epoch of the job, a hash of its id
//           8  u32  source process
//          12  u32  destination process
//          16  u48  txno: number of this transmission, unique in its stream
//          22  u16  grant: KiB that may be unacknowledged; 0: nothing is said
//          24  u32  seq of the fragment, low half; zero in types 2 to 4
//          28  u32  ack, low half: every fragment below has been delivered
//          32  u48  echo: txno of the last fragment received; 0: none yet
//          38  u16  microseconds between that arrival and this packet
//          40  16 B tag, written and checked by PacketGuard
//          56  32 B SACK bitmap, when kFlagSack is set
//           .. payload: messages, each u16 size and its bytes; with encryption
//              their ciphertext
//
// docs/udp_wire.md gives the reasons and changes with this file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"

struct XXH3_state_s;

namespace acp::udp {

inline constexpr std::uint8_t kPacketVersion = 2;
inline constexpr std::size_t kHeaderBytes = 40;
inline constexpr std::size_t kTagBytes = 16;
inline constexpr std::size_t kSackBytes = 32;
inline constexpr std::size_t kMessagePrefixBytes = 2;
inline constexpr std::size_t kMinPacketBytes = kHeaderBytes + kTagBytes;
/// Room that encode_packet needs in front of a payload.
inline constexpr std::size_t kHeadroomBytes = kMinPacketBytes + kSackBytes;
inline constexpr std::uint64_t kMaxTxno = (std::uint64_t{1} << 48) - 1;

/// Fragments of a stream that may be unacknowledged: one bit of a SACK each.
inline constexpr std::uint64_t kWindowFragments = 8 * kSackBytes;

/// Bit i stands for the fragment with seq = ack + i.
using SackBitmap = std::array<std::uint64_t, kWindowFragments / 64>;

enum class PacketType : std::uint8_t {
  kData = 1,  ///< A fragment, and the current ack.
  kAck = 2,   ///< The current ack alone.
  /// Any bytes as payload; see PathMtu. Its ack is not read.
  kSizeProbe = 3,
  /// `echo` is the txno of a size probe. Its ack is not read.
  kProbeReply = 4,
};

inline constexpr std::uint8_t kFlagOrdered = 1;     ///< Deliver in order.
inline constexpr std::uint8_t kFlagAckRequest = 2;  ///< Acknowledge at once.
inline constexpr std::uint8_t kFlagSack = 4;        ///< A bitmap follows.
inline constexpr std::uint8_t kKnownFlags =
    kFlagOrdered | kFlagAckRequest | kFlagSack;

/// The fields of a packet without tag, bitmap and payload.
struct PacketHeader {
  PacketType type = PacketType::kData;
  std::uint8_t flags = 0;
  std::uint16_t held_us = 0;
  std::uint16_t grant = 0;
  std::uint32_t epoch = 0;
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t seq = 0;
  std::uint32_t ack = 0;
  std::uint64_t txno = 0;
  std::uint64_t echo = 0;

  friend bool operator==(const PacketHeader&, const PacketHeader&) = default;
};

/// A decoded packet; its payload lies in the bytes that were decoded.
struct PacketView {
  PacketHeader header;
  SackBitmap sack{};  ///< All zero without kFlagSack.
  std::span<const std::byte> payload;
  Duration waited{};  ///< DatagramSocket::Arrival::waited.
};

/// Hashes two byte strings as if they were one. One thread at a time.
class TailHash {
 public:
  TailHash();
  TailHash(const TailHash&) = delete;
  TailHash& operator=(const TailHash&) = delete;
  ~TailHash();

  std::uint64_t operator()(std::span<const std::byte> bytes,
                           std::span<const std::byte> tail) noexcept;

 private:
  XXH3_state_s* state_;  ///< Owned. The library hides its size.
};

/// Pure: bytes to packet. Checks sizes, version, type and flags, but neither
/// the tag nor the payload, which may be encrypted. Nothing: not a valid
/// packet.
std::optional<PacketView> decode_packet(std::span<const std::byte> bytes);

/// Whether a payload is a whole number of messages (none in a probe). Only for
/// payloads that PacketGuard has opened.
bool has_whole_messages(std::span<const std::byte> payload) noexcept;

/// Writes header and, with kFlagSack, `sack` in front of `payload`, where
/// kHeadroomBytes must be free, and leaves the tag zero. Another `tail_bytes`
/// of payload follow elsewhere. Returns the packet without them.
std::span<std::byte> encode_packet(const PacketHeader& header,
                                   const SackBitmap& sack,
                                   std::span<std::byte> payload,
                                   std::size_t tail_bytes = 0) noexcept;

/// The tag of a packet, kTagBytes that PacketGuard owns.
inline std::span<std::byte, kTagBytes> tag_of(std::span<std::byte> packet) {
  return packet.subspan(kHeaderBytes).first<kTagBytes>();
}

/// The checksum of a packet whose last bytes are `tail`, without its tag: XXH3
/// over the header and the XXH3 of what follows the tag. Two steps need no copy
/// of the packet. `tail_hash` is needed only with a tail.
std::uint64_t checksum_of(std::span<const std::byte> packet,
                          std::span<const std::byte> tail,
                          TailHash& tail_hash) noexcept;

/// Takes the first message off a payload that decode_packet accepted.
std::span<const std::byte> take_message(
    std::span<const std::byte>& payload) noexcept;

/// The 32-bit epoch of a job from its id.
std::uint32_t epoch_of(std::span<const std::uint8_t> job_id) noexcept;

/// The 64-bit number nearest to `near` whose low half is `low`; nothing when
/// that would be negative.
std::optional<std::uint64_t> extend(std::uint64_t near,
                                    std::uint32_t low) noexcept;

}  // namespace acp::udp
