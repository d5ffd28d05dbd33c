// The layout of one SEND: frames, each a size and its bytes. A frame is a
// message or a control frame. Pure functions, used by Endpoint.
//
//   { u16 size, bytes } ...     little-endian, not padded
//
// The highest bit of a size tells a control frame (control.h).
//
// The immediate data of the SEND is credit (credit.h). An empty packet carries
// only that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace acp::verbs {

inline constexpr std::size_t kPacketBytes = 8192;
inline constexpr std::size_t kFrameHeaderBytes = 2;
inline constexpr std::uint16_t kControlBit = 0x8000;
inline constexpr std::size_t kMaxMessageBytes =
    kPacketBytes - kFrameHeaderBytes;

/// The kind of a frame.
enum class FrameKind : std::uint16_t { kMessage = 0, kControl = kControlBit };

/// Appends a frame to a packet of `used` bytes. Returns the new number of used
/// bytes; 0 when the frame does not fit.
std::size_t append_frame(std::span<std::byte> packet,
                         std::size_t used,
                         std::span<const std::span<const std::byte>> parts,
                         std::size_t bytes,
                         FrameKind kind) noexcept;

/// A frame, pointing into its packet.
struct FrameView {
  FrameKind kind = FrameKind::kMessage;
  std::span<const std::byte> bytes;
};

/// Takes the first frame off a packet that is not empty. Nothing when the bytes
/// are no valid frame.
std::optional<FrameView> take_frame(
    std::span<const std::byte>& packet) noexcept;

}  // namespace acp::verbs
