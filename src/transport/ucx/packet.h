// Packets: each active message of this transport is one. A packet has a header
// and frames; a frame is a message, or a control frame of the endpoint itself.
// Little-endian, not padded:
//
//   offset 0  u32 from      process that sends
//          4  u32 number    of the packet, counted by each endpoint, from 0
//          8  u64 job       part of the job's random id; tells strangers
//         16  frames: u32 size, then that many bytes. The highest bit of a size
//             tells a control frame (control.h)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace acp::ucx {

inline constexpr std::size_t kPacketHeaderBytes = 16;
inline constexpr std::size_t kFrameHeaderBytes = 4;
/// Largest packet. A copy that goes by messages is divided, so the size is a
/// compromise: large packets copy fast, and small ones fill a pool less.
inline constexpr std::size_t kPacketBytes = 64 << 10;
inline constexpr std::size_t kMaxMessage =
    kPacketBytes - kPacketHeaderBytes - kFrameHeaderBytes;

enum class FrameKind : std::uint8_t { kMessage, kControl };

/// A plain value.
struct PacketHeader {
  std::uint32_t from = 0;
  std::uint32_t number = 0;
  std::uint64_t job = 0;

  friend bool operator==(const PacketHeader&, const PacketHeader&) = default;
};

void encode_packet_header(const PacketHeader& header, std::byte* bytes);

/// Pure. Nothing when the packet is shorter than a header, or when its frames
/// do not fill it exactly.
std::optional<PacketHeader> decode_packet(std::span<const std::byte> packet);

/// Writes the size of a frame. The frame's bytes follow at kFrameHeaderBytes.
void encode_frame_header(FrameKind kind, std::size_t size, std::byte* bytes);

/// Calls `take` for each frame, front to back, until it returns false. The
/// packet has been decoded. False: `take` has returned false.
bool for_each_frame(
    std::span<const std::byte> packet,
    const std::function<bool(FrameKind, std::span<const std::byte>)>& take);

}  // namespace acp::ucx
