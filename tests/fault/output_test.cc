// Tests that the output of a rank arrives however the rank ends. The program is
// printer.cc.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/job.h"

using namespace std::chrono_literals;

namespace {

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

job::Outcome print_and_end(const std::string& how,
                           const std::vector<std::string>& environment = {}) {
  job::Job run({ACPRUN, "-np", "2", PRINTER, how}, environment);
  return run.wait(60s);
}

void check_lines(const job::Outcome& outcome, int copies) {
  INFO(outcome.output);
  CHECK(outcome.is_over);
  for (const char* line :
       {"before acp_init\n", "by puts\n", "by putchar\n", "by cout\n"}) {
    CHECK(count_of(outcome.output, line) == copies);
  }
  CHECK(count_of(outcome.output, "by printf\n") == copies);
}

}  // namespace

TEST_CASE("output: no line of a job that is aborted is lost", "[output]") {
  const job::Outcome outcome = print_and_end("abort");
  check_lines(outcome, 2);
  CHECK(count_of(outcome.output, "unfinished\n") == 1);
}

TEST_CASE("output: no line of a rank that is killed is lost", "[output]") {
  check_lines(print_and_end("kill"), 2);
}

TEST_CASE("output: ACP_STDOUT=program leaves the buffer alone", "[output]") {
  check_lines(print_and_end("kill", {"ACP_STDOUT=program"}), 0);
}
