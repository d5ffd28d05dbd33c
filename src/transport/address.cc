// Parses, prints and encodes addresses of sockets. Called for settings, address
// cards and log lines. Pure: names are not resolved.
#include "transport/address.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/little_endian.h"

namespace acp::transport {

std::optional<Address> parse_address(std::string_view text) {
  const std::string copy(text);  // inet_pton wants a terminated string
  Address address;
  if (::inet_pton(AF_INET, copy.c_str(), address.bytes.data()) == 1) {
    address.family = Family::kIpv4;
    return address;
  }
  if (::inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) == 1) {
    address.family = Family::kIpv6;
    return address;
  }
  return std::nullopt;
}

std::string format_address(const Address& address) {
  if (address.family == Family::kNone) {
    return "no address";
  }
  const bool is_v4 = address.family == Family::kIpv4;
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(is_v4 ? AF_INET : AF_INET6, address.bytes.data(), text.data(),
              text.size());
  if (address.port == 0) {
    return text.data();
  }
  return is_v4 ? fmt::format("{}:{}", text.data(), address.port)
               : fmt::format("[{}]:{}", text.data(), address.port);
}

void encode_address(const Address& address, std::byte* to) noexcept {
  to[0] = static_cast<std::byte>(address.family);
  to[1] = std::byte{0};
  store_little(to + 2, address.port);
  std::memcpy(to + 4, address.bytes.data(), address.bytes.size());
}

std::optional<Address> decode_address(const std::byte* from) noexcept {
  Address address;
  address.family = static_cast<Family>(from[0]);
  address.port = load_little<std::uint16_t>(from + 2);
  std::memcpy(address.bytes.data(), from + 4, address.bytes.size());
  const bool is_v4 = address.family == Family::kIpv4;
  const bool has_tail =
      std::any_of(address.bytes.begin() + 4, address.bytes.end(),
                  [](std::uint8_t byte) { return byte != 0; });
  if ((!is_v4 && address.family != Family::kIpv6) || (is_v4 && has_tail) ||
      from[1] != std::byte{0} || address.port == 0) {
    return std::nullopt;
  }
  return address;
}

bool is_loopback(const Address& address) noexcept {
  if (address.family == Family::kIpv4) {
    return address.bytes[0] == 127;
  }
  return address.family == Family::kIpv6 && address.bytes.back() == 1 &&
         std::all_of(address.bytes.begin(), address.bytes.end() - 1,
                     [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace acp::transport
