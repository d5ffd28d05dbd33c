// How jobs end: exit status, summary, and the message to the other ranks.
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/launcher/running.h"

using namespace running;

namespace {

std::vector<std::string> probe(int ranks, std::vector<std::string> steps) {
  std::vector<std::string> words = {"-np", std::to_string(ranks), PROBE};
  words.insert(words.end(), steps.begin(), steps.end());
  return words;
}

Setup holding_input() {
  Setup setup;
  setup.holds_input = true;
  return setup;
}

/// A job that fails: in 2 s, with three to five lines.
Outcome run_failure(const std::vector<std::string>& words) {
  Outcome outcome = run(words);
  INFO(outcome.err);
  CHECK(outcome.took < kGoneWithin);
  // A line for the failure, up to three for the other ranks, and one for the
  // action of acprun.
  const int lines = count_of(outcome.err, "acprun: ");
  CHECK(lines >= 3);
  CHECK(lines <= 5);
  return outcome;
}

}  // namespace

TEST_CASE("launcher endings: a good job returns 0 and says nothing",
          "[launcher]") {
  const int ranks = GENERATE(1, 2, 16);
  const Outcome outcome =
      run(probe(ranks, {"hello", "init", "collective", "collective", "say:here",
                        "finalize", "finalized"}));
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, "here\n") == ranks);
  CHECK(outcome.err.empty());
}

TEST_CASE("launcher endings: programs without ACP run and return 0",
          "[launcher]") {
  const Outcome outcome = run({"-np", "2", "echo", "hello"});
  CHECK(outcome.status == 0);
  CHECK(outcome.out == "hello\nhello\n");
}

TEST_CASE("launcher endings: the status of the rank that fails", "[launcher]") {
  const Outcome outcome =
      run_failure(probe(3, {"hello", "init", "only:1:exit:42", "finalize"}));
  INFO(outcome.err);
  CHECK(outcome.status == 42);
  CHECK(contains(outcome.err, "rank 1 on "));
  CHECK(contains(outcome.err, "exited with status 42"));
}

TEST_CASE("launcher endings: 128 + signal", "[launcher]") {
  const int signal = GENERATE(SIGSEGV, SIGABRT, SIGKILL, SIGTERM);
  const Outcome outcome = run_failure(probe(
      2,
      {"hello", "init", "only:1:raise:" + std::to_string(signal), "finalize"}));
  CHECK(outcome.status == 128 + signal);
  CHECK(contains(outcome.err, "signal " + std::to_string(signal) + " ("));
}

TEST_CASE("launcher endings: acp_abort gives 1 and its text", "[launcher]") {
  const Outcome outcome = run_failure(
      probe(2, {"hello", "init", "only:1:abort:no more sugar", "pause"}));
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.err, "rank 1 on "));
  CHECK(contains(outcome.err, "no more sugar"));
}

TEST_CASE("launcher endings: exit 0 without acp_finalize is an error",
          "[launcher]") {
  const Outcome outcome =
      run_failure(probe(2, {"hello", "init", "only:1:exit:0", "finalize"}));
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.err, "acp_finalize"));
}

TEST_CASE("launcher endings: one rank alone may leave without acp_finalize",
          "[launcher]") {
  CHECK(run(probe(1, {"hello", "init"})).status == 0);
}

TEST_CASE("launcher endings: leaving before acp_init ends the job",
          "[launcher]") {
  // Rank 1 does not know its number before hello: the wrapper tells it.
  const std::string status = GENERATE("0", "3");
  const Outcome outcome = run_failure(
      {"-np", "2", "--wrap", "env PROBE_RANK=1", "--wrap-ranks", "1", PROBE,
       "only:1:exit:" + status, "hello", "init", "finalize"});
  INFO(outcome.err);
  CHECK(outcome.status == (status == "0" ? 1 : 3));
  CHECK(contains(outcome.err, "rank 1 on "));
}

TEST_CASE("launcher endings: dying between hello and init ends the job",
          "[launcher]") {
  const Outcome outcome =
      run_failure(probe(2, {"hello", "only:0:exit:0", "init", "finalize"}));
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.err, "rank 0 on "));
}

TEST_CASE("launcher endings: bytes that make no sense end the job",
          "[launcher]") {
  const Outcome outcome =
      run_failure(probe(2, {"hello", "only:1:garbage", "init"}));
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err, "rank 1 on "));
}

TEST_CASE("launcher endings: two phases at once end the job", "[launcher]") {
  const Outcome outcome = run_failure(probe(
      2, {"hello", "init", "only:0:collective", "only:1:finalize", "pause"}));
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err, "acp_finalize"));
  CHECK(contains(outcome.err, "acp_reset"));
}

TEST_CASE("launcher endings: ranks in unlike calls are named with their calls",
          "[launcher]") {
  // The first two ranks that arrive end the job, and six are on their way.
  const Outcome outcome = run_failure(
      probe(8, {"hello", "init", "only:0:collective", "finalize", "pause"}));
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err, "waiting in acp_finalize"));
  CHECK_FALSE(contains(outcome.err, "computing"));
}

