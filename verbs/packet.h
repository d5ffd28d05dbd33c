// What one SEND carries: whole messages, each behind its size.
//
//   { u16 size, bytes } ...     little-endian, not padded
//
// The highest bit of a size says that these bytes are no message, but for the
// connection itself (control.h).
//
// The immediate data of the SEND is how many packets its sender has consumed
// of those that came the other way, modulo 2^32. A packet without messages
// carries only that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace acp::verbs {

inline constexpr std::size_t kPacketBytes = 8192;
inline constexpr std::size_t kMessagePrefixBytes = 2;
inline constexpr std::uint16_t kControlBit = 0x8000;
inline constexpr std::size_t kMaxMessageBytes =
    kPacketBytes - kMessagePrefixBytes;

/// Packets of one direction that may be under way or not yet consumed.
inline constexpr std::uint32_t kWindow = 16;
/// After so many that came with nothing going back, an empty packet goes.
inline constexpr std::uint32_t kCreditStep = kWindow / 2;
/// Empty packets that can be unread at a time: each stands for kCreditStep
/// packets, and the window holds kWindow of these.
inline constexpr std::uint32_t kEmptyPackets = kWindow / kCreditStep;
/// Receive buffers that one connection may need at a time.
inline constexpr std::uint32_t kReceivesPerConnection = kWindow + kEmptyPackets;

/// What a row of a packet is.
enum class Row : std::uint16_t { kMessage = 0, kControl = kControlBit };

/// Appends a row to a packet of `used` bytes. Returns the bytes used then;
/// 0 when it does not fit.
std::size_t append_row(std::span<std::byte> packet,
                       std::size_t used,
                       std::span<const std::span<const std::byte>> parts,
                       std::size_t bytes,
                       Row row) noexcept;

/// A row of a packet, in listen_address.
struct RowView {
  Row row = Row::kMessage;
  std::span<const std::byte> bytes;
};

/// Takes the first row off a packet that is not empty. Nothing when no sender
/// of ours would have written it.
std::optional<RowView> take_row(std::span<const std::byte>& packet) noexcept;

/// The other side says that it has consumed `consumed` packets: whether it can
/// have, when `sent` were sent and `before` it had said last.
bool is_credit_possible(std::uint32_t sent,
                        std::uint32_t before,
                        std::uint32_t consumed) noexcept;

}  // namespace acp::verbs
