// Packets: each active message of this transport is one. A packet has a header
// and rows; a row is a message, or a control row of the endpoint itself.
// Little-endian, not padded:
//
//   offset 0  u32 from      process that sends
//          4  u32 number    of the packet, counted per process and color
//          8  u64 job       part of the job's random id; tells strangers
//         16  rows: u32 size, then that many bytes. The highest bit of a size
//             tells a control row (control.h)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace acp::ucx {

inline constexpr std::size_t kPacketHeaderBytes = 16;
inline constexpr std::size_t kRowHeaderBytes = 4;
/// Largest packet. A copy that goes by messages is divided, so the size is a
/// compromise: large packets copy fast, and small ones fill a pool less.
inline constexpr std::size_t kPacketBytes = 64 << 10;
inline constexpr std::size_t kMaxMessage =
    kPacketBytes - kPacketHeaderBytes - kRowHeaderBytes;

enum class RowKind : std::uint8_t { kMessage, kControl };

/// A plain value.
struct PacketHeader {
  std::uint32_t from = 0;
  std::uint32_t number = 0;
  std::uint64_t job = 0;

  friend bool operator==(const PacketHeader&, const PacketHeader&) = default;
};

void encode_packet_header(const PacketHeader& header, std::byte* bytes);

/// Pure. Nothing when the packet is shorter than a header, or when its rows do
/// not fill it exactly.
std::optional<PacketHeader> decode_packet(std::span<const std::byte> packet);

/// Writes the size of a row. The row's bytes follow at kRowHeaderBytes.
void encode_row_header(RowKind kind, std::size_t size, std::byte* bytes);

/// Calls `take` for each row, front to back, until it returns false. The packet
/// has been decoded. False: `take` has returned false.
bool for_each_row(
    std::span<const std::byte> packet,
    const std::function<bool(RowKind, std::span<const std::byte>)>& take);

}  // namespace acp::ucx
