// Tests that udp notices a stopped rank that owes no answer, when another rank
// waits for it (docs/udp.md, "Silence"). The program is talk.cc.
#include <chrono>
#include <string>

#include <catch2/catch.hpp>

#include "support/job.h"

using namespace std::chrono_literals;

namespace {

/// Rank 1 stops in a job of two, and rank 0 has to say which rank it has lost.
void lose_rank(const std::string& pattern, const std::string& lost) {
  job::Job run({ACPRUN, "-np", "2", TALK, pattern, "0"},
               {"ACP_NET=udp", "ACP_UDP_SILENCE=1"});
  const job::Outcome outcome = run.wait(60s);
  INFO(outcome.output);
  REQUIRE(outcome.is_over);
  CHECK(outcome.status != 0);
  CHECK(outcome.output.find(lost + " is lost: it does not answer") !=
        std::string::npos);
}

}  // namespace

TEST_CASE("silence: a stopped rank is named by the one that waits for it",
          "[silence]") {
  lose_rank(GENERATE("stop_word", "stop_sync"), "rank 1");
}

TEST_CASE("silence: a stopped rank is named by both its numbers", "[silence]") {
  lose_rank("stop_renumbered", "rank 1 (started as rank 0)");
}
