// Which cores ranks get, and that two jobs never have the same. Other jobs of
// the machine may hold cores for a moment, so each bound job is tried again
// until it is bound. Needs two cores.
#include "launcher/binding.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/host_facts.h"
#include "launcher/core_claims.h"
#include "tests/launcher/hosts.h"
#include "tests/launcher/running.h"

using namespace hosts;
using namespace running;
using namespace acp::launcher;

namespace {

using Words = std::vector<std::string>;

/// Returns whether a job can claim processors here, and skips the test where
/// none can.
bool has_claims() {
  const auto cores = cores_of(acp::allowed_cpus());
  const std::string obstacle =
      CoreClaims().take(cores, cores.size() + 1).obstacle;
  if (obstacle.empty()) return true;
  std::printf("skipped: processors cannot be claimed: %s\n", obstacle.c_str());
  return false;
}

bool has_two_cores() {
  if (cores_of(acp::allowed_cpus()).size() < 2 || acp::allowed_cores() < 2) {
    std::printf("skipped: this machine has one core\n");
    return false;
  }
  return has_claims();
}

/// The words of each line that starts with `start`.
std::vector<std::string> lines_of(const std::string& text,
                                  const std::string& start) {
  std::vector<std::string> found;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(start)) found.push_back(line);
  }
  return found;
}

/// Runs it until its ranks are bound.
Outcome run_bound(const Words& words) {
  Outcome outcome;
  CHECK(eventually([&] {
    outcome = run(words);
    return !contains(outcome.err, "unbound");
  }));
  return outcome;
}

std::size_t core_count() {
  return cores_of(acp::allowed_cpus()).size();
}

/// How many cores no job has claimed at this moment.
std::size_t free_cores() {
  const auto cores = cores_of(acp::allowed_cpus());
  return CoreClaims().take(cores, cores.size() + 1).sets.size();
}

/// Claims all cores but `left`, as a job would.
CoreClaims claim_all_but(std::size_t left) {
  CoreClaims claims;
  const auto cores = cores_of(acp::allowed_cpus());
  CHECK(eventually([&] {
    return claims.take(cores, cores.size() - left).sets.size() ==
           cores.size() - left;
  }));
  return claims;
}

/// Returns the line that the probe prints for these processors.
std::string line_of(const Processors& processors) {
  std::string line = "cpus";
  for (const unsigned cpu : processors) {
    line += " " + std::to_string(cpu);
  }
  return line;
}

std::string all_cpus() {
  std::string line = "cpus";
  const acp::CpuMask cpus = acp::allowed_cpus();
  for (unsigned cpu = 0; cpu < acp::CpuMask::kMaxCpus; ++cpu) {
    if (cpus.has(cpu)) line += " " + std::to_string(cpu);
  }
  return line;
}

}  // namespace

TEST_CASE("launcher binding: a core is claimed once", "[launcher][binding]") {
  if (!has_claims()) return;
  const auto cores = cores_of(acp::allowed_cpus());
  REQUIRE_FALSE(cores.empty());
  const std::vector<Processors> first = {cores[0]};
  CoreClaims other;
  {
    CoreClaims mine;
    REQUIRE(eventually([&] { return mine.take(first, 1).sets == first; }));
    const Taken refused = other.take(first, 1);
    CHECK(refused.sets.empty());
    CHECK(refused.obstacle.empty());  // A job has it.
  }
  CHECK(eventually([&] { return other.take(first, 1).sets == first; }));
}

TEST_CASE("launcher binding: what no job can claim is an obstacle",
          "[launcher][binding]") {
  const Taken taken =
      CoreClaims("/proc/self/nothing").take({{0}, {1, 2}, {3}}, 2);
  CHECK(taken.sets.empty());
  CHECK(taken.obstacle ==
        "open(/proc/self/nothing/cpu0): "
        "No such file or directory");
}

TEST_CASE("launcher binding: every processor is in one core",
          "[launcher][binding]") {
  const acp::CpuMask allowed = acp::allowed_cpus();
  acp::CpuMask seen;
  for (const Processors& core : cores_of(allowed)) {
    for (const unsigned cpu : core) {
      CHECK_FALSE(seen.has(cpu));
      seen.set(cpu);
    }
  }
  CHECK(seen == allowed);
  const auto threads = hardware_threads_of(allowed);
  const auto cores = cores_of(allowed);
  REQUIRE(threads.size() >= cores.size());
  for (std::size_t i = 0; i < cores.size(); ++i) {
    CHECK(threads[i] == Processors{cores[i][0]});
  }
}

TEST_CASE("launcher binding: each rank has a core of its own",
          "[launcher][binding]") {
  if (!has_two_cores()) return;
  const std::string how = GENERATE("auto", "core", "hwthread");
  const Outcome outcome = run_bound(
      {"-np", "2", "--bind", how, "--report-bindings", PROBE, "cpus"});
  INFO(how << outcome.out << outcome.err);
  const auto lines = lines_of(outcome.out, "cpus");
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] != lines[1]);
  CHECK(lines[0] != all_cpus());
  CHECK(contains(outcome.err, "rank 1 on "));
}

