// Lists the RDMA ports of this host, chooses usable ports, and explains why
// others cannot be used. Called once, in acp_init, by VerbsTransport::open. It
// makes no queue pair and sends nothing.
#include "verbs/find_ports.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>

#include "base/log.h"
#include "transport/interfaces.h"
#include "transport/socket_address.h"

namespace acp::verbs {

namespace {

using Interfaces = std::unique_ptr<ifaddrs, Releaser<freeifaddrs>>;
using DeviceList = std::unique_ptr<ibv_device*, Releaser<ibv_free_device_list>>;
using Context = std::unique_ptr<ibv_context, Releaser<ibv_close_device>>;

constexpr const char* kDirectory = "/dev/infiniband";
/// Characters of the subnet prefix at the front of a GID's text.
constexpr std::size_t kPrefixText = 19;

/// A port by one of its addresses, and whether it can be used.
struct Candidate {
  Port port;
  std::string group;  ///< PortKey::group.
  std::string device;
  transport::LocalAddress address;
  int number = 0;
  bool is_usable = false;  ///< Active, and of a kind that can be used.
};

std::string name_of(const std::string& device, int number) {
  return fmt::format("{} port {}", device, number);
}

/// Why no port of this device can be used, whatever its state; null if ports
/// can be. InfiniBand and RoCE both have IBV_TRANSPORT_IB.
const char* lack_of(const ibv_device& device) {
  switch (device.transport_type) {
    case IBV_TRANSPORT_IB: return nullptr;
    case IBV_TRANSPORT_IWARP:
      return "iWARP, which has no sends with immediate data";
    default: return "of a kind that has no reliable connections";
  }
}

/// Whether connections can be made with the address of an interface: it is up,
/// and the address is not link-local.
bool has_usable_address(const ifaddrs& interface) {
  if (interface.ifa_addr == nullptr || (interface.ifa_flags & IFF_UP) == 0) {
    return false;
  }
  if (interface.ifa_addr->sa_family == AF_INET6) {
    const auto& address =
        reinterpret_cast<const sockaddr_in6&>(*interface.ifa_addr);
    return !IN6_IS_ADDR_LINKLOCAL(&address.sin6_addr);
  }
  return interface.ifa_addr->sa_family == AF_INET;
}

/// The network part of an interface's address, in hexadecimal digits.
std::string subnet_of(const ifaddrs& interface) {
  const auto bytes_of = [](const sockaddr* address) {
    const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(address);
    const auto* const v4 = reinterpret_cast<const sockaddr_in*>(address);
    return address->sa_family == AF_INET6
               ? std::as_bytes(std::span(&v6->sin6_addr, 1))
               : std::as_bytes(std::span(&v4->sin_addr, 1));
  };
  if (interface.ifa_netmask == nullptr) return "";
  const std::span<const std::byte> mask = bytes_of(interface.ifa_netmask);
  std::string text;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    text += fmt::format(
        "{:02x}",
        std::to_integer<unsigned>(bytes_of(interface.ifa_addr)[i] & mask[i]));
  }
  return text;
}

/// The port that has this address, with an id bound to it; nothing when the
/// address belongs to no RDMA device.
std::optional<Candidate> bind_to(rdma_event_channel& channel,
                                 const ifaddrs& interface) {
  rdma_cm_id* raw = nullptr;
  if (rdma_create_id(&channel, &raw, nullptr, RDMA_PS_TCP) != 0) {
    return std::nullopt;
  }
  Candidate candidate;
  candidate.port.id.reset(raw);
  transport::SocketAddress address =
      transport::from_system(*interface.ifa_addr);
  transport::set_port(address, 0);
  if (rdma_bind_addr(raw, &address.any) != 0 || raw->verbs == nullptr) {
    return std::nullopt;
  }
  candidate.device = ibv_get_device_name(raw->verbs->device);
  candidate.number = raw->port_num;
  candidate.port.name = name_of(candidate.device, candidate.number);
  candidate.port.interface = interface.ifa_name;
  candidate.port.listen_address = transport::to_address(address);
  candidate.address = {.address = candidate.port.listen_address,
                       .interface = interface.ifa_name};
  const ibv_gid& gid = raw->route.addr.addr.ibaddr.sgid;
  std::memcpy(candidate.port.gid.data(), gid.raw, sizeof gid.raw);
  ibv_port_attr attributes{};
  candidate.is_usable =
      lack_of(*raw->verbs->device) == nullptr &&
      ibv_query_port(raw->verbs, raw->port_num, &attributes) == 0 &&
      attributes.state == IBV_PORT_ACTIVE;
  const std::string subnet = subnet_of(interface);
  candidate.port.fabric =
      attributes.link_layer == IBV_LINK_LAYER_ETHERNET
          ? "roce " + subnet
          : "ib " + format_gid(candidate.port.gid).substr(0, kPrefixText);
  // Separate InfiniBand fabrics may have one prefix, but not one IP subnet.
  candidate.group = candidate.port.fabric + " " + subnet;
  return candidate;
}

/// Every address of every port, sorted by the port's name. A port has several
/// where its interface has, and where it has interfaces for VLANs.
std::vector<Candidate> ports_with_addresses(rdma_event_channel& channel) {
  std::vector<Candidate> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    log_error("verbs: the addresses of this host: {}", errno_text(errno));
    return found;
  }
  const Interfaces interfaces(list);
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (!has_usable_address(*at)) continue;
    if (auto candidate = bind_to(channel, *at)) {
      found.push_back(std::move(*candidate));
    }
  }
  std::stable_sort(
      found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
        const int order = ::strverscmp(a.device.c_str(), b.device.c_str());
        return order != 0 ? order < 0 : a.number < b.number;
      });
  return found;
}

