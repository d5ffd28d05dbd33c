// Makes JSON of the facts, which main.cc prints. The names of the members are
// an interface for programs: they may not change.
#include "json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace acp::info {

using nlohmann::json;

std::string text_of(const json& document, int indent) {
  return document.dump(indent, ' ', /*ensure_ascii=*/true,
                       json::error_handler_t::replace);
}

json json_of(const std::vector<TransportFact>& transports) {
  json list = json::array();
  for (const TransportFact& fact : transports) {
    list.push_back({{"name", fact.name},
                    {"built", fact.is_built},
                    {"usable", fact.is_usable},
                    {"detail", fact.detail},
                    {"module", fact.module}});
  }
  return list;
}

namespace {

json json_of(const RdmaPort& port) {
  json gids = json::array();
  for (const PortGid& gid : port.gids) {
    gids.push_back({{"index", gid.index},
                    {"gid", gid.gid},
                    {"type", gid.type},
                    {"interface", gid.interface}});
  }
  return {{"name", port.name},
          {"state", port.state},
          {"link_layer", port.link_layer},
          {"address", port.address},
          {"lack", port.lack},
          {"gids", gids}};
}

json json_of(const RdmaLimits& limits) {
  return {{"device", limits.device},
          {"max_qp", limits.max_qp},
          {"max_qp_wr", limits.max_qp_wr},
          {"max_srq", limits.max_srq},
          {"max_srq_wr", limits.max_srq_wr},
          {"max_cqe", limits.max_cqe},
          {"max_mr", limits.max_mr},
          {"max_mr_size", limits.max_mr_size},
          {"max_qp_rd_atom", limits.max_qp_rd_atom},
          {"atomics", limits.atomics}};
}

}  // namespace

json json_of(const RdmaFact& rdma) {
  json ports = json::array();
  for (const RdmaPort& port : rdma.ports) {
    ports.push_back(json_of(port));
  }
  json limits = json::array();
  for (const RdmaLimits& each : rdma.limits) {
    limits.push_back(json_of(each));
  }
  return {{"ports", ports}, {"limits", limits}};
}

json json_of(const Limits& limits) {
  return {{"ranks", limits.ranks},
          {"rank_bits", limits.rank_bits},
          {"color_bits", limits.color_bits},
          {"generation_bits", limits.generation_bits},
          {"key_bits", limits.key_bits},
          {"offset_bits", limits.offset_bits},
          {"colors", limits.colors_at_most},
          {"regions", limits.regions_at_most},
          {"region_bytes", limits.region_bytes_at_most}};
}

json json_of(const std::vector<SettingFact>& settings) {
  json list = json::array();
  for (const SettingFact& fact : settings) {
    list.push_back({{"name", fact.name},
                    {"option", fact.option},
                    {"documentation", fact.documentation},
                    {"choices", fact.choices},
                    {"default", fact.default_value},
                    {"value", fact.value},
                    {"source", fact.source}});
  }
  return list;
}

json json_of(const AddressFact& address) {
  json object = {{"address", fmt::format("{:#x}", address.address)},
                 {"null", address.is_null},
                 {"valid", address.is_rank_of_job}};
  if (address.is_rank_of_job) {
    object.update({{"rank", address.rank},
                   {"color", address.color},
                   {"key", address.key},
                   {"region", address.region},
                   {"generation", address.generation},
                   {"offset", address.offset}});
  }
  return object;
}

json json_of(const std::vector<Check>& checks) {
  json list = json::array();
  for (const Check& check : checks) {
    list.push_back({{"name", check.name},
                    {"state", state_name(check.state)},
                    {"found", check.found},
                    {"fix", check.fix}});
  }
  return list;
}

}  // namespace acp::info
