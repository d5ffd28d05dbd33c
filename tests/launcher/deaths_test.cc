// SIGKILL to acprun, to the keeper or to a rank, at every moment. Within 2 s no
// process of the job is left, not even one that a rank has put into a session
// of its own.
#include <csignal>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/launcher/running.h"

using namespace running;

namespace {

/// The steps of both ranks before they say "ready".
std::vector<std::string> steps_to(const std::string& moment) {
  if (moment == "before hello") return {};
  if (moment == "after hello") return {"hello"};
  if (moment == "after init") return {"hello", "init"};
  if (moment == "after finalize") return {"hello", "init", "finalize"};
  return {"hello", "init", "finalize", "finalized"};
}

std::vector<std::string> command(const std::string& moment) {
  std::vector<std::string> words = {"-v", "-np", "2", PROBE};
  for (const std::string& step : steps_to(moment))
    words.push_back(step);
  words.insert(words.end(), {"orphan", "say:ready", "pause"});
  return words;
}

std::string any_moment() {
  return GENERATE(as<std::string>{}, "before hello", "after hello",
                  "after init", "after finalize", "after finalized");
}

}  // namespace

TEST_CASE("launcher deaths: a killed acprun leaves nobody", "[launcher]") {
  const std::string moment = any_moment();
  INFO(moment);
  Running job(command(moment));
  REQUIRE(job.wait_for("ready", 2));
  CHECK(job.everybody().size() == 6);
  job.send(SIGKILL);
  CHECK(job.is_all_gone());
  CHECK(job.finish().status == 128 + SIGKILL);
}

TEST_CASE("launcher deaths: a killed keeper ends the job", "[launcher]") {
  const std::string moment = any_moment();
  INFO(moment);
  Running job(command(moment));
  REQUIRE(job.wait_for("ready", 2));
  const pid_t keeper = job.keeper();
  REQUIRE(keeper > 0);
  ::kill(keeper, SIGKILL);
  CHECK(job.is_all_gone());
  const Outcome outcome = job.finish();
  INFO(outcome.err);
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err,
                 "the keeper, parent of ranks 0-1, was killed by signal 9"));
}

TEST_CASE("launcher deaths: a killed rank ends the job", "[launcher]") {
  const std::string moment = any_moment();
  INFO(moment);
  Running job(command(moment));
  REQUIRE(job.wait_for("ready", 2));
  const pid_t victim = job.rank(1);
  REQUIRE(victim > 0);
  ::kill(victim, SIGKILL);
  CHECK(job.is_all_gone());
  const Outcome outcome = job.finish();
  INFO(outcome.err);
  CHECK(outcome.status == 128 + SIGKILL);
  CHECK(contains(outcome.err, "rank 1 on "));
  CHECK(contains(outcome.err, "signal 9"));
  CHECK(contains(outcome.err, std::to_string(victim)));
}

TEST_CASE("launcher deaths: ranks that ignore SIGTERM are killed",
          "[launcher]") {
  Running job({"-np", "3", PROBE, "deaf", "hello", "init", "say:ready",
               "only:2:exit:5", "pause"});
  REQUIRE(job.wait_for("ready", 3));
  CHECK(job.is_all_gone());
  CHECK(job.finish().status == 5);
}

TEST_CASE("launcher deaths: acprun ends a job whose keeper is stopped",
          "[launcher]") {
  Running job(
      {"-np", "2", "--grace", "0.1", PROBE, "orphan", "say:ready", "pause"});
  REQUIRE(job.wait_for("ready", 2));
  const pid_t keeper = job.keeper();
  REQUIRE(keeper > 0);
  ::kill(keeper, SIGSTOP);
  job.send(SIGTERM);
  const Outcome outcome = job.finish();
  CHECK(outcome.status == 128 + SIGTERM);
  CHECK(job.is_all_gone());
}

TEST_CASE("launcher deaths: an orphan does not outlive a good end",
          "[launcher]") {
  const Outcome outcome = run({"-np", "2", PROBE, "orphan", "say:done"});
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, "done") == 2);
}
