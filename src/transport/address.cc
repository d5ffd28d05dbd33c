#include "transport/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

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

bool is_loopback(const Address& address) noexcept {
  if (address.family == Family::kIpv4) {
    return address.bytes[0] == 127;
  }
  return address.family == Family::kIpv6 && address.bytes.back() == 1 &&
         std::all_of(address.bytes.begin(), address.bytes.end() - 1,
                     [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace acp::transport
