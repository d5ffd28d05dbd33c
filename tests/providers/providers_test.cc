// Jobs under launchers other than acprun, from start to end. Ranks meet, a
// death ends the job and leaves nothing, and so does the death of the launcher.
// The variable PROVIDER_UNDER_TEST chooses the launcher; the build gives the
// paths of the programs. Each launcher has to pass the same cases.
#include <poll.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "support/job.h"

using namespace std::chrono_literals;

namespace {

/// A rank whose launcher dies, or whose peer dies before acp_init, ends within
/// this time.
constexpr auto kEndsWithin = 10s;
/// After the death of a rank in a job that has started, all other ranks end
/// within this time (docs/clusters.md).
constexpr auto kRanksEndAfterDeath = 2s;
/// The launcher ends later than its ranks: Open MPI's mpirun 3.5 s after the
/// death, whatever the program.
constexpr auto kEndsAfterDeath = 5s;
constexpr auto kPatience = 60s;

struct Launcher {
  std::vector<std::string> words;
  const char* count;  ///< Option before the number of ranks.
  const char* provider;
};

/// mpiexec starts its own processes on other hosts by a remote shell, which
/// runs them here.
Launcher launcher() {
  const char* name = std::getenv("PROVIDER_UNDER_TEST");
  const std::map<std::string, Launcher, std::less<>> all = {
      {"mpich", {{"mpiexec.hydra"}, "-n", "pmi1"}},
      {"mpich_hosts",
       {{"mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", REMOTE_SHELL,
         "-hosts", "a,b", "-ppn", "2"},
        "-n",
        "pmi1"}},
      {"openmpi", {{"mpirun.openmpi", "--oversubscribe"}, "-np", "pmix"}},
      {"slurm_pmix",
       {{"srun", "--quiet", "--mpi=pmix", "-K", "-N1", "--overcommit"},
        "-n",
        "pmix"}},
      {"slurm_pmix_hosts",
       {{"srun", "--quiet", "--mpi=pmix", "-K", "-N2", "--overcommit"},
        "-n",
        "pmix"}},
      {"slurm_pmi2",
       {{"srun", "--quiet", "--mpi=pmi2", "-K", "-N1", "--overcommit"},
        "-n",
        "pmi2"}},
      {"slurm_pmi2_hosts",
       {{"srun", "--quiet", "--mpi=pmi2", "-K", "-N2", "--overcommit"},
        "-n",
        "pmi2"}},
  };
  return all.at(name == nullptr ? "mpich" : name);
}

std::vector<std::string> command(int ranks, std::vector<std::string> program) {
  const Launcher chosen = launcher();
  std::vector<std::string> words = chosen.words;
  words.emplace_back(chosen.count);
  words.push_back(std::to_string(ranks));
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

/// A launcher on two hosts needs two ranks.
bool has_hosts() {
  const char* name = std::getenv("PROVIDER_UNDER_TEST");
  return name != nullptr && std::string_view(name).ends_with("_hosts");
}

/// with-slurm has two nodes, each with a network and a name of its own.
bool has_nodes() {
  return has_hosts() && std::string_view(std::getenv("PROVIDER_UNDER_TEST"))
                            .starts_with("slurm");
}

struct Scratch {
  Scratch() : path(job::scratch_file("provider")) {}

  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  ~Scratch() {
    std::filesystem::remove_all(path);
    std::filesystem::remove(path + ".elected");
  }

  std::string path;
};

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos;
       at += part.size()) {
    ++count;
  }
  return count;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  // A process that ends meanwhile makes read() fail; getline() survives it.
  std::string text;
  std::getline(file, text, '\x01');
  return text;
}

/// The processes whose numbers the ranks have written, one a line.
std::vector<pid_t> ranks_in(const std::string& path) {
  std::istringstream text(text_of(path));
  std::vector<pid_t> ranks;
  for (pid_t pid = 0; text >> pid;) {
    ranks.push_back(pid);
  }
  return ranks;
}

