// Tests that many ranks can put to one rank at one time: the memory is exact,
// and their datagrams do not overflow its receive buffer. The program is
// incast.cc. The bandwidth is only printed, because the machine may have other
// work.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include <catch2/catch.hpp>

#include "support/job.h"
#include "support/sum_behind.h"

namespace {

using namespace std::chrono_literals;

constexpr int kRanks = 16;

/// The number of MiB that each rank puts: 64 at full scale, at least 8.
int mebibytes() {
  const char* scale = std::getenv("ACP_TEST_SCALE");
  return std::clamp(
      static_cast<int>(64 *
                       (scale != nullptr ? std::strtod(scale, nullptr) : 0.1)),
      8, 64);
}

}  // namespace

TEST_CASE("incast: 15 ranks put to one, and below 2 % is sent again",
          "[incast]") {
  job::Job run(
      {ACPRUN, "-np", std::to_string(kRanks), "--acp-startermemsize=60M",
       INCAST, std::to_string(mebibytes())},
      {"ACP_NET=udp", "ACP_LOG=debug"});
  const job::Outcome outcome = run.wait(280s);
  INFO(outcome.output);
  REQUIRE(outcome.is_over);
  REQUIRE(outcome.status == 0);
  const std::size_t exact = outcome.output.find("exact; MB/s");
  REQUIRE(exact != std::string::npos);
  std::cout << outcome.output.substr(exact,
                                     outcome.output.find('\n', exact) - exact);
  const job::Sum sent = job::sum_behind(outcome.output, "udp: sent ");
  const job::Sum again = job::sum_behind(outcome.output, "pure acks, ");
  const job::Sum needless = job::sum_behind(outcome.output, " again, ");
  std::cout << "; sent " << sent.total << ", again " << again.total
            << ", for nothing " << needless.total << '\n';
  CHECK(sent.lines == kRanks);
  CHECK(again.lines == kRanks);
  CHECK(50 * again.total < sent.total);
}
