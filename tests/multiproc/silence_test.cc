// Tests that udp notices a stopped rank that owes no answer, when another rank
// waits for it (docs/udp.md, "Silence"). The program is talk.cc.
#include <chrono>
#include <string>

#include <catch2/catch.hpp>

#include "support/job.h"

using namespace std::chrono_literals;

TEST_CASE("silence: a stopped rank is named by the one that waits for it",
          "[silence]") {
  const std::string pattern = GENERATE("stop_word", "stop_sync");
  job::Job run({ACPRUN, "-np", "2", TALK, pattern, "0"},
               {"ACP_NET=udp", "ACP_UDP_SILENCE=1"});
  const job::Outcome outcome = run.wait(60s);
  INFO(outcome.output);
  REQUIRE(outcome.is_over);
  CHECK(outcome.status != 0);
  CHECK(outcome.output.find("rank 1 is lost: it does not answer") !=
        std::string::npos);
}
