// Tests of ranks that die, at many moments and in many ways. The job has to end
// soon, with the right status and a summary, and must leave no process and no
// shared memory. A launcher that is killed must leave none either. The build
// gives the paths of the programs (ACPRUN, LATE_END, VICTIM).
#include "fault/death.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "support/job.h"

using namespace std::chrono_literals;

namespace {

using death::command;
using death::expected_status;
using death::kPatience;
using death::Scratch;

constexpr auto kEndsWithin = death::kEndsWithin;

std::size_t lines_of(const std::string& path) {
  std::ifstream file(path);
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);)
    ++count;
  return count;
}

/// Waits until `count` ranks have called acp_init and written their line.
void wait_for_lines(const std::string& path, std::size_t count) {
  const auto limit = job::Clock::now() + kPatience;
  while (lines_of(path) < count && job::Clock::now() < limit) {
  }
  REQUIRE(lines_of(path) == count);
}

job::Outcome run_death(const std::string& moment,
                       const std::string& how,
                       const std::string& net) {
  return death::run(moment, how, {"ACP_NET=" + net});
}

}  // namespace

TEST_CASE("death: a rank that dies ends the job with its status", "[death]") {
  const std::string net = GENERATE("auto", "udp");
  const std::string moment =
      GENERATE("before_init", "in_init", "computing", "in_sync", "in_copy",
               "in_wait", "in_channel", "in_reset", "in_finalize");
  const std::string how = GENERATE("exit", "abort", "sigabrt", "segv", "kill");
  const job::Outcome outcome = run_death(moment, how, net);
  INFO("moment " << moment << ", how " << how << ", net " << net);
  INFO(outcome.output);
  CHECK(outcome.status == expected_status(how));
}

TEST_CASE("death: a rank that is killed while its memory comes, goes, is read",
          "[death]") {
  const std::string net = GENERATE("auto", "udp");
  const std::string moment = GENERATE("in_unregister", "is_read");
  const job::Outcome outcome = run_death(moment, "kill", net);
  INFO("moment " << moment << ", net " << net);
  INFO(outcome.output);
  CHECK(outcome.status == 128 + SIGKILL);
}

TEST_CASE("death: a rank that is killed in acp_malloc leaves no lock",
          "[death]") {
  const std::string net = GENERATE("auto", "udp");
  const job::Outcome outcome = run_death("in_malloc", "kill", net);
  INFO(outcome.output);
  CHECK(outcome.status == 128 + SIGKILL);
}

TEST_CASE("death: a rank that is killed in a data structure ends the others",
          "[death]") {
  const std::string net = GENERATE("auto", "udp");
  const std::string moment = GENERATE(
      "in_vector", "in_deque", "in_list", "in_set", "in_map", "in_workspace",
      "vector_reserved", "deque_locked", "list_compared", "map_locked");
  const job::Outcome outcome = run_death(moment, "kill", net);
  INFO("moment " << moment << ", net " << net);
  INFO(outcome.output);
  CHECK(outcome.status == 128 + SIGKILL);
}

TEST_CASE("death: ranks that wait for a structure's lock sleep", "[death]") {
  // The watchdog ends a job whose ranks all wait and use hardly any processor
  // time.
  const std::string net = GENERATE("auto", "udp");
  const std::string moment =
      GENERATE("vector_reserved", "deque_locked", "map_locked");
  INFO("moment " << moment << ", net " << net);
  const Scratch scratch("lock");
  const std::string marker = job::unique_marker();
  std::vector<std::string> words =
      command(moment, "wait", scratch.path, marker);
  words.insert(words.begin() + 1, {"--watchdog", "1"});
  job::Job run(words, {"ACP_NET=" + net});
  const job::Outcome outcome = run.wait(kPatience);
  INFO(outcome.output);
  REQUIRE(outcome.is_over);
  CHECK(outcome.status == 124);
  CHECK(job::all_gone(marker, kEndsWithin));
}

TEST_CASE("death: the watchdog ends a deadlock, however the ranks wait",
          "[death]") {
  const std::string wait = GENERATE("spin", "yield", "sleep");
  INFO(wait);
  const Scratch scratch("deadlock");
  const std::string marker = job::unique_marker();
  std::vector<std::string> words =
      command("in_wait", "stay", scratch.path, marker);
  words.insert(words.begin() + 1, {"--watchdog", "1"});
  job::Job run(words, {"ACP_WAIT=" + wait});
  const job::Outcome outcome = run.wait(kPatience);
  INFO(outcome.output);
  REQUIRE(outcome.is_over);
  CHECK(outcome.status == 124);
  CHECK(job::all_gone(marker, kEndsWithin));
}

TEST_CASE("death: an acp_sync that a finalized rank left out fails",
          "[death]") {
  const std::string net = GENERATE("auto", "udp");
  const std::string ranks = GENERATE("2", "3", "8");
  job::Job run({ACPRUN, "-np", ranks, VICTIM, "out_of_step", "stay", "-"},
               {"ACP_NET=" + net});
  const job::Outcome outcome = run.wait(kPatience);
  INFO(outcome.output);
  CHECK(outcome.is_over);
  CHECK(outcome.status == 0);
  CHECK(outcome.output.find("rank 1 is in acp_finalize after") !=
        std::string::npos);
}

