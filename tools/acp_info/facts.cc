// Collects the facts. Called by main.cc. Networks are tried, but no job is
// started.
#include "facts.h"

#include <algorithm>
#include <cstdlib>

#include "gmm/global_address.h"
#include "hmpi/settings_table.h"
#include "probes.h"
#include "protocol/host_segment.h"
#include "settings/module.h"
#include "settings/networks.h"
#include "tags.h"
#include "transport/interfaces.h"

namespace acp::info {

namespace {

gmm::GlobalAddressCodec codec_of(std::uint32_t ranks) {
  return {ranks, protocol::key_entries_for(ranks)};
}

TransportFact shm_fact() {
  const Probe memory = probe_memfd();
  const Probe copies = probe_cross_memory();
  TransportFact fact{"shm", true, memory.works, memory.detail};
  if (memory.works) {
    fact.detail +=
        copies.works ? "; registered memory by " + copies.detail
                     : "; registered memory by the owner's progress thread (" +
                           copies.detail + ")";
  }
  return fact;
}

TransportFact udp_fact(const Settings& settings) {
  TransportFact fact{"udp", true, true, ""};
  for (const std::string& address : udp_addresses(settings)) {
    const Probe probe = probe_udp(address);
    fact.is_usable &= probe.works;
    fact.detail += (fact.detail.empty() ? "" : "; ") + probe.detail;
  }
  const TagFact tags = tag_fact(settings.text(SettingId::kUdpTags),
                                settings.text(SettingId::kModulePath));
  fact.is_usable &= tags.is_usable;
  fact.detail += "; tags by " + tags.library;
  fact.detail += tags.why.empty() ? "" : " (" + tags.why + ")";
  fact.module = tags.module;
  return fact;
}

TransportFact ib_fact(const Settings& settings) {
  const LoadedModule module = load_module(
      module_of_network("ib"), settings.text(SettingId::kModulePath));
  if (module.table == nullptr) {
    return {"ib", false, false, module.why, module.path};
  }
  const Probe probe = probe_ib();
  return {"ib", true, probe.works, probe.detail, module.path};
}

/// A module that was built elsewhere comes with a UCX that this program has not
/// been compiled for.
Probe ask_ucx([[maybe_unused]] const Settings& settings) {
#ifdef ACP_HAS_UCX
  return probe_ucx(std::string(settings.text(SettingId::kUcxDevices)));
#else
  return {true, "ucx_info -d lists its devices"};
#endif
}

TransportFact ucx_fact(const Settings& settings) {
  const LoadedModule module = load_module(
      module_of_network("ucx"), settings.text(SettingId::kModulePath));
  if (module.table == nullptr) {
    return {"ucx", false, false, module.why, module.path};
  }
  const Probe probe = ask_ucx(settings);
  return {"ucx", true, probe.works, probe.detail, module.path};
}

/// A network of which this program knows no more than its row.
TransportFact other_fact(std::string_view name, const Settings& settings) {
  TransportFact fact{std::string(name), true, true, ""};
  if (const auto module = module_of_network(name); !module.empty()) {
    const LoadedModule found =
        load_module(module, settings.text(SettingId::kModulePath));
    fact.is_built = fact.is_usable = found.table != nullptr;
    fact.detail = found.why;
    fact.module = found.path;
  }
  return fact;
}

TransportFact network_fact(std::string_view name, const Settings& settings) {
  if (name == "udp") return udp_fact(settings);
  if (name == "ib") return ib_fact(settings);
  if (name == "ucx") return ucx_fact(settings);
  return other_fact(name, settings);
}

const char* source_name(SettingSource source) {
  switch (source) {
    case SettingSource::kDefault: return "default";
    case SettingSource::kEnvironment: return "environment";
    case SettingSource::kOption: return "option";
  }
  return "";
}

const char* region_name(std::uint32_t key) {
  switch (key) {
    case gmm::kStarterKey: return "starter memory";
    case gmm::kModuleKey: return "library memory of modules";
    default: return "registered by the program";
  }
}

/// Returns the values that this build takes: networks that it lacks are left
/// out.
std::string choices_of(const Setting& setting, SettingId id) {
  if (id != SettingId::kNet) return std::string(setting.choices);
  std::string_view left = setting.choices;
  std::string choices;
  while (!left.empty()) {
    const std::string_view net = left.substr(0, left.find('|'));
    left.remove_prefix(std::min(net.size() + 1, left.size()));
    if (!is_network_built_in(net)) continue;
    choices += choices.empty() ? "" : "|";
    choices += net;
  }
  return choices;
}

}  // namespace

std::vector<TransportFact> transport_facts(const Settings& settings) {
  std::vector<TransportFact> facts = {
      {"self", true, true, "memory of the own process"}, shm_fact()};
  for (const std::string_view name : network_names()) {
    facts.push_back(network_fact(name, settings));
  }
  return facts;
}

RdmaFact rdma_fact() {
#ifdef ACP_HAS_VERBS
  return {rdma_ports("/sys", address_of_interface), rdma_limits()};
#else
  return {rdma_ports("/sys", address_of_interface), {}};
#endif
}

namespace {

/// The address that an item of ACP_UDP_INTERFACES names; the item itself if it
/// names none, which the probe then says.
std::string address_of(const std::string& item) {
  const auto known = transport::list_local_addresses();
  if (!known.ok()) return item;
  const auto found =
      transport::choose_addresses("ACP_UDP_INTERFACES", item, *known);
  return found.ok() && found->size() == 1
             ? transport::format_address(found->front().address)
             : item;
}

}  // namespace

std::vector<std::string> udp_addresses(const Settings& settings) {
  const std::string& text = settings.text(SettingId::kUdpInterfaces);
  if (text.empty()) return {"127.0.0.1"};
  std::vector<std::string> addresses;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    addresses.push_back(address_of(text.substr(start, comma - start)));
    start = comma + 1;
  }
  return addresses;
}

