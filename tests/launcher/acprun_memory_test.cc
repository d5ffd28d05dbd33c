// The memory that acprun has for a job while it starts, in the parts that know
// all ranks. docs/scale.md has the sizes. No daemon is started.
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "launcher/daemon_connections.h"
#include "launcher/rank_hosts.h"
#include "launcher/rollcall.h"
#include "launcher/table_pieces.h"
#include "launcher/traffic_table.h"
#include "protocol/byte_codec.h"
#include "protocol/host_segment.h"

namespace acp::launcher {

namespace {

constexpr std::uint32_t kHosts = 8;

std::uint64_t allocated_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

HostRanks host_with(std::uint32_t number, std::uint32_t ranks) {
  HostRanks host{number, "host" + std::to_string(number), false, {}};
  host.ranks.append(number * ranks, ranks);
  return host;
}

/// The table of so many ranks that have an address card of one address.
std::string table_of(std::uint32_t first, std::uint32_t ranks) {
  protocol::ByteWriter writer;
  for (std::uint32_t i = 0; i < ranks; ++i) {
    writer.number(first + i);
    writer.number(protocol::PublishedRecord::Values{});
    writer.text(std::string(protocol::kShortCardBytes - 2, 'c'));
  }
  return writer.take();
}

std::vector<RankLook> looks_of(const HostRanks& host) {
  const std::vector<std::uint32_t> ranks = host.ranks.list();
  std::vector<RankLook> looks(ranks.size());
  for (std::size_t i = 0; i < looks.size(); ++i)
    looks[i].launch_rank = ranks[i];
  return looks;
}

/// The most bytes that are allocated while a job with so many ranks on each
/// host starts. Messages of hosts come one by one, and each goes when it has
/// been taken.
std::uint64_t most_bytes(std::uint32_t ranks_of_host) {
  const std::uint64_t before = allocated_bytes();
  std::uint64_t most = 0;
  const auto measure = [&] {
    most = std::max(most, allocated_bytes() - before);
  };
  const std::uint32_t procs = kHosts * ranks_of_host;
  std::vector<HostRanks> hosts;
  for (std::uint32_t host = 0; host < kHosts; ++host)
    hosts.push_back(host_with(host, ranks_of_host));
  Rollcall rollcall(procs);
  const RankHosts rank_hosts(hosts);
  JobTraffic traffic(procs, hosts);
  EventLoop loop;
  DaemonConnections connections(loop, [](const HostMessage&) {});
  HostOrders orders;
  orders.procs = procs;
  orders.groups.emplace_back();
  connections.open(orders, hosts);
  measure();
  std::size_t sent = 0;
  TablePieces tables([&](const std::string& piece) {
    measure();
    sent += piece.size();
  });
  for (const HostRanks& host : hosts) {
    // Tables are as long as those of a usual host.
    constexpr std::uint32_t kRanksOfTable = 64;
    const std::uint32_t first = host.ranks.runs().front().first;
    for (std::uint32_t at = 0; at < ranks_of_host; at += kRanksOfTable) {
      tables.add(
          table_of(first + at, std::min(kRanksOfTable, ranks_of_host - at)));
      measure();
    }
    traffic.note(looks_of(host), rank_hosts);
    measure();
  }
  tables.send_rest();
  measure();
  CHECK(sent == std::size_t{procs} * (4 + 16 + 4 + 30));
  CHECK(traffic.rows().size() == kHosts);
  return most;
}

}  // namespace

/// Each rank has one word of 4 bytes in the roll-call. Plan and orders have
/// runs of ranks. One piece of the tables, of up to 256 KiB, is under way.
TEST_CASE("acprun: its memory for a rank does not grow with what ranks publish",
          "[scale]") {
  constexpr std::uint32_t kFew = 9;  // more than 64 ranks in all
  constexpr std::uint32_t kMany = 50'000;
  const std::uint64_t few = most_bytes(kFew);
  const std::uint64_t many = most_bytes(kMany);
  const double for_a_rank = static_cast<double>(many - few) /
                            (std::uint64_t{kHosts} * (kMany - kFew));
  UNSCOPED_INFO(for_a_rank << " bytes for each rank, " << few << " with "
                           << kHosts * kFew);
  CHECK(few <= std::uint64_t{512} << 10);
  CHECK(for_a_rank <= 6);
}

}  // namespace acp::launcher
