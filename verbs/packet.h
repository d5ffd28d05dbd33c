// The layout of one SEND: rows, each a size and its bytes. A row is a message
// or a control row. Pure functions, used by Endpoint.
//
//   { u16 size, bytes } ...     little-endian, not padded
//
// The highest bit of a size tells a control row (control.h).
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
inline constexpr std::size_t kMessagePrefixBytes = 2;
inline constexpr std::uint16_t kControlBit = 0x8000;
inline constexpr std::size_t kMaxMessageBytes =
    kPacketBytes - kMessagePrefixBytes;

/// The kind of a row.
enum class Row : std::uint16_t { kMessage = 0, kControl = kControlBit };

/// Appends a row to a packet of `used` bytes. Returns the new number of used
/// bytes; 0 when the row does not fit.
std::size_t append_row(std::span<std::byte> packet,
                       std::size_t used,
                       std::span<const std::span<const std::byte>> parts,
                       std::size_t bytes,
                       Row row) noexcept;

/// A row, pointing into its packet.
struct RowView {
  Row row = Row::kMessage;
  std::span<const std::byte> bytes;
};

/// Takes the first row off a packet that is not empty. Nothing when the bytes
/// are no valid row.
std::optional<RowView> take_row(std::span<const std::byte>& packet) noexcept;

}  // namespace acp::verbs
