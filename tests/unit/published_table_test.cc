// The table that carries address cards and records from host to host.
#include "protocol/published_table.h"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace acp::protocol {

namespace {

/// The segment of one of two hosts of a job of six processes: process p is on
/// host p % 2.
HostSegment make_segment(std::uint32_t host,
                         CardTable cards = CardTable::kOfJob) {
  HostPlan plan;
  plan.procs = 6;
  plan.local_procs = {host, host + 2, host + 4};
  plan.sizes.card_bytes = kShortCardBytes;
  plan.sizes.card_table = cards;
  const Result<UniqueFd> memory = create_host_segment(plan);
  REQUIRE(memory.ok());
  Result<HostSegment> segment = HostSegment::map(memory->get());
  REQUIRE(segment.ok());
  return std::move(segment.value());
}

std::string card_text(const HostSegment& segment, std::uint32_t proc) {
  const auto card = used_part(segment.card(proc));
  return {reinterpret_cast<const char*>(card.data()), card.size()};
}

void put_card(const HostSegment& segment,
              std::uint32_t proc,
              const std::string& text) {
  std::ranges::copy(std::as_bytes(std::span(text)), segment.card(proc).begin());
}

}  // namespace

TEST_CASE("published table: records and cards come to the other host",
          "[protocol]") {
  const HostSegment here = make_segment(0);
  const HostSegment there = make_segment(1);
  const std::vector<std::uint32_t> procs{0, 2, 4};
  here.published(2).set({7, 1, 0});
  put_card(here, 2, "two");
  put_card(here, 4, std::string(kShortCardBytes, '4'));
  const std::string table = make_table(here, procs, Phase::kInit);
  REQUIRE(write_table(there, table));
  CHECK(there.published(2).get() == PublishedRecord::Values{7, 1, 0});
  CHECK(card_text(there, 0).empty());
  CHECK(card_text(there, 2) == "two");
  CHECK(card_text(there, 4) == std::string(kShortCardBytes, '4'));

  // A later phase has no address cards, and takes none away.
  here.published(2).set({7, 5, 0});
  REQUIRE(write_table(there, make_table(here, procs, Phase::kCollective)));
  CHECK(there.published(2).get() == PublishedRecord::Values{7, 5, 0});
  CHECK(card_text(there, 2) == "two");
}

TEST_CASE("published table: cards that are fetched do not travel in it",
          "[protocol]") {
  const HostSegment here = make_segment(0, CardTable::kOfHost);
  const HostSegment there = make_segment(1, CardTable::kOfHost);
  const std::vector<std::uint32_t> procs{0, 2, 4};
  here.published(2).set({7, 1, 0});
  put_card(here, 2, "two");
  put_card(there, 3, "three");
  const std::string table = make_table(here, procs, Phase::kInit);
  CHECK(table.find("two") == std::string::npos);
  REQUIRE(write_table(there, table));
  CHECK(there.published(2).get() == PublishedRecord::Values{7, 1, 0});
  CHECK(card_text(there, 3) == "three");
}

TEST_CASE("published table: two tables are one, and own entries stay",
          "[protocol]") {
  const HostSegment here = make_segment(0);
  const HostSegment there = make_segment(1);
  put_card(here, 0, "zero");
  put_card(there, 1, "one");
  const std::vector<std::uint32_t> even{0};
  const std::vector<std::uint32_t> odd{1};
  std::string table = make_table(here, even, Phase::kInit);
  put_card(there, 1, "new");  // newer than what has travelled
  table += make_table(there, odd, Phase::kInit);
  put_card(there, 1, "own");
  REQUIRE(write_table(there, table));
  CHECK(card_text(there, 0) == "zero");
  CHECK(card_text(there, 1) == "own");
  REQUIRE(write_table(here, table));
  CHECK(card_text(here, 1) == "new");
}

TEST_CASE("published table: bytes that are no table write nothing",
          "[protocol]") {
  const HostSegment here = make_segment(0);
  const HostSegment there = make_segment(1);
  put_card(here, 0, "zero");
  const std::vector<std::uint32_t> procs{0};
  const std::string table = make_table(here, procs, Phase::kInit);
  CHECK(is_table(table, 1, 4));
  CHECK_FALSE(is_table(table, 0, 4));  // no such process
  CHECK_FALSE(is_table(table, 1, 3));  // no room for the address card
  for (std::size_t size = 1; size < table.size(); ++size) {
    CHECK_FALSE(is_table(table.substr(0, size), 6, kShortCardBytes));
    CHECK_FALSE(write_table(there, table + table.substr(0, size)));
  }
  CHECK(card_text(there, 0).empty());
  CHECK(write_table(there, ""));
}

}  // namespace acp::protocol
