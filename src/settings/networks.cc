// Answers questions about networks from the rows of networks.def. Called by the
// library, the launcher and acp_info. Pure: it opens and loads no network.
#include "settings/networks.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace acp {

namespace {

struct Network {
  std::string_view folder;  ///< Another name for users; empty: not built in.
  std::string_view name;
  NetworkScope scope = NetworkScope::kBetweenHosts;
  CardLength card = CardLength::kShort;
  std::optional<SettingId> atomics{};
  bool is_in_module = false;
};

constexpr Network kNetworks[] = {
#define ACP_NETWORK(folder, name, scope, card, atomics) \
  {#folder, name, NetworkScope::scope, CardLength::card, atomics},
#define ACP_MODULE_NETWORK(folder, name, scope, card, atomics) \
  {#folder, name, NetworkScope::scope, CardLength::card, atomics, true},
#define ACP_MISSING_NETWORK(name) {"", name},
#include "settings/networks.def"
#undef ACP_NETWORK
#undef ACP_MODULE_NETWORK
#undef ACP_MISSING_NETWORK
};

/// A name of the launchers of ACP 2.1.0 for a network that has another name
/// here.
struct PublishedName {
  std::string_view word;
  std::string_view name;
};

constexpr PublishedName kPublishedNames[] = {{"infiniband", "ib"}};

/// Whether the words differ at most in upper and lower case, which the older
/// launchers did not tell apart. `name` is in lower case.
bool is_alike(std::string_view word, std::string_view name) noexcept {
  return std::ranges::equal(word, name, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

/// The row of this name or folder; null for "auto", "shm" and other words.
const Network* find(std::string_view word) noexcept {
  for (const PublishedName& each : kPublishedNames) {
    word = is_alike(word, each.word) ? each.name : word;
  }
  const auto* const found =
      std::ranges::find_if(kNetworks, [word](const Network& network) {
        return is_alike(word, network.name) ||
               (!network.folder.empty() && is_alike(word, network.folder));
      });
  return found == std::end(kNetworks) ? nullptr : found;
}

}  // namespace

std::string_view network_name(std::string_view word) noexcept {
  for (const std::string_view name : {"auto", "shm"}) {
    if (is_alike(word, name)) {
      return name;
    }
  }
  const Network* const network = find(word);
  return network == nullptr ? word : network->name;
}

bool is_network_built_in(std::string_view name) noexcept {
  const Network* const network = find(name);
  return name == "auto" || name == "shm" ||
         (network != nullptr && !network->folder.empty());
}

std::string_view module_of_network(std::string_view name) noexcept {
  const Network* const network = find(name);
  return network != nullptr && network->is_in_module ? network->folder : "";
}

std::vector<std::string_view> network_names() {
  std::vector<std::string_view> names;
  for (const Network& network : kNetworks) {
    if (!network.folder.empty()) {
      names.push_back(network.name);
    }
  }
  return names;
}

std::string networks_built_in() {
  std::string text = "auto, shm";
  std::string_view last;
  for (const std::string_view name : network_names()) {
    if (!last.empty()) {
      text.append(", ").append(last);
    }
    last = name;
  }
  return text.append(" and ").append(last);
}

bool is_network_named(const Settings& settings) {
  return find(settings.text(SettingId::kNet)) != nullptr;
}

/// "auto" and "shm" have no row. Without RDMA devices their address cards are
/// as long as those of udp.
CardLength card_length(const Settings& settings) {
  const Network* const network = find(settings.text(SettingId::kNet));
  if (network != nullptr && network->card != CardLength::kShort) {
    return network->card;
  }
  const bool has_one_color = settings.text(SettingId::kUdpInterfaces).empty() &&
                             settings.text(SettingId::kVerbsDevices).empty();
  if (!has_one_color) {
    return CardLength::kUsual;
  }
  return may_choose_rdma(settings) ? CardLength::kPair : CardLength::kShort;
}

bool may_choose_rdma(const Settings& settings) {
  return settings.text(SettingId::kNet) == "auto" &&
         settings.text(SettingId::kUdpInterfaces).empty() &&
         settings.text(SettingId::kUdpSecurity) != "encrypt";
}

bool is_network_everywhere(const Settings& settings) {
  const Network* const network = find(settings.text(SettingId::kNet));
  // Atomics of an RDMA device are atomic only with atomics of that device, so
  // ranks of one host have to use the device as well.
  const bool is_by_device = network != nullptr && network->atomics &&
                            settings.text(*network->atomics) == "device";
  return is_by_device || settings.text(SettingId::kShm) == "off" ||
         (network != nullptr && network->scope == NetworkScope::kEverywhere);
}

}  // namespace acp
