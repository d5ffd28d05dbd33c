// The memory that acprun has for a job while it starts, in the parts that know
// all ranks. docs/scale.md has the sizes. No agent is started.
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "launcher/agent_links.h"
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
  host.ranks.resize(ranks);
  std::iota(host.ranks.begin(), host.ranks.end(), number * ranks);
  return host;
}

/// The table of ranks that have an address card of one address.
std::string table_of(std::span<const std::uint32_t> ranks) {
  protocol::ByteWriter writer;
  for (const std::uint32_t rank : ranks) {
    writer.number(rank);
    writer.number(protocol::PublishedRecord::Values{});
    writer.text(std::string(protocol::kShortCardBytes - 2, 'c'));
  }
  return writer.take();
}

std::vector<RankLook> looks_of(const HostRanks& host) {
  std::vector<RankLook> looks(host.ranks.size());
  for (std::size_t i = 0; i < looks.size(); ++i)
    looks[i].launch_rank = host.ranks[i];
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
  std::vector<std::uint32_t> host_of_rank(procs);
  for (const HostRanks& host : hosts) {
    for (const std::uint32_t rank : host.ranks)
      host_of_rank[rank] = host.number;
  }
  JobTraffic traffic(procs, hosts);
  EventLoop loop;
  AgentLinks links(loop, [](const HostMessage&) {});
  HostOrders orders;
  orders.procs = procs;
  orders.groups.emplace_back();
  links.open(orders, hosts);
  measure();
  std::size_t sent = 0;
  TablePieces tables([&](const std::string& piece) {
    measure();
    sent += piece.size();
  });
  for (const HostRanks& host : hosts) {
    // Tables are as long as those of a usual host.
    constexpr std::size_t kRanksOfTable = 64;
    const std::span<const std::uint32_t> ranks(host.ranks);
    for (std::size_t at = 0; at < ranks.size(); at += kRanksOfTable) {
      tables.add(table_of(
          ranks.subspan(at, std::min(kRanksOfTable, ranks.size() - at))));
      measure();
    }
    traffic.note(looks_of(host), host_of_rank);
    measure();
  }
  tables.send_rest();
  measure();
  CHECK(sent == std::size_t{procs} * (4 + 16 + 4 + 30));
  CHECK(traffic.rows().size() == kHosts);
  return most;
}

}  // namespace

/// Each rank has 8 bytes in the roll-call, 4 for its host, 4 in the plan, and 4
/// in the orders until the agent of its host has them.
TEST_CASE("acprun: its memory for a rank does not grow with what ranks publish",
          "[scale]") {
  constexpr std::uint32_t kFew = 9;  // more than 64 ranks in all
  constexpr std::uint32_t kMany = 12'500;
  const std::uint64_t few = most_bytes(kFew);
  const std::uint64_t many = most_bytes(kMany);
  const double for_a_rank = static_cast<double>(many - few) /
                            (std::uint64_t{kHosts} * (kMany - kFew));
  UNSCOPED_INFO(for_a_rank << " bytes for each rank, " << few << " with "
                           << kHosts * kFew);
  CHECK(few <= std::uint64_t{512} << 10);
  CHECK(for_a_rank <= 28);
}

}  // namespace acp::launcher
