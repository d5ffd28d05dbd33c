// Tests the tables of acprun --stats about counters, and their bytes between
// daemon and acprun.
#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

#include "launcher/job_report.h"
#include "launcher/rank_counters.h"

namespace acp::launcher {

namespace {

using protocol::CountedKind;
using protocol::CountedWay;

/// Rank r has put r + 1 times 1,000,000 bytes directly to the next rank, and
/// added once to a word of rank 0 over udp.
RankCounters counters_of(std::uint32_t rank, std::uint32_t ranks) {
  RankCounters counters;
  counters.launch_rank = rank;
  counters.rank = rank;
  counters.elapsed_ns = 2'000'000'000;
  counters.waited_ns = 500'000'000;
  counters.heap_bytes = 3'000'000;
  PeerCount next{(rank + 1) % ranks, {}};
  next.ops.at(CountedWay::kDirect, CountedKind::kPut) = {
      rank + 1, std::uint64_t{rank + 1} * 1'000'000};
  PeerCount first{0, {}};
  first.ops.at(CountedWay::kUdp, CountedKind::kAtomic) = {1, 8};
  counters.peers = {first, next};
  counters.calls = {{"acp_sync", 4, 400'000'000, protocol::kNoSlot, 0},
                    {"acp_wait_ch (receive)", 2, 100'000'000, 0, 90'000'000}};
  return counters;
}

JobReport report_of(std::uint32_t ranks) {
  JobReport report;
  report.hosts = {"a", "b"};
  report.ranks.resize(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    report.ranks[rank].host = rank < ranks / 2 ? 0 : 1;
    report.ranks[rank].counters = counters_of(rank, ranks);
  }
  return report;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("counters table: a row for each rank, way and function",
          "[launcher][counters]") {
  const std::string table = counters_table(report_of(2));
  CHECK(table ==
        "acprun: by rank                    puts         MB       gets         "
        "MB    atomics   messages         MB waiting %  heap MB  reg. MB  lib. "
        "MB\n"
        "acprun: 0 on a                        1        1.0          0        "
        "0.0          1          0        0.0      25.0      3.0      0.0      "
        "0.0\n"
        "acprun: 1 on b                        2        2.0          0        "
        "0.0          1          0        0.0      25.0      3.0      0.0      "
        "0.0\n"
        "acprun: by way                     puts         MB       gets         "
        "MB    atomics   messages         MB\n"
        "acprun: direct                        3        3.0          0        "
        "0.0          0          0        0.0\n"
        "acprun: udp                           0        0.0          0        "
        "0.0          2          0        0.0\n"
        "acprun: all                           3        3.0          0        "
        "0.0          2          0        0.0\n"
        "acprun: waits in                              waits      seconds   % "
        "time most by rank     for rank\n"
        "acprun: acp_sync                                  8     0.800000    "
        "20.00            1            -\n"
        "acprun: acp_wait_ch (receive)                     4     0.200000     "
        "5.00            1            0\n");
}

TEST_CASE("counters table: extremes and quantiles of 300 ranks",
          "[launcher][counters]") {
  const std::string table = counters_table(report_of(300));
  CHECK(std::ranges::count(table, '\n') == 17);
  CHECK(contains(table,
                 "acprun: MB put                        1.0        0        "
                 "151.0        270.0        300.0      299\n"));
  CHECK(contains(table, "acprun: waiting %                    25.0        0"));
  CHECK(contains(table, "acprun: direct                    45150    45150.0"));
}

TEST_CASE("report: a page has the report, and nothing in it is markup",
          "[launcher][counters]") {
  JobReport report = report_of(2);
  report.program = "prog </script><!-- @REPORT@ @SCRIPT@";
  const std::string page = report_as_page(report);
  CHECK(contains(page, "prog \\u003c/script>\\u003c!-- @REPORT@ @SCRIPT@"));
  CHECK(contains(page, "[1,\"direct\",\"put\",1,1000000]"));
  CHECK_FALSE(contains(page, "@STYLE@"));
  std::size_t scripts = 0;
  for (std::size_t at = page.find("</script"); at != std::string::npos;
       at = page.find("</script", at + 1)) {
    ++scripts;
  }
  CHECK(scripts == 2);
}

TEST_CASE("counters table: ranks that have not counted are named",
          "[launcher][counters]") {
  JobReport report = report_of(3);
  report.ranks[1].counters.reset();
  CHECK(contains(counters_table(report),
                 "acprun: ranks that have counted nothing: 1\n"));
  report.ranks[0].counters.reset();
  report.ranks[2].counters.reset();
  CHECK(counters_table(report) ==
        "acprun: --stats: no rank has counted anything\n");
}

TEST_CASE("counters: bytes of a daemon become the counters again",
          "[launcher][counters]") {
  RankCounters sent = counters_of(2, 4);
  sent.udp[protocol::TrafficCount::kSent] = 7;
  const auto received = decode_counters(encode_counters(sent), 4);
  REQUIRE(received);
  CHECK(received->launch_rank == 2);
  CHECK(received->waited_ns == sent.waited_ns);
  CHECK(received->udp == sent.udp);
  REQUIRE(received->peers.size() == 2);
  CHECK(received->peers[1].peer == 3);
  CHECK(received->peers[1].ops.ways == sent.peers[1].ops.ways);
  REQUIRE(received->calls.size() == 2);
  CHECK(received->calls[1].name == "acp_wait_ch (receive)");
  CHECK(received->calls[1].peer_ns == 90'000'000);
}

TEST_CASE("counters: bytes that no daemon would send are refused",
          "[launcher][counters]") {
  const std::string good = encode_counters(counters_of(2, 4));
  CHECK(decode_counters(good, 4));
  CHECK_FALSE(decode_counters(good, 2));  // a rank that the job has not
  CHECK_FALSE(decode_counters(good + "x", 4));
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK_FALSE(decode_counters(good.substr(0, size), 4));
}

}  // namespace acp::launcher
