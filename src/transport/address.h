// Where a wire listens: an IPv4 or IPv6 address and a port.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace acp::transport {

enum class Family : std::uint8_t { kNone = 0, kIpv4 = 4, kIpv6 = 6 };

/// A plain value. IPv4 uses the first four bytes, the rest is zero, so that
/// equal addresses are equal values.
struct Address {
  Family family = Family::kNone;
  std::uint16_t port = 0;                ///< Host byte order.
  std::array<std::uint8_t, 16> bytes{};  ///< Network byte order.

  friend bool operator==(const Address&, const Address&) = default;
};

/// "127.0.0.1" or "::1" with port 0; nothing when the text is neither.
std::optional<Address> parse_address(std::string_view text);

/// "127.0.0.1:4711", "[::1]:4711"; without the port when it is 0.
std::string format_address(const Address& address);

/// An address with its port in messages: u8 family (4 or 6), u8 zero, u16 port
/// in little-endian, 16 B address in network byte order (IPv4: 4 B, then
/// zeros).
inline constexpr std::size_t kAddressBytes = 20;
void encode_address(const Address& address, std::byte* to) noexcept;
/// Nothing when no process of ours would have written the bytes.
std::optional<Address> decode_address(const std::byte* from) noexcept;

/// 127.0.0.0/8 or ::1: never leaves this host.
bool is_loopback(const Address& address) noexcept;

}  // namespace acp::transport
