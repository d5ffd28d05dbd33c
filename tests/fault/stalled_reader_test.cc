// Tests that a job goes on while its log lines are not read. The program is
// prolific.cc.
#include <string>

#include <catch2/catch.hpp>

#include "support/job.h"

using namespace std::chrono_literals;

namespace {

constexpr int kCalls = 20'000;

long count_of(const std::string& text, const std::string& part) {
  long count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

/// The sum of the numbers in front of `words`.
long sum_before(const std::string& text, const std::string& words) {
  long sum = 0;
  for (std::size_t at = text.find(words); at != std::string::npos;
       at = text.find(words, at + 1)) {
    sum += std::stol(text.substr(text.rfind(' ', at - 1) + 1));
  }
  return sum;
}

}  // namespace

// With ACP_UDP_SILENCE=1 a rank that answers nothing is given up after a
// second. So a rank that waited for the reader would have ended its job.
TEST_CASE("stalled reader: a job over udp goes on, and lost lines are counted",
          "[output]") {
  job::Job run({ACPRUN, "-np", "2", "--acp-envnet=udp", PROLIFIC, "go on",
                std::to_string(kCalls)},
               {"ACP_SHM=off", "ACP_UDP_SILENCE=1"});
  CHECK_FALSE(run.ends_unread(5s));
  const job::Outcome outcome = run.wait(60s);
  CAPTURE(outcome.output.substr(0, 2000));
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.output, "all are here") == 1);
  CHECK(outcome.output.find("is lost:") == std::string::npos);
  const long shown = count_of(outcome.output, "address outside its region");
  const long lost = sum_before(outcome.output, " log lines were lost:");
  CHECK(shown + lost == kCalls);
  CHECK(shown > 1000);
}

TEST_CASE("stalled reader: acp_abort ends the job, and its line arrives",
          "[output]") {
  job::Job run(
      {ACPRUN, "-np", "2", "--acp-envnet=udp", PROLIFIC, "abort", "1000"});
  const job::Outcome outcome = run.wait(60s);
  CAPTURE(outcome.output.substr(0, 2000));
  CHECK(outcome.status == 1);
  CHECK(count_of(outcome.output, "leave starter memory of rank 1") == 1000);
  CHECK(outcome.output.find("acp: rank 0 on ") != std::string::npos);
  CHECK(count_of(outcome.output, ": acp_abort: enough") >= 2);
}