TEST_CASE("death: an acp_reset that meets another call fails, and names it",
          "[death]") {
  const std::string net = GENERATE("auto", "udp");
  const std::string ranks = GENERATE("2", "3", "8");
  const std::string other =
      GENERATE("finalize", "sync", "sync_on", "sync_reset", "open");
  job::Job run({ACPRUN, "-np", ranks, VICTIM, "reset_beside", other, "-"},
               {"ACP_NET=" + net});
  const job::Outcome outcome = run.wait(kPatience);
  INFO(net << ", " << ranks << " ranks, " << other << ": " << outcome.output);
  CHECK(outcome.is_over);
  CHECK(outcome.status == 0);
  const std::string call = other == "finalize" ? "acp_finalize" : "acp_sync";
  CHECK(outcome.output.find("acp_reset: rank 1 is in " + call) !=
        std::string::npos);
}

TEST_CASE("death: exit 0 without acp_finalize is a failure", "[death]") {
  const std::string moment = GENERATE("computing", "in_sync", "in_wait");
  const job::Outcome outcome = run_death(moment, "exit0", "auto");
  INFO(outcome.output);
  CHECK(outcome.status != 0);
}

TEST_CASE("death: the library answers until the process ends", "[death]") {
  const std::string net = GENERATE("auto", "udp");
  job::Job run({ACPRUN, "-np", "3", LATE_END}, {"ACP_NET=" + net});
  const job::Outcome outcome = run.wait(kPatience);
  INFO(outcome.output);
  CHECK(outcome.is_over);
  CHECK(outcome.status == 1);
  CHECK(outcome.output.find("was added to after main") != std::string::npos);
  CHECK(outcome.output.find("exited with status 0 without acp_finalize") !=
        std::string::npos);
}

TEST_CASE("death: acp_abort prints its text, the rank and the host",
          "[death]") {
  const job::Outcome outcome = run_death("in_wait", "abort", "auto");
  INFO(outcome.output);
  CHECK(outcome.output.find("the victim gives up") != std::string::npos);
}

TEST_CASE("death: a stopped rank is lost to udp, and the job ends", "[death]") {
  const Scratch scratch("stopped");
  const std::string marker = job::unique_marker();
  job::Job run(command("computing", "stop", scratch.path, marker),
               {"ACP_NET=udp", "ACP_UDP_SILENCE=1"});
  const job::Outcome outcome = run.wait(kPatience);
  INFO(outcome.output);
  CHECK(outcome.is_over);
  CHECK(outcome.status == 1);
  CHECK(outcome.output.find("rank 1 is lost") != std::string::npos);
  CHECK(outcome.output.find("ended the job") != std::string::npos);
  CHECK(job::all_gone(marker, kEndsWithin));
}

TEST_CASE("death: ranks with different modules do not start", "[death]") {
  const Scratch scratch("modules");
  job::Job run({ACPRUN, "-np", "3", VICTIM, "modules", "stay", scratch.path});
  const job::Outcome outcome = run.wait(kPatience);
  INFO(outcome.output);
  CHECK(outcome.is_over);
  CHECK(outcome.status == 1);
  CHECK(outcome.output.find("the modules of this rank and of rank") !=
        std::string::npos);
}

TEST_CASE("death: no barrier succeeds while the job is being ended",
          "[death]") {
  const std::string net = GENERATE("auto", "udp");
  const std::size_t ranks = GENERATE(2U, 3U, 4U);
  const Scratch scratch("after_end");
  job::Job run({ACPRUN, "-np", std::to_string(ranks), "--grace", "1", VICTIM,
                "after_end", "stay", scratch.path},
               {"ACP_NET=" + net});
  wait_for_lines(scratch.path, ranks);
  run.send(SIGTERM);
  const job::Outcome outcome = run.wait(kPatience);
  INFO(outcome.output);
  CHECK(outcome.is_over);
  CHECK(outcome.output.find("a barrier without") == std::string::npos);
  CHECK(outcome.output.find("no barrier") != std::string::npos);
}

TEST_CASE("death: SIGKILL to acprun leaves nothing behind", "[death]") {
  const std::string net = GENERATE("auto", "udp");
  const Scratch scratch("launcher");
  const std::string marker = job::unique_marker();
  const auto names = job::shared_memory_names();
  {
    job::Job run(command("in_wait", "stay", scratch.path, marker),
                 {"ACP_NET=" + net});
    wait_for_lines(scratch.path, 3);
    run.send(SIGKILL);
    const job::Outcome outcome = run.wait(kEndsWithin);
    CHECK(outcome.is_over);
    CHECK(outcome.status == 128 + SIGKILL);
  }
  CHECK(job::all_gone(marker, kEndsWithin));
  CHECK(job::no_new_shared_memory(names, kEndsWithin));
}

TEST_CASE("death: SIGTERM and SIGINT to acprun end the job", "[death]") {
  const int signal = GENERATE(SIGTERM, SIGINT);
  const Scratch scratch("signal");
  const std::string marker = job::unique_marker();
  job::Job run(command("in_wait", "stay", scratch.path, marker));
  wait_for_lines(scratch.path, 3);
  run.send(signal);
  const job::Outcome outcome = run.wait(kPatience);
  INFO(outcome.output);
  CHECK(outcome.is_over);
  CHECK(outcome.status == 128 + signal);
  CHECK(job::all_gone(marker, kEndsWithin));
}