TEST_CASE("launcher endings: a rank in neither of two unlike calls",
          "[launcher]") {
  const Outcome outcome = run_failure(probe(
      3, {"hello", "init", "only:0:collective", "only:1:finalize", "pause"}));
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err, "rank 2 was computing"));
}

TEST_CASE("launcher endings: the summary says who waits for what",
          "[launcher]") {
  // Rank 0 fails when the other ranks wait: WaitKind 2 is acp_sync, 3
  // acp_complete.
  Running job(probe(4, {"hello", "init", "only:1:wait:2", "only:2:wait:3",
                        "only:3:wait:2", "cat", "exit:7"}),
              holding_input());
  REQUIRE(job.wait_for("ready", 3));
  job.close_input();
  const Outcome outcome = job.finish();
  INFO(outcome.err);
  CHECK(outcome.status == 7);
  CHECK(contains(outcome.err, "ranks 1,3 were waiting in acp_sync"));
  CHECK(contains(outcome.err, "rank 2 was waiting in acp_complete"));
}

TEST_CASE("launcher endings: sleepers are woken and told why", "[launcher]") {
  Running job(probe(3, {"hello", "init", "deaf", "only:1:wait:2", "only:0:cat",
                        "only:0:exit:9", "say:ready", "finalize"}),
              holding_input());
  REQUIRE(job.wait_for("ready", 2));
  job.close_input();
  const Outcome outcome = job.finish();
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 9);
  CHECK(contains(outcome.out, "woken"));
  CHECK(contains(outcome.err, "ending: rank 0 on "));
}

TEST_CASE("launcher endings: ranks are named by their number of now",
          "[launcher]") {
  const Outcome outcome =
      run_failure(probe(2, {"hello", "only:0:renumber:1", "only:1:renumber:0",
                            "init", "only:1:exit:4", "finalize"}));
  INFO(outcome.err);
  CHECK(contains(outcome.err, "rank 0 (started as rank 1) on "));
  CHECK(contains(outcome.err, "rank 1 was "));
}

TEST_CASE("launcher endings: --timeout gives 124", "[launcher]") {
  const Outcome outcome = run_failure(
      {"--timeout=0.2", "-np", "2", PROBE, "hello", "init", "pause"});
  CHECK(outcome.status == 124);
  CHECK(contains(outcome.err, "--timeout"));
}

TEST_CASE(
    "launcher endings: the meeting has a deadline, and names who is "
    "missing",
    "[launcher]") {
  const Outcome outcome = run_failure(
      {"--init-timeout", "0.2", "-np", "4", "--wrap", "env PROBE_RANK=9",
       "--wrap-ranks", "1-2", PROBE, "only:9:pause", "hello", "init"});
  INFO(outcome.err);
  CHECK(outcome.status == 124);
  CHECK(contains(outcome.err,
                 "ranks 1-2 did not come to the rendezvous of acp_init"));
}

TEST_CASE("launcher endings: --watchdog ends a deadlock", "[launcher]") {
  const Outcome outcome =
      run_failure({"--watchdog", "0.5", "-np", "2", PROBE, "hello", "init",
                   "only:0:wait:2", "only:1:wait:4"});
  INFO(outcome.err);
  CHECK(outcome.status == 124);
  CHECK(contains(outcome.err, "rank 0 was waiting in acp_sync"));
  CHECK(contains(outcome.err, "rank 1 was waiting in acpx_wait_word"));
}

TEST_CASE("launcher endings: --watchdog lets a job alone that gets on",
          "[launcher]") {
  // Both ranks wait all the time, and hardly use a processor.
  const Outcome outcome = run({"--watchdog", "0.5", "-np", "2", PROBE, "hello",
                               "init", "receive:40", "finalize", "finalized"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
}

TEST_CASE("launcher endings: --watchdog says which rank is stopped",
          "[launcher]") {
  const Outcome outcome =
      run_failure({"--watchdog", "0.5", "-np", "3", PROBE, "hello", "init",
                   "only:1:raise:19", "only:2:say:ready", "wait:2"});
  INFO(outcome.err);
  CHECK(outcome.status == 124);
  CHECK(contains(outcome.err, "with rank 1 stopped by a signal (state T) on "));
  CHECK(contains(outcome.err, "kill -CONT "));
  CHECK(contains(outcome.err,
                 "rank 1 was stopped by a signal (state T), computing"));
}

TEST_CASE("launcher endings: no file is left", "[launcher]") {
  const Scratch scratch;
  const std::string how = GENERATE("exit:0", "exit:1", "raise:9");
  const auto names = [] {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      found.insert(entry.path().filename().string());
    }
    return found;
  };
  const auto before = names();
  Setup setup;
  setup.environment = {"TMPDIR=" + scratch.path()};
  setup.directory = scratch.path();
  run(probe(2, {"hello", "init", "finalize", "finalized", how}), setup);
  CHECK(scratch.is_empty());
  // Other jobs of this machine come and go: only a name that stays is left
  // behind.
  for (const std::string& name : names()) {
    INFO(name);
    const bool is_new = before.count(name) == 0 && contains(name, "acp");
    CHECK((!is_new || eventually([&] { return names().count(name) == 0; })));
  }
}
