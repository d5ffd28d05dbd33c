// Tests that udp sends few datagrams again when there are many more ranks than
// cores: late datagrams are not lost (docs/udp.md, "Loss"). The program is
// talk.cc.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include <catch2/catch.hpp>

#include "support/job.h"
#include "support/sum_behind.h"

namespace {

using namespace std::chrono_literals;

/// The number of ranks: 256 at full scale, at least 32.
int number_of_ranks() {
  const char* scale = std::getenv("ACP_TEST_SCALE");
  return std::clamp(
      static_cast<int>(256 *
                       (scale != nullptr ? std::strtod(scale, nullptr) : 0.1)),
      32, 256);
}

}  // namespace

TEST_CASE("crowd: each rank writes to each, and below 2 % is sent again",
          "[crowd]") {
  const int ranks = number_of_ranks();
  job::Job run({ACPRUN, "-np", std::to_string(ranks), TALK, "all", "1"},
               {"ACP_NET=udp", "ACP_LOG=debug"});
  const job::Outcome outcome = run.wait(120s);
  INFO(outcome.output);
  REQUIRE(outcome.is_over);
  REQUIRE(outcome.status == 0);
  const job::Sum sent = job::sum_behind(outcome.output, "udp: sent ");
  const job::Sum again = job::sum_behind(outcome.output, "pure acks, ");
  CHECK(sent.lines == ranks);
  CHECK(again.lines == ranks);
  CHECK(50 * again.total < sent.total);
}