std::vector<pid_t> wait_for_ranks(const std::string& path, std::size_t count) {
  const auto limit = job::Clock::now() + kPatience;
  while (count_of(text_of(path), "\n") < count && job::Clock::now() < limit) {
    std::this_thread::yield();
  }
  return ranks_in(path);
}

/// The fourth word of /proc/PID/stat, behind the name in parentheses.
pid_t parent_of(pid_t pid) {
  const std::string stat = text_of("/proc/" + std::to_string(pid) + "/stat");
  std::istringstream rest(stat.substr(stat.rfind(')') + 1));
  char state = 0;
  pid_t parent = 0;
  rest >> state >> parent;
  return parent;
}

/// Whether these processes have ended. Looks again until `limit` is over.
bool are_gone(const std::vector<pid_t>& processes,
              std::chrono::milliseconds limit) {
  const auto end = job::Clock::now() + limit;
  for (const pid_t pid : processes) {
    // A process that its parent has not collected has no command line.
    while (!text_of("/proc/" + std::to_string(pid) + "/cmdline").empty()) {
      if (job::Clock::now() > end) return false;
      std::this_thread::yield();
    }
  }
  return true;
}

/// The ranks of a victim's job: a launcher has the marker in its command line
/// as well, but is another program.
std::vector<pid_t> ranks_with(const std::string& marker) {
  std::vector<pid_t> ranks = job::processes_with(marker);
  std::erase_if(ranks, [](pid_t pid) {
    const std::string words =
        text_of("/proc/" + std::to_string(pid) + "/cmdline");
    return words.substr(0, words.find('\0')) != VICTIM;
  });
  return ranks;
}

/// Waits until no rank is left, and returns when that was. A job whose ranks
/// outlive kPatience has no such time, and gets the largest one.
job::Clock::time_point end_of_ranks(const std::string& marker) {
  const auto limit = job::Clock::now() + kPatience;
  for (;;) {
    const std::vector<pid_t> ranks = ranks_with(marker);
    if (ranks.empty()) return job::Clock::now();
    for (const pid_t rank : ranks) {
      const int process = static_cast<int>(syscall(SYS_pidfd_open, rank, 0));
      if (process < 0) continue;  // it has ended meanwhile
      pollfd ends{process, POLLIN, 0};
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          limit - job::Clock::now());
      (void)::poll(&ends, 1, static_cast<int>(std::max(left, 0ms).count()));
      close(process);
    }
    if (job::Clock::now() > limit) return job::Clock::time_point::max();
  }
}

/// The death of the victim, which writes it to its file.
struct Death {
  long long rank = -1;
  long long process = -1;
  job::Clock::time_point time;
};

std::optional<Death> death_in(const std::string& path) {
  std::istringstream text(text_of(path));
  Death death;
  long long nanoseconds = 0;
  if (!(text >> death.rank >> death.process >> nanoseconds)) {
    return std::nullopt;
  }
  death.time = job::Clock::time_point(std::chrono::nanoseconds(nanoseconds));
  return death;
}

long long ms_between(job::Clock::time_point begin, job::Clock::time_point end) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(end - begin)
      .count();
}

/// Whether some line has all these parts.
bool has_line_with(const std::string& output,
                   const std::vector<std::string>& parts) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
          return line.find(part) != std::string::npos;
        })) {
      return true;
    }
  }
  return false;
}

/// The name of a rank's host in lines of ACP. The names of with-slurm's nodes
/// differ in their last character.
std::string host_in_lines() {
  if (launcher().words.front() == "srun") return "node";
  utsname names{};
  uname(&names);
  return names.nodename;
}

/// Whether a line of a rank names the host and the rank that has died there.
/// The rank that writes it is on the same host.
bool names_the_dead(const std::string& output, const Death& death) {
  return has_line_with(
      output,
      {"acp: rank ", " on " + host_in_lines(), ": error: ",
       "rank " + std::to_string(death.rank) + " (pid " +
           std::to_string(death.process) + ") of this host has ended without"});
}

