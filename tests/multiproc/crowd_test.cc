// Tests that udp sends few datagrams again when there are many more ranks than
// cores: late datagrams are not lost (docs/udp.md, "Loss"). The program is
// talk.cc.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include <catch2/catch.hpp>

#include "support/job.h"

namespace {

using namespace std::chrono_literals;

/// A sum over the lines that the ranks log at their end.
struct Sum {
  long total = 0;
  int lines = 0;
};

/// Adds up the numbers that follow a text.
Sum sum_behind(const std::string& output, const std::string& text) {
  Sum sum;
  for (std::size_t at = output.find(text); at != std::string::npos;
       at = output.find(text, at + 1)) {
    sum.total += std::atol(output.c_str() + at + text.size());
    ++sum.lines;
  }
  return sum;
}

/// The number of ranks: 256 at full scale, at least 32.
int number_of_ranks() {
  const char* scale = std::getenv("ACP_TEST_SCALE");
  return std::clamp(
      static_cast<int>(256 * (scale != nullptr ? std::atof(scale) : 0.1)), 32,
      256);
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
  const Sum sent = sum_behind(outcome.output, "udp: sent ");
  const Sum again = sum_behind(outcome.output, "pure acks, ");
  CHECK(sent.lines == ranks);
  CHECK(again.lines == ranks);
  CHECK(50 * again.total < sent.total);
}
