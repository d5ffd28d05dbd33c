// Writes the report of a job as JSON. Called by job.cc at the end of a job.
// Pure. docs/observability.md has the members. They keep their meaning: new
// ones may come, and a change raises kSchema.
#include "launcher/job_report.h"

#include <nlohmann/json.hpp>

namespace acp::launcher {

namespace {

/// Members stay in the order in which they are written.
using Json = nlohmann::ordered_json;
using protocol::CountedKind;
using protocol::CountedWay;

constexpr int kSchema = 1;

double seconds(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

Json rank_or_null(std::uint32_t rank) {
  return rank == protocol::kNoSlot ? Json(nullptr) : Json(rank);
}

static_assert(protocol::kOtherPeers == protocol::kNoSlot);

/// One row for each peer, way and kind that has operations.
Json json_of_peers(const std::vector<PeerCount>& peers) {
  Json rows = Json::array();
  for (const PeerCount& peer : peers) {
    for (std::size_t way = 0; way < protocol::kCountedWays; ++way) {
      for (std::size_t kind = 0; kind < protocol::kCountedKinds; ++kind) {
        const CountedOps& ops = peer.ops.ways[way][kind];
        if (ops.operations == 0) continue;
        rows.push_back({rank_or_null(peer.peer),
                        protocol::name_of(static_cast<CountedWay>(way)),
                        protocol::name_of(static_cast<CountedKind>(kind)),
                        ops.operations, ops.bytes});
      }
    }
  }
  return rows;
}

Json json_of_calls(const std::vector<CallCount>& calls) {
  Json rows = Json::array();
  for (const CallCount& call : calls) {
    rows.push_back({{"name", call.name},
                    {"waits", call.waits},
                    {"waited_s", seconds(call.waited_ns)},
                    {"peer", rank_or_null(call.peer)},
                    {"peer_s", seconds(call.peer_ns)}});
  }
  return rows;
}

Json json_of_own(const std::vector<NamedCount>& counts) {
  Json members = Json::object();
  for (const NamedCount& count : counts)
    members[count.name] = count.value;
  return members;
}

Json json_of_udp(const protocol::Traffic& udp) {
  Json counts = Json::object();
  for (std::size_t i = 0; i < udp.counts.size(); ++i) {
    counts[std::string(protocol::name_of(
        static_cast<protocol::TrafficCount>(i)))] = udp.counts[i];
  }
  return counts;
}

/// A rank that has counted nothing has only what acprun itself knows of it.
Json json_of_rank(std::uint32_t number, const RankReport& rank) {
  Json json = {{"rank", number},
               {"host", rank.host},
               {"cpus", rank.cpus},
               {"counted", rank.counters.has_value()}};
  if (!rank.counters) return json;
  const RankCounters& counters = *rank.counters;
  json["last_rank"] = counters.rank;
  json["pid"] = counters.pid;
  json["elapsed_s"] = seconds(counters.elapsed_ns);
  json["waited_s"] = seconds(counters.waited_ns);
  json["heap_bytes"] = counters.heap_bytes;
  json["library_bytes"] = counters.library_bytes;
  json["registered_bytes"] = counters.registered_bytes;
  json["registered_most_bytes"] = counters.registered_most_bytes;
  json["traffic"] = json_of_peers(counters.peers);
  json["calls"] = json_of_calls(counters.calls);
  json["udp"] = json_of_udp(counters.udp);
  json["counts"] = json_of_own(counters.own);
  return json;
}

}  // namespace

/// Bytes that are no UTF-8, as a program's name may have, become "?".
std::string report_as_json(const JobReport& report) {
  Json json = {{"schema", kSchema},
               {"version", report.version},
               {"acprun", report.pid},
               {"program", report.program},
               {"job_ranks", report.ranks.size()},
               {"status", report.status},
               {"end", report.end},
               {"elapsed_s", report.elapsed_s},
               {"hosts", report.hosts}};
  Json& settings = json["settings"] = Json::array();
  for (const ChangedSetting& setting : report.settings) {
    settings.push_back({{"name", setting.name},
                        {"value", setting.value},
                        {"default", setting.default_value}});
  }
  Json& ranks = json["ranks"] = Json::array();
  for (std::uint32_t rank = 0; rank < report.ranks.size(); ++rank)
    ranks.push_back(json_of_rank(rank, report.ranks[rank]));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace acp::launcher