/// Hydra sends SIGKILL to all ranks as soon as it has seen the death, so a rank
/// may have no time to write. Then a rank of the other host names the host, or
/// Hydra itself does: its report has a process that was killed, and its host.
bool names_the_host(const std::string& output) {
  const std::string running = " RUNNING AT ";
  return has_line_with(output, {"acp: rank ", ": error: ", "the host of rank ",
                                " at 127.0.0.1 has lost"}) ||
         has_line_with(output, {"PID ", running + host_in_lines()}) ||
         (has_hosts() && (has_line_with(output, {"PID ", running + "a"}) ||
                          has_line_with(output, {"PID ", running + "b"})));
}

/// PMIx 4.2 keeps a lock when a rank dies while it connects to mpirun. All
/// ranks end then, but mpirun may not (docs/clusters.md).
bool has_locked_mpirun(const job::Outcome& outcome) {
  return !outcome.is_over &&
         count_of(outcome.output, "PMIX ERROR: UNREACHABLE in file") != 0 &&
         count_of(outcome.output, "ptl_base_connection_hdlr.c") != 0;
}

/// Whether a rank may die while it connects to mpirun.
enum class DeathTime : std::uint8_t { kLater, kConnecting };

/// Runs to the end; nothing of the job is left then.
job::Outcome run(const std::vector<std::string>& words,
                 const std::string& marker,
                 const std::vector<std::string>& environment = {},
                 DeathTime death = DeathTime::kLater) {
  const auto names = job::shared_memory_names();
  job::Job running(words, environment);
  job::Outcome outcome = running.wait(kPatience, [&] {
    // No rank may live on. mpirun has the marker in its command line, too.
    CHECK(job::processes_with(marker) == std::vector{running.pid()});
  });
  INFO(outcome.output);
  CHECK((outcome.is_over ||
         (death == DeathTime::kConnecting && has_locked_mpirun(outcome))));
  CHECK(job::all_gone(marker, kEndsWithin));
  CHECK(job::no_new_shared_memory(names, kEndsWithin));
  return outcome;
}

}  // namespace

TEST_CASE("providers: ranks meet", "[providers]") {
  for (const int ranks : {1, 2, 4, 16}) {
    if (has_hosts() && ranks == 1) continue;
    const std::string marker = job::unique_marker();
    const job::Outcome outcome =
        run(command(ranks, {HELLO, marker}), marker, {"ACP_LOG=info"});
    INFO(ranks << " ranks\n" << outcome.output);
    CHECK(outcome.status == 0);
    CHECK(count_of(outcome.output, " got: hello from rank ") ==
          static_cast<std::size_t>(ranks));
    CHECK(count_of(outcome.output, ", " + std::to_string(ranks) + " ranks") ==
          static_cast<std::size_t>(ranks));
    if (has_nodes()) {
      // Each rank says in the log on which host it is.
      CHECK(count_of(outcome.output, " on node1: ") > 0);
      CHECK(count_of(outcome.output, " on node2: ") > 0);
    }
  }
}

TEST_CASE("providers: programs of every layer run", "[providers]") {
  struct Row {
    const char* program;
    int ranks;
  };

  for (const Row& row :
       {Row{INFRASTRUCTURE, 4}, Row{CHANNEL, 2}, Row{MAP, 4}, Row{QMP, 4}}) {
    const job::Outcome outcome =
        run(command(row.ranks, {row.program}), job::unique_marker(),
            {"ACP_TEST_SCALE=0.01"});
    INFO(row.program << "\n" << outcome.output);
    CHECK(outcome.status == 0);
  }
}

TEST_CASE("providers: the status of the ranks is the launcher's",
          "[providers]") {
  const std::string marker = job::unique_marker();
  std::vector<std::string> words =
      command(2, {"sh", "-c", "\"$0\" \"$1\" && exit 3", HELLO, marker});
  // With -K srun ends the second rank by SIGTERM as soon as the first has ended
  // with 3. When the second rank is late, the status of srun then is 143.
  std::erase(words, "-K");
  const job::Outcome outcome = run(words, marker);
  INFO(outcome.output);
  CHECK(outcome.status == 3);
}

