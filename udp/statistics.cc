// Copies the counters of a transport, and writes its statistics to a file.
// UdpTransport copies during polls, and writes when a peer is lost and when it
// closes. No packet may cause a write, because writing a file can block. The
// library makes the few lines of JSON itself, because a library for JSON would
// have to be linked into every program.
#include "udp/statistics.h"

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "base/file_size_signal.h"
#include "base/host_facts.h"
#include "base/log.h"

namespace acp::udp {

namespace {

using protocol::Traffic;
using protocol::TrafficCount;

double microseconds(Duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

std::string sums_as_json(const Traffic& traffic) {
  std::string text;
  for (std::size_t i = 0; i < traffic.counts.size(); ++i) {
    text += fmt::format("{}\"{}\": {}", i == 0 ? "" : ", ",
                        protocol::name_of(static_cast<TrafficCount>(i)),
                        traffic.counts[i]);
  }
  return text;
}

std::string peer_as_json(const Endpoint& endpoint) {
  const PeerCounts counts =
      endpoint.counts() != nullptr ? *endpoint.counts() : PeerCounts();
  const Sender& sender = endpoint.sender();
  return fmt::format(
      "{{\"process\": {}, \"color\": {}, \"address\": \"{}\", \"failed\": {}, "
      "\"sent\": {}, \"sent_bytes\": {}, \"received\": {}, "
      "\"received_bytes\": {}, \"sent_again\": {}, \"needless\": {}, "
      "\"malformed\": {}, \"corrupt\": {}, \"replayed\": {}, "
      "\"rtt_us\": {:.1f}, \"window_bytes\": {}, \"datagram_bytes\": {}}}",
      endpoint.peer(), endpoint.color(),
      transport::format_address(endpoint.path().address), endpoint.has_failed(),
      counts.sent, counts.sent_bytes, counts.received, counts.received_bytes,
      counts.sent_again, counts.needless, counts.malformed, counts.corrupt,
      counts.replayed, microseconds(sender.rtt().smoothed()), sender.window(),
      endpoint.datagram_bytes());
}

}  // namespace

/// Copies the counters of this transport under the names that all transports
/// share. The caller has the lock of the transport.
Traffic traffic_of(const SharedState& shared) noexcept {
  const Counters& counters = shared.counters;
  Traffic traffic;
  traffic[TrafficCount::kSent] = counters.sent;
  traffic[TrafficCount::kSentBytes] = counters.sent_bytes;
  traffic[TrafficCount::kReceived] = counters.received;
  traffic[TrafficCount::kReceivedBytes] = counters.received_bytes;
  traffic[TrafficCount::kSentAgain] = counters.sent_again;
  traffic[TrafficCount::kNeedless] = counters.needless;
  traffic[TrafficCount::kUnsent] = counters.unsent;
  traffic[TrafficCount::kDuplicates] = counters.duplicates;
  traffic[TrafficCount::kNotHeld] = counters.not_held;
  traffic[TrafficCount::kMalformed] = counters.malformed;
  traffic[TrafficCount::kStrays] = counters.strays;
  traffic[TrafficCount::kUnknown] = counters.unknown;
  traffic[TrafficCount::kCorrupt] = counters.corrupt;
  traffic[TrafficCount::kReplayed] = counters.replayed;
  traffic[TrafficCount::kLongestRtt] =
      static_cast<std::uint64_t>(shared.limits.longest_rtt.longest().count());
  return traffic;
}

std::string statistics_as_json(const SharedState& shared,
                               std::span<Endpoint* const> endpoints) {
  std::string text = fmt::format(
      "{{\"process\": {}, \"host\": \"{}\", \"network\": \"udp\",\n \"sum\": "
      "{{{}}},\n \"peers\": [",
      shared.me, host_name(), sums_as_json(traffic_of(shared)));
  const char* separator = "\n  ";
  for (const Endpoint* endpoint : endpoints) {
    text += separator + peer_as_json(*endpoint);
    separator = ",\n  ";
  }
  return text + "]}\n";
}

/// A job that ends kills its processes, perhaps while they write. So the new
/// file gets its name when it is whole.
void write_statistics(const std::string& file,
                      const SharedState& shared,
                      std::span<Endpoint* const> endpoints) {
  const std::string name = fmt::format("{}.{}", file, shared.me);
  const std::string part = name + ".part";
  const NoFileSizeSignal no_signal;
  std::ofstream stream(part);
  stream << statistics_as_json(shared, endpoints);
  stream.close();
  if (!stream || std::rename(part.c_str(), name.c_str()) != 0) {
    log_warning("ACP_STATS: {}: {}", name, errno_text(errno));
    std::remove(part.c_str());
  }
}

}  // namespace acp::udp