/// Both hosts are this machine, so they share its claims. With two cores each
/// host has one rank, and with four or more each has two. The ranks wait for
/// each other: a rank that ended first would give its core back to the other
/// host.
TEST_CASE("launcher binding: each rank of each host has a core of its own",
          "[launcher][binding][hosts]") {
  if (!has_two_cores()) return;
  const std::size_t ranks = core_count() < 4 ? 1 : 2;  // On each host.
  const std::string slots = ":" + std::to_string(ranks);
  const RemoteShell shell;
  const Outcome outcome = run_bound(
      {"-np", std::to_string(2 * ranks), "--host", "a" + slots + ",b" + slots,
       "--rsh", shell.path(), "--bind", "core", "--report-bindings", PROBE,
       "hello", "init", "cpus", "finalize", "finalized"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  std::set<std::string> cores;  // Lines of the probe.
  for (const Processors& core : cores_of(acp::allowed_cpus())) {
    cores.insert(line_of(core));
  }
  const auto lines = lines_of(outcome.out, "cpus");
  const std::set<std::string> taken(lines.begin(), lines.end());
  CHECK(lines.size() == 2 * ranks);
  CHECK(taken.size() == 2 * ranks);
  CHECK(std::ranges::includes(cores, taken));
  std::set<std::string> reported;
  for (std::size_t rank = 0; rank < 2 * ranks; ++rank) {
    const auto report =
        lines_of(outcome.err, "acprun: rank " + std::to_string(rank) + " on " +
                                  (rank < ranks ? "a" : "b") + ": core (cpus ");
    REQUIRE(report.size() == 1);
    std::string cpus = report[0].substr(report[0].find("cpus"));
    cpus.pop_back();  // The bracket.
    std::ranges::replace(cpus, ',', ' ');
    reported.insert(cpus);
  }
  CHECK(reported == taken);
}

TEST_CASE("launcher binding: a rank without a free core leaves all unbound",
          "[launcher][binding]") {
  if (!has_two_cores()) return;
  const std::string how = GENERATE("auto", "core");
  const CoreClaims claims = claim_all_but(1);
  const Outcome outcome =
      run({"-np", "2", "--bind", how, "--report-bindings", PROBE, "cpus"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, all_cpus() + "\n") == 2);
  CHECK(contains(outcome.err, "unbound: 2 ranks; other jobs leave "));
  // Asked for, a line says so in any case; by default nothing is said.
  CHECK(contains(run({"-np", "2", "--bind", how, PROBE, "cpus"}).err,
                 "unbound") == (how == "core"));
}

TEST_CASE("launcher binding: a job has its cores until it ends, or is killed",
          "[launcher][binding]") {
  if (!has_two_cores()) return;
  const int signal = GENERATE(SIGTERM, SIGKILL);
  std::unique_ptr<Running> job;
  CHECK(eventually([&] {
    job = std::make_unique<Running>(Words{"-np", "2", PROBE, "cpus", "pause"});
    REQUIRE(job->wait_for("cpus", 2));
    return free_cores() + 2 <= core_count();
  }));
  job->send(signal);
  CHECK(job->finish().status == 128 + signal);
  CHECK(eventually([&] { return free_cores() == core_count(); }));
}

TEST_CASE("launcher binding: by default not where it would do harm",
          "[launcher][binding]") {
  const Words words = GENERATE(
      Words{"-np", "1"}, Words{"-np", "2", "--bind", "none"},
      Words{"-np", "2", "--env", "OMP_NUM_THREADS=2"}, Words{"-np", "600"});
  Words all = words;
  all.insert(all.end(), {"--dry-run", PROBE});
  const Outcome outcome = run(all);
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, ", unbound, ") == std::stoi(words[1]));
}

TEST_CASE("launcher binding: variables that ask for threads",
          "[launcher][binding]") {
  const auto asks = [](const std::string& entry) {
    return asks_for_threads(Words{"A=1", entry}) == entry;
  };
  CHECK(asks("OMP_NUM_THREADS=2"));
  CHECK(asks("OMP_NUM_THREADS=1,16"));
  CHECK(asks("OPENBLAS_NUM_THREADS=4"));
  for (const char* entry :
       {"OMP_NUM_THREADS=1", "OMP_NUM_THREADS=", "OMP_NUM_THREADS=x",
        "OMP_NUM_THREADS=1,1", "MY_NUM_THREADS", "THREADS=4"}) {
    INFO(entry);
    CHECK_FALSE(asks(entry));
  }
}

TEST_CASE("launcher binding: the library's thread is not bound with its rank",
          "[launcher][binding]") {
  if (!has_two_cores()) return;
  const auto cores = cores_of(acp::allowed_cpus());
  const auto threads = hardware_threads_of(acp::allowed_cpus()).size();
  const auto line = [](std::size_t mine, std::size_t library) {
    return "mine " + std::to_string(mine) + " library " +
           std::to_string(library) + "\n";
  };
  Outcome outcome;
  CHECK(eventually([&] {
    outcome = run({"-np", "2", BOUND});
    return count_of(outcome.out, line(cores[0].size(), threads)) == 2;
  }));
  INFO(outcome.out << outcome.err);
  // A program that has bound itself keeps its thread with it.
  CHECK(count_of(run({"-np", "2", "--bind", "none", BOUND, "narrow"}).out,
                 line(1, 1)) == 2);
}
