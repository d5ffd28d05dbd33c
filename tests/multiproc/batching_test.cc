// Tests how many datagrams small operations over UDP share (docs/udp.md,
// "Batching"). The program is talk.cc.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include <catch2/catch.hpp>

#include "support/job.h"

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// The datagrams of the rank that sent most. Each rank logs its number at the
/// end.
long most_datagrams(const std::string& output) {
  const std::string text = "udp: sent ";
  long most = 0;
  int lines = 0;
  for (std::size_t at = output.find(text); at != std::string::npos;
       at = output.find(text, at + 1)) {
    most = std::max(most, std::stol(output.substr(at + text.size())));
    ++lines;
  }
  REQUIRE(lines == 2);
  return most;
}

long datagrams_of(const std::string& pattern, int count) {
  job::Job run({ACPRUN, "-np", "2", TALK, pattern, std::to_string(count)},
               {"ACP_NET=udp", "ACP_LOG=debug"});
  const job::Outcome outcome = run.wait(60s);
  INFO(outcome.output);
  REQUIRE(outcome.is_over);
  REQUIRE(outcome.status == 0);
  return most_datagrams(outcome.output);
}

/// Repeats the job until it sends fewer than `aim` datagrams, or 120 s are
/// over. A rank that is kept from running sends more, because its progress
/// thread sends messages that have waited for a millisecond.
long least_datagrams_of(const std::string& pattern, int count, long aim) {
  const Clock::time_point limit = Clock::now() + 120s;
  long least = 0;
  do {
    least = datagrams_of(pattern, count);
  } while (least >= aim && Clock::now() < limit);
  return least;
}

}  // namespace

TEST_CASE("batching: puts in flight share datagrams", "[batching]") {
  CHECK(least_datagrams_of("put", 10'000, 2'000) < 2'000);
}

// The first put of a window of 64 leaves at once, the next 32 together, and the
// rest when the program waits. Replies share datagrams alike.
TEST_CASE("batching: a window of puts takes three datagrams each way",
          "[batching]") {
  CHECK(least_datagrams_of("windows", 1'000, 4'000) < 4'000);
}

// Gathered records take some 130 datagrams, and a request for each message more
// than 10,000 (docs/channels.md, "The ring").
TEST_CASE("batching: messages of a channel leave together", "[batching]") {
  CHECK(least_datagrams_of("stream", 20'000, 1'000) < 1'000);
}

// With datagrams for the credit, its reply, and the record at the ring's end, a
// rank sends 3,100.
TEST_CASE("batching: credit of a channel goes along with the answer",
          "[batching]") {
  CHECK(least_datagrams_of("exchange", 2'000, 2'300) < 2'300);
}

TEST_CASE("batching: a new element goes along with the lock of its list",
          "[batching]") {
  CHECK(least_datagrams_of("push", 2'000, 5'800) < 5'800);
}

TEST_CASE("batching: an unlock goes along with the next lock", "[batching]") {
  CHECK(least_datagrams_of("insert", 2'000, 3'800) < 3'800);
}

TEST_CASE("batching: a reply goes along with the answer to a signal",
          "[batching]") {
  CHECK(least_datagrams_of("answer", 2'000, 3'800) < 3'800);
}

// A channel takes four datagrams of each rank: its request and its answer, its
// end, and the last words of both sides.
TEST_CASE("batching: an end that never sent is freed by four datagrams",
          "[batching]") {
  CHECK(least_datagrams_of("free_unused", 400, 2'000) < 2'000);
}