/// Text such as "; rxe0 port 1 is active, at 10.77.0.1".
std::string describe_port(const std::string& name,
                          ibv_port_state state,
                          std::span<const Candidate> candidates) {
  const auto found = std::find_if(
      candidates.begin(), candidates.end(),
      [&name](const Candidate& each) { return each.port.name == name; });
  return fmt::format(
      "; {} is {}, {}", name, ibv_port_state_str(state),
      found == candidates.end()
          ? "without an address"
          : "at " + transport::format_address(found->port.listen_address));
}

/// The features and lacks of each port of this host, as text for the error.
std::string describe_ports(std::span<const Candidate> candidates) {
  int count = 0;
  const DeviceList list(ibv_get_device_list(&count));
  std::string text;
  for (int i = 0; i < count; ++i) {
    ibv_device* device = list.get()[i];
    const Context context(ibv_open_device(device));
    ibv_device_attr limits{};
    const char* name = ibv_get_device_name(device);
    if (const char* lack = lack_of(*device); lack != nullptr) {
      text += fmt::format("; {} is left out: it is {}", name, lack);
      continue;
    }
    if (context == nullptr || ibv_query_device(context.get(), &limits) != 0) {
      text +=
          fmt::format("; {} cannot be opened ({})", name, errno_text(errno));
      continue;
    }
    for (int number = 1; number <= limits.phys_port_cnt; ++number) {
      ibv_port_attr port{};
      static_cast<void>(ibv_query_port(
          context.get(), static_cast<std::uint8_t>(number), &port));
      text += describe_port(name_of(name, number), port.state, candidates);
    }
  }
  return text;
}

Status refuse_ports(std::string_view what,
                    std::span<const Candidate> candidates) {
  log_error(
      "verbs: {}{}. A port has to be active: cable and switch (ip link set "
      "... up), for InfiniBand a subnet manager; and its interface needs an IP "
      "address (ip addr add ...), by which connections are made and which "
      "gives RoCE its GID",
      what, describe_ports(candidates));
  return Status::kUnsupported;
}

/// Whether `name` names the port, as "rxe0" or "rxe0:1".
bool is_named(const Candidate& candidate, std::string_view name) {
  const std::size_t colon = name.find(':');
  return candidate.device == name.substr(0, colon) &&
         (colon == std::string_view::npos ||
          std::to_string(candidate.number) == name.substr(colon + 1));
}

/// The candidate that `word` names: "rxe0", "rxe0:1", and either with "@" and
/// one of the port's interfaces, addresses or subnets behind it. Without "@"
/// it is the port's first address. Null: there is none, or its port is among
/// the chosen ones.
Candidate* find_named(std::span<Candidate> candidates,
                      std::string_view word,
                      std::span<Candidate* const> chosen) {
  const std::size_t at = word.find('@');
  std::vector<Candidate*> named;
  std::vector<transport::LocalAddress> addresses;
  for (Candidate& each : candidates) {
    const auto is_same = [&each](const Candidate* other) {
      return other->port.name == each.port.name;
    };
    if (each.is_usable && is_named(each, word.substr(0, at)) &&
        std::none_of(chosen.begin(), chosen.end(), is_same)) {
      named.push_back(&each);
      addresses.push_back(each.address);
    }
  }
  if (named.empty() || at == std::string_view::npos) {
    return named.empty() ? nullptr : named.front();
  }
  const auto address = transport::choose_addresses(
      "ACP_VERBS_DEVICES", word.substr(at + 1), addresses);
  if (!address.ok() || address->size() != 1) return nullptr;
  const auto found = std::ranges::find_if(named, [&](const Candidate* each) {
    return each->address.address == address->front().address;
  });
  return found == named.end() ? nullptr : *found;
}