/// A rank may fetch an address card while it waits for all others.
TEST_CASE("providers: values come while a fence is under way", "[providers]") {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path);
  const job::Outcome outcome =
      run(command(4, {BESIDE_FENCE, launcher().provider, scratch.path}),
          scratch.path);
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.output, "all values came") == 4);
}

TEST_CASE("providers: a rank that dies ends the job", "[providers]") {
  struct Row {
    const char* moment;
    const char* how;
  };

  // Hydra 4.0 may leave a rank that has not come to acp_init when its peer dies
  // there, so all peers come (before_others).
  for (const Row& row :
       {Row{"in_sync", "kill"}, Row{"computing", "segv"},
        Row{"before_others", "exit"}, Row{"in_wait", "exit0"},
        Row{"in_reset", "kill"}, Row{"in_finalize", "exit0"},
        Row{"in_fini", "kill"}, Row{"in_fini", "exit0"}, Row{"in_copy", "exit"},
        Row{"in_sync", "abort"}, Row{"before_init", "exit"}}) {
    const Scratch scratch;
    const std::string marker = job::unique_marker();
    // The limit ends ranks whose peer died before acp_init. On a busy machine a
    // launcher takes seconds from its first rank to its last.
    const bool is_early = std::string_view(row.moment).starts_with("before");
    auto ranks_end = std::async(std::launch::async, [&] {
      // The victim writes the file when it dies.
      (void)wait_for_ranks(scratch.path, 1);
      return end_of_ranks(marker);
    });
    const job::Outcome outcome =
        run(command(3, {VICTIM, row.moment, row.how, scratch.path, marker}),
            marker, {is_early ? "ACP_INIT_TIMEOUT=5" : "ACP_INIT_TIMEOUT=60"},
            is_early ? DeathTime::kConnecting : DeathTime::kLater);
    INFO(row.moment << " " << row.how << "\n" << outcome.output);
    const auto ranks_ended = ranks_end.get();
    const auto death = death_in(scratch.path);
    REQUIRE(death);
    std::printf(
        "%s %s: the ranks ended after %lld ms, the launcher after %lld ms\n",
        row.moment, row.how, ms_between(death->time, ranks_ended),
        ms_between(death->time, outcome.ended));
    CHECK(ranks_ended - death->time <
          (is_early ? kEndsWithin : kRanksEndAfterDeath));
    CHECK((outcome.ended - death->time <
               (is_early ? kEndsWithin : kEndsAfterDeath) ||
           (is_early && has_locked_mpirun(outcome))));
    const bool is_hydra = std::string_view(launcher().provider) == "pmi1";
    if (std::string_view(row.how) == "abort") {
      CHECK(
          has_line_with(outcome.output, {"acp: rank 1 on " + host_in_lines(),
                                         ": acp_abort: the victim gives up"}));
    } else if (!is_early && !is_hydra) {
      CHECK(names_the_dead(outcome.output, *death));
    } else if (!is_early && !std::string_view(row.how).starts_with("exit")) {
      // After an exit Hydra may write nothing.
      CHECK((names_the_dead(outcome.output, *death) ||
             names_the_host(outcome.output)));
    }
    // Hydra ends the job, but its own status can be 0 as the rank's is.
    if (std::string_view(row.how) != "exit0") {
      CHECK(outcome.status != 0);
    }
  }
}

/// Ranks that hear of the end and return 0 must not decide the job's status.
TEST_CASE("providers: acp_abort ends the job with an error, whatever others do",
          "[providers]") {
  for (int i = 0; i < 5; ++i) {
    const Scratch scratch;
    const std::string marker = job::unique_marker();
    const job::Outcome outcome = run(
        command(3, {VICTIM, "others_return_0", "abort", scratch.path, marker}),
        marker);
    INFO(outcome.output);
    // A rank that is not killed at once says why its acp_finalize has failed.
    CHECK(count_of(outcome.output, "acp_abort: the victim gives up") ==
          1 + count_of(outcome.output, "the job ends: rank 1 on "));
    if (std::string_view(launcher().provider) == "pmi1") {
      CHECK(outcome.status == 1);
    } else {
      CHECK(outcome.status != 0);
    }
  }
}

