// The address of a socket: an IPv4 or IPv6 address and a port.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace acp::transport {

enum class Family : std::uint8_t { kNone = 0, kIpv4 = 4, kIpv6 = 6 };

/// A plain value. An IPv4 address takes the first four bytes and leaves the
/// others zero, so that equal addresses compare equal.
struct Address {
  Family family = Family::kNone;
  std::uint16_t port = 0;                ///< Host byte order.
  std::array<std::uint8_t, 16> bytes{};  ///< Network byte order.

  friend bool operator==(const Address&, const Address&) = default;
};

/// Parses "127.0.0.1" or "::1"; the port becomes 0. Returns nothing for a text
/// of neither form.
std::optional<Address> parse_address(std::string_view text);

/// Writes "127.0.0.1:4711" or "[::1]:4711"; leaves the port out when it is 0.
std::string format_address(const Address& address);

/// Writes an address in the layout of messages. The fields are u8 family (4 or
/// 6), u8 zero, u16 port in little-endian, 16 B address in network byte order
/// (IPv4: 4 B, then zeros).
inline constexpr std::size_t kAddressBytes = 20;
void encode_address(const Address& address, std::byte* to) noexcept;
/// Reads that layout. Returns nothing for bytes that encode would never write.
std::optional<Address> decode_address(const std::byte* from) noexcept;

/// True for 127.0.0.0/8 and ::1: packets to these addresses stay on the host.
bool is_loopback(const Address& address) noexcept;

}  // namespace acp::transport