Limits limits_of(std::uint32_t ranks) {
  const gmm::GlobalAddressCodec codec = codec_of(ranks);
  Limits limits;
  limits.ranks = ranks;
  limits.rank_bits = codec.rank_bits();
  limits.color_bits = codec.color_bits();
  limits.generation_bits = codec.generation_bits();
  limits.key_bits = codec.index_bits();
  limits.offset_bits = codec.offset_bits();
  limits.colors_at_most = codec.max_colors();
  limits.regions_at_most =
      protocol::key_entries_for(ranks) - gmm::kFirstUserKey;
  limits.region_bytes_at_most = codec.max_region_bytes();
  return limits;
}

std::vector<SettingFact> setting_facts(const Settings& settings) {
  std::vector<SettingFact> facts;
  for (std::size_t i = 0; i < settings_table().size(); ++i) {
    const Setting& setting = settings_table()[i];
    const auto id = static_cast<SettingId>(i);
    facts.push_back({std::string(setting.name), std::string(setting.option),
                     std::string(setting.documentation),
                     choices_of(setting, id),
                     std::string(setting.default_value), settings.text(id),
                     source_name(settings.source(id))});
  }
  return facts;
}

std::vector<SettingFact> hmpi_setting_facts() {
  std::vector<SettingFact> facts;
  for (const hmpi::SettingRow& row : hmpi::kSettingRows) {
    const char* text = std::getenv(row.name);
    facts.push_back(
        {row.name, "", std::string(row.meaning), std::string(row.choices),
         std::string(row.default_value),
         text == nullptr ? std::string(row.default_value) : text,
         source_name(text == nullptr ? SettingSource::kDefault
                                     : SettingSource::kEnvironment)});
  }
  return facts;
}

AddressFact take_apart(std::uint64_t address, std::uint32_t ranks) {
  AddressFact fact;
  fact.address = address;
  fact.is_null = address == gmm::kNullAddress;
  if (fact.is_null) return fact;
  const gmm::GlobalAddressCodec codec = codec_of(ranks);
  const gmm::Rank rank = codec.rank(address);
  fact.is_rank_of_job = rank < ranks;
  fact.rank = rank == UINT32_MAX ? -1 : std::int64_t{rank};
  fact.color = codec.color(address);
  fact.key = codec.index(address);
  fact.generation = codec.generation(address);
  fact.offset = codec.offset(address);
  fact.region = region_name(fact.key);
  return fact;
}

}  // namespace acp::info
