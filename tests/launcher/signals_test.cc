// Signals that acprun gets: some end the job, others are passed on.
#include <sys/wait.h>

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
  // A line for the failure, up to three for the ranks, and one for the action
  // of acprun.
  CHECK(contains(outcome.err, "asks the ranks to end within 5 s") ==
        (signal == SIGINT));
  CHECK(count_of(outcome.err, "acprun: ") >= 3);
  CHECK(count_of(outcome.err, "acprun: ") <= 5);
  CHECK(job.is_all_gone());
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
  CHECK(job.is_all_gone());
}

TEST_CASE("launcher signals: a second ^C does not wait", "[launcher]") {
  Setup setup;
  setup.is_joined = true;
  Running job({"-np", "2", "--grace", "1000", PROBE, "block:15", "say:ready",
               "await", "pause"},
              setup);
  REQUIRE(job.wait_for("ready", 2));
  job.send(SIGINT);
  REQUIRE(job.wait_for("got 15", 2));
  REQUIRE(job.wait_for("^C again kills them now"));
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

TEST_CASE("launcher signals: who dies of one that was passed on was asked to",
          "[launcher]") {
  Running job({"-np", "2", PROBE, "say:ready", "pause"});
  REQUIRE(job.wait_for("ready", 2));
  job.send(SIGHUP);
  const Outcome outcome = job.finish();
  INFO(outcome.err);
  CHECK(outcome.status == 128 + SIGHUP);
  CHECK(contains(outcome.err, "acprun got signal 1"));
}

TEST_CASE("launcher signals: TSTP stops ranks and acprun, CONT continues both",
          "[launcher]") {
  const Scratch scratch;
  const std::string stop = std::to_string(SIGTSTP);
  const std::string go_on = std::to_string(SIGCONT);
  // Files, because a stopped acprun carries no output.
  Running job({"-np", "2", "--output-dir", scratch.path(), PROBE,
               "block:" + stop, "block:" + go_on, "say:ready", "await",
               "await"});
  const auto both_have_said = [&scratch](const std::string& text) {
    return eventually([&] {
      return contains(scratch.read("rank.0.out"), text) &&
             contains(scratch.read("rank.1.out"), text);
    });
  };
  REQUIRE(both_have_said("ready"));
  job.send(SIGTSTP);
  REQUIRE(eventually([&job] {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(job.pid()), &info,
             WSTOPPED | WNOHANG | WNOWAIT);
    return info.si_pid == job.pid();
  }));
  REQUIRE(both_have_said("got " + stop));
  job.send(SIGCONT);
  CHECK(job.finish().status == 0);
  CHECK(both_have_said("got " + go_on));
}
