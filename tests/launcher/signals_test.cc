// Signals that acprun gets: some end the job, others are passed on.
#include <csignal>
#include <string>

#include <catch2/catch.hpp>

#include "tests/launcher/running.h"

using namespace running;

TEST_CASE("launcher signals: INT and TERM end the job", "[launcher]") {
  const int signal = GENERATE(SIGINT, SIGTERM);
  Running job({"-np", "2", PROBE, "hello", "init", "say:ready", "pause"});
  REQUIRE(job.wait_for("ready", 2));
  job.send(signal);
  const Outcome outcome = job.finish();
  CHECK(outcome.status == 128 + signal);
  CHECK(count_of(outcome.err, "acprun: ") == 3);
  CHECK(job.is_all_gone(milliseconds(2000)));
}

TEST_CASE("launcher signals: who is asked to end gets time to do so",
          "[launcher]") {
  Running job({"-np", "2", "--grace", "30", PROBE, "block:15", "say:ready",
               "await", "exit:0"});
  REQUIRE(job.wait_for("ready", 2));
  job.send(SIGINT);
  const Outcome outcome = job.finish();
  CHECK(outcome.status == 130);
  CHECK(count_of(outcome.out, "got 15") == 2);
}

TEST_CASE("launcher signals: after the grace period comes SIGKILL",
          "[launcher]") {
  Running job(
      {"-np", "2", "--grace", "0.2", PROBE, "deaf", "say:ready", "pause"});
  REQUIRE(job.wait_for("ready", 2));
  job.send(SIGTERM);
  CHECK(job.finish().status == 128 + SIGTERM);
  CHECK(job.is_all_gone(milliseconds(2000)));
}

TEST_CASE("launcher signals: a second ^C does not wait", "[launcher]") {
  Running job({"-np", "2", "--grace", "1000", PROBE, "block:15", "say:ready",
               "await", "pause"});
  REQUIRE(job.wait_for("ready", 2));
  job.send(SIGINT);
  REQUIRE(job.wait_for("got 15", 2));
  job.send(SIGINT);
  const Outcome outcome = job.finish();
  CHECK(outcome.is_over);
  CHECK(outcome.status == 130);
}

TEST_CASE("launcher signals: others are passed on to every rank",
          "[launcher]") {
  const int signal = GENERATE(SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT);
  const std::string number = std::to_string(signal);
  Running job({"-np", "3", PROBE, "block:" + number, "say:ready", "await"});
  REQUIRE(job.wait_for("ready", 3));
  job.send(signal);
  const Outcome outcome = job.finish();
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, "got " + number + "\n") == 3);
}

TEST_CASE("launcher signals: TSTP stops ranks and acprun, CONT continues both",
          "[launcher]") {
  const std::string number = std::to_string(SIGTSTP);
  Running job({"-np", "2", PROBE, "block:" + number, "say:ready", "await",
               "block:18", "say:next", "await"});
  REQUIRE(job.wait_for("ready", 2));
  job.send(SIGTSTP);
  // acprun stops itself, so what the ranks say next arrives after CONT only.
  const auto deadline = Clock::now() + kPatience;
  siginfo_t info{};
  while (info.si_pid != job.pid() && Clock::now() < deadline) {
    REQUIRE(::waitid(P_PID, static_cast<id_t>(job.pid()), &info,
                     WSTOPPED | WNOHANG | WNOWAIT) == 0);
  }
  REQUIRE(info.si_pid == job.pid());
  job.send(SIGCONT);
  const Outcome outcome = job.finish();
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, "got " + number) == 2);
  CHECK(count_of(outcome.out, "got 18") == 2);
}
