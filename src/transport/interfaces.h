// Which local addresses a network uses: from names, addresses and subnets that
// a user gives, or from the route to the other hosts. Called by udp
// and verbs when they open, by src/runtime/job_record.cc, and by acp_info.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "status/result.h"
#include "transport/address.h"

namespace acp::transport {
/// An address of an interface of this host. A plain value; the port is 0.
struct LocalAddress {
  Address address;
  /// Index of the interface if the address is link-local (fe80::/10), which
  /// the kernel needs for every datagram there; otherwise 0.
  std::uint32_t scope = 0;
  std::string interface;  ///< "eth0".
  std::uint32_t mtu = 0;  ///< Largest IP packet in bytes; 0: unknown.
};

/// The addresses of all interfaces that are up. Logged when it fails: kSystem.
Result<std::vector<LocalAddress>> list_local_addresses();

/// Pure: the addresses that `text`, the value of `setting`, names among
/// `known`, in the order of the text, one for each item between commas. An item
/// is an address ("10.1.0.7"), an interface ("eth0"), or a subnet
/// ("10.1.0.0/16", "fd00::/8"). An interface stands for its first IPv4 address,
/// else for its first IPv6 address that is not link-local, else for that. A
/// subnet stands for the first address in it. Loopback addresses of 127.0.0.0/8
/// need not be known. kBadOption: an item names none; logged.
Result<std::vector<LocalAddress>> choose_addresses(
    std::string_view setting,
    std::string_view text,
    std::span<const LocalAddress> known);

/// The address from which this host reaches `remote`, a numeric address with
/// or without %interface. No datagram is sent. kSystem: logged. A launcher that
/// knows no address gives the reason instead, which is then in the log.
Result<LocalAddress> address_towards(const std::string& remote);

bool is_link_local(const Address& address) noexcept;

}  // namespace acp::transport