/// Only the ranks: srun waits for its node when slurmstepd is killed.
TEST_CASE("providers: a launcher's process that dies ends its ranks",
          "[providers]") {
  const Scratch scratch;
  const std::string marker = job::unique_marker();
  const auto names = job::shared_memory_names();
  {
    const job::Job running(
        command(3, {VICTIM, "in_wait", "stay", scratch.path, marker}));
    const std::vector<pid_t> ranks = wait_for_ranks(scratch.path, 3);
    REQUIRE(ranks.size() == 3);
    const pid_t parent = parent_of(ranks.front());
    REQUIRE(parent > 1);
    std::vector<pid_t> its_ranks;
    for (const pid_t rank : ranks) {
      if (parent_of(rank) == parent) its_ranks.push_back(rank);
    }
    REQUIRE(::kill(parent, SIGKILL) == 0);
    CHECK(are_gone(its_ranks, kEndsWithin));
  }
  CHECK(job::all_gone(marker, kEndsWithin));
  CHECK(job::no_new_shared_memory(names, kEndsWithin));
}

TEST_CASE("providers: the launcher's death ends all ranks", "[providers]") {
  const Scratch scratch;
  const std::string marker = job::unique_marker();
  const auto names = job::shared_memory_names();
  job::Job running(
      command(3, {VICTIM, "in_wait", "stay", scratch.path, marker}));
  REQUIRE(wait_for_ranks(scratch.path, 3).size() == 3);
  running.send(SIGKILL);
  CHECK(job::all_gone(marker, kEndsWithin));
  CHECK(job::no_new_shared_memory(names, kEndsWithin));
}

/// Each rank that meets another call either fails and leaves in order, or the
/// job ends, because a rank waits for the launcher in acp_reset.
TEST_CASE("providers: ranks of two hosts in unlike calls end, and name one",
          "[providers]") {
  if (!has_hosts()) return;

  struct Row {
    std::vector<std::string> words;
    int ranks;
    const char* name;  ///< A part of some line.
  };

  for (const Row& row :
       {Row{{"unlike", "finalize:sync"}, 4, "rank 1 is in acp_finalize after"},
        Row{{"unlike", "reset:finalize"}, 2, "acp_reset"},
        Row{{"unlike", "reset:sync"}, 4, "acp_reset"},
        Row{{"reset_beside", "sync_on"}, 2, "acp_reset"}}) {
    std::vector<std::string> words = command(row.ranks, {VICTIM});
    words.insert(words.end(), row.words.begin(), row.words.end());
    const std::string marker = job::unique_marker();
    words.insert(words.end(), {"-", marker});
    const job::Outcome outcome = run(words, marker);
    INFO(row.words[0] << " " << row.words[1] << " with " << row.ranks
                      << " ranks\n"
                      << outcome.output);
    CHECK(count_of(outcome.output, row.name) > 0);
  }
}

// The leader of each host makes the host's memory, which is a file in memory.
TEST_CASE("providers: a limit of file sizes is named", "[providers]") {
  const std::string marker = job::unique_marker();
  const auto begin = job::Clock::now();
  const job::Outcome outcome = run(
      command(2, {"/bin/sh", "-c", "ulimit -f 1000; exec " HELLO " " + marker}),
      marker);
  INFO(outcome.output);
  CHECK(outcome.status != 0);
  CHECK(count_of(outcome.output, "ulimit -f unlimited") > 0);
  CHECK(outcome.ended - begin < kEndsWithin);
}

TEST_CASE("providers: acp_init does not wait for ever", "[providers]") {
  const Scratch scratch;
  const std::string marker = job::unique_marker();
  const auto begin = job::Clock::now();
  const job::Outcome outcome =
      run(command(3, {VICTIM, "before_init", "stop", scratch.path, marker}),
          marker, {"ACP_INIT_TIMEOUT=1"});
  INFO(outcome.output);
  CHECK(outcome.status != 0);
  CHECK(count_of(outcome.output, "ACP_INIT_TIMEOUT") > 0);
  CHECK(outcome.ended - begin < kEndsWithin);
}
