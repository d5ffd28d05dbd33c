// The one verdict of a job, and the times that follow from it.
#include "launcher/job_verdict.h"

#include <chrono>
#include <csignal>
#include <cstdint>

#include <catch2/catch.hpp>

namespace acp::launcher {

namespace {

using Clock = JobVerdict::Clock;
using std::chrono::milliseconds;

constexpr Clock::time_point kNow{std::chrono::seconds(100)};
constexpr milliseconds kUserGrace{5000};

Verdict verdict_of(Cause cause, std::int64_t value = 0) {
  Verdict verdict;
  verdict.cause = cause;
  verdict.value = value;
  return verdict;
}

}  // namespace

TEST_CASE("job verdict: the first failure decides", "[launcher]") {
  JobVerdict job(kUserGrace, JobHosts::kOnlyThis);
  CHECK_FALSE(job.is_set());
  CHECK(job.next() == Clock::time_point::max());
  CHECK(job.set(verdict_of(Cause::kExited, 3), kNow));
  CHECK_FALSE(job.set(verdict_of(Cause::kSignaled, SIGSEGV), kNow));
  CHECK(job.get().cause == Cause::kExited);
  CHECK(job.get().value == 3);
}

TEST_CASE("job verdict: a job that failed by itself is over within 2 s",
          "[launcher]") {
  JobVerdict job(kUserGrace, JobHosts::kOnlyThis);
  REQUIRE(job.set(verdict_of(Cause::kExited, 1), kNow));
  CHECK(job.grace() == JobVerdict::kFailureGrace);
  CHECK(job.next() == kNow + milliseconds(2000));
  CHECK_FALSE(job.is_forced(kNow + milliseconds(1999)));
  CHECK(job.is_forced(kNow + milliseconds(2000)));
  CHECK(job.give_up_output_at() == Clock::time_point::max());
}

TEST_CASE("job verdict: a shorter grace of the user holds for failures as well",
          "[launcher]") {
  JobVerdict job(milliseconds(10), JobHosts::kOnlyThis);
  REQUIRE(job.set(verdict_of(Cause::kExited, 1), kNow));
  CHECK(job.grace() == milliseconds(10));
}

TEST_CASE("job verdict: daemons get time beyond that of the keeper",
          "[launcher]") {
  JobVerdict job(kUserGrace, JobHosts::kOthers);
  REQUIRE(job.set(verdict_of(Cause::kExited, 1), kNow));
  CHECK(job.next() == kNow + milliseconds(2000) + JobVerdict::kDaemonLimit);
}

TEST_CASE("job verdict: an end that the user asked for has the user's grace",
          "[launcher]") {
  JobVerdict job(kUserGrace, JobHosts::kOnlyThis);
  REQUIRE(job.set(verdict_of(Cause::kInterrupted, SIGINT), kNow));
  CHECK(job.grace() == kUserGrace);
  CHECK(job.next() == kNow + kUserGrace + JobVerdict::kKeeperLimit);
  CHECK(job.give_up_output_at() == job.next());
}

TEST_CASE("job verdict: the second request to end makes the end come sooner",
          "[launcher]") {
  JobVerdict job(kUserGrace, JobHosts::kOnlyThis);
  REQUIRE(job.set(verdict_of(Cause::kInterrupted, SIGINT), kNow));
  CHECK_FALSE(job.is_asked_again(kNow));
  const auto later = kNow + milliseconds(100);
  CHECK(job.is_asked_again(later));
  CHECK(job.next() == later + JobVerdict::kKeeperLimit);
  CHECK(job.give_up_output_at() == later);
}

TEST_CASE("job verdict: unlike calls wait, and then decide before others",
          "[launcher]") {
  JobVerdict job(kUserGrace, JobHosts::kOnlyThis);
  Verdict unlike = verdict_of(Cause::kProtocol);
  unlike.text = "first";
  job.hold(unlike, kNow);
  unlike.text = "second";
  job.hold(unlike, kNow + milliseconds(50));
  CHECK_FALSE(job.is_set());
  CHECK(job.next() == kNow + JobVerdict::kUnlikeLimit);
  CHECK_FALSE(job.is_hold_over(kNow + milliseconds(199)));
  CHECK(job.is_hold_over(kNow + milliseconds(200)));
  REQUIRE(job.set(verdict_of(Cause::kExited, 1), kNow));
  CHECK(job.get().cause == Cause::kProtocol);
  CHECK(job.get().text == "first");
}

TEST_CASE("job verdict: a signal that acprun passed on is no failure of a rank",
          "[launcher]") {
  Verdict killed = verdict_of(Cause::kSignaled, SIGUSR1);
  killed.rank = 2;
  killed.host = 1;
  SECTION("passed on") {
    JobVerdict job(kUserGrace, JobHosts::kOnlyThis);
    job.note_passed_on(SIGUSR1);
    REQUIRE(job.set(killed, kNow));
    CHECK(job.get().cause == Cause::kInterrupted);
    CHECK(job.get().value == SIGUSR1);
    CHECK(job.get().rank == kNoRank);
  }
  SECTION("another signal") {
    JobVerdict job(kUserGrace, JobHosts::kOnlyThis);
    job.note_passed_on(SIGUSR2);
    REQUIRE(job.set(killed, kNow));
    CHECK(job.get().cause == Cause::kSignaled);
    CHECK(job.get().rank == 2);
  }
}

}  // namespace acp::launcher
