// Makes the table that `acprun --stats` prints, and the line about the network
// when a job ends badly.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "launcher/rank_hosts.h"
#include "launcher/rank_look.h"
#include "protocol/traffic.h"

namespace acp::launcher {

/// One row of the table. Plain value.
struct TrafficRow {
  std::string name;  ///< "3 on a", or "a" for all ranks of the host.
  protocol::Traffic traffic;
};

/// Counts of the packets of a job, by the newest look at each host. The memory
/// of a large job grows with its hosts and not with its ranks.
///
/// Used by one thread, which alone touches all fields. Pure.
class JobTraffic {
 public:
  /// A job of more ranks has a row for each host.
  static constexpr std::uint32_t kMostRanks = 64;

  JobTraffic(std::uint32_t ranks, std::span<const HostRanks> hosts);

  /// Takes a look at all ranks of a host.
  void note(std::span<const RankLook> looks, const RankHosts& hosts);

  /// In the order of the ranks, or of the hosts.
  std::span<const TrafficRow> rows() const noexcept { return rows_; }

 private:
  bool is_by_rank_;
  std::vector<TrafficRow> rows_;
};

/// The rows, and a row for all. Jobs without packets get one line that says so.
/// Pure.
std::string traffic_table(std::span<const TrafficRow> rows);

/// Whether a packet was sent again or dropped. It always was when a rank gave a
/// peer up, so a bad end without losses has other reasons than the network.
/// Pure.
bool has_losses(std::span<const TrafficRow> rows);

/// One line for the whole job; "" when it has sent no packet. Pure.
std::string traffic_line(std::span<const TrafficRow> rows);

}  // namespace acp::launcher