/// Takes the ports in the order in which the user names them: the order gives
/// the colors.
Result<std::vector<Port>> choose_named(std::vector<Candidate> candidates,
                                       std::string_view wanted) {
  std::vector<Candidate*> chosen;
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = wanted.find(',');
    is_last = comma == std::string_view::npos;
    const std::string_view word = wanted.substr(0, comma);
    Candidate* const found = find_named(candidates, word, chosen);
    if (found == nullptr) {
      return refuse_ports(
          fmt::format("ACP_VERBS_DEVICES: \"{}\" is no device here that can be "
                      "used, or is named twice",
                      word),
          candidates);
    }
    chosen.push_back(found);
    wanted = is_last ? "" : wanted.substr(comma + 1);
  }
  std::vector<Port> ports;
  ports.reserve(chosen.size());
  for (Candidate* candidate : chosen) {
    ports.push_back(std::move(candidate->port));
  }
  return ports;
}

/// Takes ports in the order of the colors. The log tells of each port whether
/// it is near to the cores of this rank.
std::vector<Port> choose_ordered(std::span<Candidate* const> usable,
                                 std::size_t most,
                                 const PortChooser& chooser) {
  std::vector<PortKey> keys;
  keys.reserve(usable.size());
  for (const Candidate* each : usable) {
    keys.push_back({each->device, each->group});
  }
  std::vector<Port> ports;
  for (const std::size_t i : order_ports(keys, chooser)) {
    const bool is_taken = ports.size() < most;
    log(LogLevel::kDebug, "verbs: {} ({}) is {}", usable[i]->port.name,
        describe_distance(usable[i]->device, chooser),
        is_taken ? fmt::format("color {}", ports.size()) : "left out");
    if (is_taken) {
      ports.push_back(std::move(usable[i]->port));
    }
  }
  return ports;
}

}  // namespace

std::string format_gid(const Gid& gid) {
  std::string text;
  for (std::size_t i = 0; i < gid.size(); i += 2) {
    text +=
        fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", gid[i], gid[i + 1]);
  }
  return text;
}

/// Checks the modules, then the devices, then rdma_cm, so that the error names
/// the first part that is missing.
Result<EventChannel> open_event_channel() {
  if (::access(kDirectory, F_OK) != 0) {
    log_error(
        "verbs: there is no {}: no RDMA device, or its modules are not loaded "
        "(modprobe ib_uverbs rdma_ucm); a container needs --device={}. Without "
        "an adapter: rdma link add rxe0 type rxe netdev eth0, or "
        "ACP_NET=udp",
        kDirectory, kDirectory);
    return Status::kUnsupported;
  }
  int count = 0;
  const DeviceList list(ibv_get_device_list(&count));
  if (list == nullptr || count == 0) {
    log_error(
        "verbs: there is no RDMA device (ibv_devices shows them). Without an "
        "adapter: rdma link add rxe0 type rxe netdev eth0, or ACP_NET=udp");
    return Status::kUnsupported;
  }
  EventChannel channel(rdma_create_event_channel());
  if (channel == nullptr ||
      ::fcntl(channel->fd, F_SETFL,
              ::fcntl(channel->fd, F_GETFL) | O_NONBLOCK) != 0) {
    log_error("verbs: {}/rdma_cm: {}; modprobe rdma_ucm", kDirectory,
              errno_text(errno));
    return Status::kUnsupported;
  }
  return channel;
}

/// Without names, each device gives its first usable port, one color each. The
/// ports of a device are neighbours in the list, so a look at the last port
/// taken finds a second port of its device.
Result<std::vector<Port>> find_ports(rdma_event_channel& channel,
                                     std::string_view wanted,
                                     std::size_t most,
                                     const PortChooser& chooser) {
  std::vector<Candidate> candidates = ports_with_addresses(channel);
  if (!wanted.empty()) {
    return choose_named(std::move(candidates), wanted);
  }
  std::vector<Candidate*> usable;
  for (Candidate& candidate : candidates) {
    const bool is_first =
        usable.empty() || usable.back()->port.name != candidate.port.name;
    if (candidate.is_usable && is_first) {
      usable.push_back(&candidate);
    }
  }
  if (usable.empty()) {
    return refuse_ports("no device can be used", candidates);
  }
  return choose_ordered(usable, most, chooser);
}

}  // namespace acp::verbs
