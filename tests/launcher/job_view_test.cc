// The bytes of views.
#include "protocol/job_view.h"

#include <catch2/catch.hpp>

#include "tests/support/fake_acprun.h"

namespace acp::protocol {

namespace {

JobView job() {
  JobView view = test::computing_job(3);
  view.acprun_pid = 77;
  view.age_ms = 1234;
  view.end = "rank 1 failed";
  view.hosts = {"a", "b"};
  RankView& rank = view.ranks[1];
  rank.rank = 2;
  rank.host = 1;
  rank.core = 5;
  rank.stage = RankStage::kFinished;
  rank.was_seen = false;
  rank.is_stopped = true;
  rank.is_running = true;
  rank.call = "acp_wait_ch (receive)";
  rank.peer = 0;
  rank.waited_ms = 60'000;
  rank.waits = 9;
  rank.arrivals = 8;
  rank.traffic[TrafficCount::kSentAgain] = 7;
  return view;
}

/// Decodes the bytes behind the header, as a viewer does.
std::optional<JobView> read(std::string_view bytes) {
  return decode_view(bytes.substr(kViewHeaderBytes));
}

}  // namespace

TEST_CASE("job view: a view comes out as it went in", "[launcher][view]") {
  const std::string bytes = encode_view(job());
  const ViewHeader header = decode_view_header(bytes);
  CHECK(header.is_view);
  CHECK(header.version == kViewVersion);
  CHECK(header.bytes == bytes.size() - kViewHeaderBytes);
  const auto view = read(bytes);
  REQUIRE(view);
  CHECK(*view == job());
}

TEST_CASE("job view: a view that is cut or too long is refused",
          "[launcher][view]") {
  const std::string bytes = encode_view(job());
  for (std::size_t size = kViewHeaderBytes; size < bytes.size(); ++size) {
    CHECK_FALSE(read(bytes.substr(0, size)));
  }
  CHECK_FALSE(read(bytes + '\0'));
}

TEST_CASE("job view: numbers out of their range are refused",
          "[launcher][view]") {
  JobView view = job();
  SECTION("host") {
    view.ranks[0].host = 2;
  }
  SECTION("number at launch") {
    view.ranks[0].launch_rank = 3;
  }
  SECTION("rank") {
    view.ranks[0].rank = 3;
  }
  SECTION("stage") {
    view.ranks[0].stage = static_cast<RankStage>(99);
  }
  CHECK_FALSE(read(encode_view(view)));
}

TEST_CASE("job view: texts command no terminal", "[launcher][view]") {
  JobView view = job();
  view.program = "\x1b[2J";
  view.ranks[0].call = "a\nb";
  view.hosts[0] = "\x07";
  const auto read_again = read(encode_view(view));
  REQUIRE(read_again);
  CHECK(read_again->program == "\\x1b[2J");
  CHECK(read_again->ranks[0].call == "a\\nb");
  CHECK(read_again->hosts[0] == "\\x07");
}

}  // namespace acp::protocol
