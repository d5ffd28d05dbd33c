// Jobs on several hosts from start to end: where ranks run, what they get, what
// they print, and the exit status.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/launcher/hosts.h"

using namespace running;
using namespace hosts;

namespace {

std::string command_line_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline",
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Open descriptors of acprun while a job of so many ranks runs on 8 hosts.
std::ptrdiff_t descriptors_with(int ranks) {
  const RemoteShell shell;
  Running job(
      shell.on("a,b,c,d,e,f,g,h", ranks) +
      std::vector<std::string>{PROBE, "hello", "init", "say:ready", "pause"});
  REQUIRE(job.wait_for("ready", ranks));
  const std::filesystem::directory_iterator all(
      "/proc/" + std::to_string(job.pid()) + "/fd");
  return std::distance(begin(all), end(all));
}

}  // namespace

TEST_CASE("launcher hosts: ranks run on the hosts that are named",
          "[launcher][hosts]") {
  const RemoteShell shell;
  const Outcome outcome = run(
      shell.on("a,b,localhost,c", 8) +
      std::vector<std::string>{
          "sh", "-c", "echo $ACP_RANK $ACP_LOCAL_RANK of $ACP_LOCAL_PROCS"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  for (const char* line : {"0 0 of 2", "1 1 of 2", "2 0 of 2", "3 1 of 2",
                           "4 0 of 2", "5 1 of 2", "6 0 of 2", "7 1 of 2"}) {
    CHECK(count_of(outcome.out, std::string(line) + "\n") == 1);
  }
  for (const char* where : {"rank 0 is pid ", "rank 7 is pid "})
    CHECK(contains(outcome.err, where));
  CHECK(count_of(outcome.err, " on a, ") == 2);
  CHECK(count_of(outcome.err, " on b, ") == 2);
  CHECK(count_of(outcome.err, " on c, ") == 2);
}

TEST_CASE("launcher hosts: a node file places each rank", "[launcher][hosts]") {
  const RemoteShell shell;
  const std::string file =
      shell.scratch().file("nodes", "b  # first\nlocalhost\na slots=2\nb:1\n");
  const Outcome outcome =
      run({"--acp-nodefile=" + file, "--rsh", shell.path(), "-v", "sh", "-c",
           "echo $ACP_RANK of $ACP_PROCS"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, " of 5\n") == 5);
  CHECK(count_of(outcome.err, " on a, ") == 2);
  CHECK(count_of(outcome.err, " on b, ") == 2);
}

// A keeper whose ranks end at once leaves an order of its daemon unread. The
// daemon must then read the keeper's last reports all the same. The job is
// repeated, because most keepers read the order in time.
TEST_CASE("launcher hosts: no report of a keeper that ends is lost",
          "[launcher][hosts]") {
  const RemoteShell shell;
  for (int job = 0; job < 20; ++job) {
    const Outcome outcome = run(
        {"-np", "4", "--host", "a:2,b:2", "--rsh", shell.path(), "-v", "true"});
    INFO("job " << job << ": " << outcome.err);
    CHECK(outcome.status == 0);
    CHECK(count_of(outcome.err, " on a, ") == 2);
    CHECK(count_of(outcome.err, " on b, ") == 2);
  }
}

TEST_CASE("launcher hosts: phases and cards go to every host",
          "[launcher][hosts]") {
  const RemoteShell shell;
  const std::string hosts = GENERATE("a,b", "localhost,a", "a,b,localhost,c");
  const Outcome outcome = run(
      shell.on(hosts, 8) +
      std::vector<std::string>{PROBE, "hello", "init", "cards", "collective",
                               "finalize", "finalized", "say:done"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, "cards of 8\n") == 8);
  CHECK(count_of(outcome.out, "done\n") == 8);
}

TEST_CASE("launcher hosts: daemons of daemons", "[launcher][hosts]") {
  const RemoteShell shell;
  const Outcome outcome = run(
      shell.on("a,b,c,d,localhost,e,f", 7) +
      std::vector<std::string>{"--fan-out", "2", PROBE, "hello", "init",
                               "cards", "finalize", "finalized", "say:done"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, "cards of 7\n") == 7);
  CHECK(count_of(outcome.out, "done\n") == 7);
}

TEST_CASE("launcher hosts: environment and directory are those of acprun",
          "[launcher][hosts]") {
  const RemoteShell shell;
  Setup setup;
  setup.directory = shell.scratch().path();
  setup.environment = {"ODD_VALUE=two words; 'quotes' $HOME"};
  const Outcome outcome =
      run(shell.on("a,b", 2) +
              std::vector<std::string>{"--env", "MORE=1", PROBE, "cwd",
                                       "env:ODD_VALUE", "env:MORE"},
          setup);
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  const std::string here =
      std::filesystem::canonical(setup.directory).string() + "\n";
  CHECK(count_of(outcome.out, here) == 2);
  CHECK(count_of(outcome.out, "ODD_VALUE=two words; 'quotes' $HOME\n") == 2);
  CHECK(count_of(outcome.out, "MORE=1\n") == 2);
}

// Every line has the number of its rank at two places, and ends with a full
// stop. A reader that is slow makes the daemons wait for credit.
TEST_CASE("launcher hosts: lines of all hosts arrive unbroken",
          "[launcher][hosts]") {
  const RemoteShell shell;
  Setup setup;
  setup.is_slow_reader = GENERATE(false, true);
  const int lines = setup.is_slow_reader ? 2000 : 20000;
  const Outcome outcome =
      run(shell.on("a,b,localhost,c", 4) +
              std::vector<std::string>{"--tag", PROBE, "hello", "init",
                                       "lines:" + std::to_string(lines),
                                       "warn:last", "finalize", "finalized"},
          setup);
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, "\n") == 4 * lines);
  CHECK(count_of(outcome.err, "] last\n") == 4);
  int broken = 0;
  for (std::size_t at = 0; at < outcome.out.size();) {
    const std::size_t end = outcome.out.find('\n', at);
    REQUIRE(end != std::string::npos);
    const std::string line = outcome.out.substr(at, end - at);
    const bool is_whole = line.size() > 20 && line[0] == '[' &&
                          line.substr(4, 5) == "rank " && line[1] == line[9] &&
                          line.back() == '.';
    broken += is_whole ? 0 : 1;
    at = end + 1;
  }
  CHECK(broken == 0);
}

TEST_CASE("launcher hosts: standard input reaches rank 0 byte for byte",
          "[launcher][hosts]") {
  const RemoteShell shell;
  const std::string hosts = GENERATE("a,b", "localhost,a");
  Setup setup;
  setup.input.reserve(10 << 20);
  for (std::uint32_t i = 0; setup.input.size() < (10 << 20); ++i) {
    setup.input += std::to_string(i * 2654435761U);
    setup.input += i % 7 == 0 ? '\n' : '\0';
  }
  setup.input += '\n';
  const Outcome outcome =
      run(shell.on(hosts, 2) + std::vector<std::string>{PROBE, "cat"}, setup);
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK((outcome.out == setup.input));
}

TEST_CASE("launcher hosts: a rank may leave its input unread",
          "[launcher][hosts]") {
  const RemoteShell shell;
  Setup setup;
  setup.input = std::string(4 << 20, 'x');
  const Outcome outcome =
      run(shell.on("a,b", 2) + std::vector<std::string>{PROBE, "say:enough"},
          setup);
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, "enough") == 2);
}

TEST_CASE("launcher hosts: a signal reaches every rank", "[launcher][hosts]") {
  const RemoteShell shell;
  const std::string usr1 = std::to_string(SIGUSR1);
  Running job(
      shell.on("a,localhost,b", 3) +
      std::vector<std::string>{PROBE, "block:" + usr1, "say:ready", "await"});
  REQUIRE(job.wait_for("ready", 3));
  job.send(SIGUSR1);
  const Outcome outcome = job.finish();
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, "got " + usr1) == 3);
}

TEST_CASE("launcher hosts: ranks that die of a signal passed on were asked to",
          "[launcher][hosts]") {
  const RemoteShell shell;
  Running job(
      shell.on("a,localhost,b", 3) +
      std::vector<std::string>{PROBE, "hello", "init", "say:ready", "pause"});
  REQUIRE(job.wait_for("ready", 3));
  job.send(SIGHUP);
  const Outcome outcome = job.finish();
  INFO(outcome.err);
  CHECK(outcome.status == 128 + SIGHUP);
  CHECK(contains(outcome.err, "acprun got signal 1 "));
  CHECK(job.is_all_gone());
}

TEST_CASE("launcher hosts: a reader that leaves ends the job",
          "[launcher][hosts]") {
  const RemoteShell shell;
  Running job(shell.on("a,b", 2) +
              std::vector<std::string>{PROBE, "hello", "init", "say:ready",
                                       "lines:1000000", "pause"});
  REQUIRE(job.wait_for("ready"));
  job.close_output();
  CHECK(job.finish().status == 128 + SIGPIPE);
  CHECK(job.is_all_gone());
}

TEST_CASE("launcher hosts: a program that is not executable",
          "[launcher][hosts]") {
  const RemoteShell shell;
  const std::string plain = shell.scratch().file("plain", "not a program\n");
  const Outcome outcome =
      run(shell.on("a,b", 2) + std::vector<std::string>{plain});
  INFO(outcome.err);
  CHECK(outcome.status == 126);
  CHECK(contains(outcome.err, "acprun: host "));
  CHECK(contains(outcome.err, plain));
}

TEST_CASE("launcher hosts: the exit status is that of one host",
          "[launcher][hosts]") {
  struct Row {
    std::vector<std::string> steps;
    int status;
    std::string text;
  };

  const RemoteShell shell;
  const std::vector<Row> rows = {
      {{"exit:0"}, 0, ""},
      {{"hello", "init", "only:1:exit:3", "pause"}, 3, "rank 1 on b"},
      {{"hello", "init", "only:1:raise:11", "pause"}, 139, "rank 1 on b"},
      {{"hello", "init", "only:1:abort:gone wrong", "pause"}, 1, "gone wrong"},
      {{"hello", "only:1:exit:0", "init"}, 1, "rank 1 on b"},
      {{"hello", "init", "only:1:exit:0", "finalize"},
       1,
       "exited with status 0 without acp_finalize"},
      {{"hello", "init", "only:1:raise:13", "pause"}, 141, "rank 1 on b"},
      {{"hello", "only:1:garbage", "pause"}, 125, "rank 1 on b"},
  };
  for (const Row& row : rows) {
    const Outcome outcome =
        run(shell.on("a,b", 2) + std::vector<std::string>{PROBE} + row.steps);
    INFO(row.steps.back() << "\n" << outcome.err);
    CHECK(outcome.status == row.status);
    CHECK(contains(outcome.err, row.text));
  }
}

TEST_CASE("launcher hosts: time limits hold on all hosts",
          "[launcher][hosts]") {
  const RemoteShell shell;
  const Outcome late =
      run(shell.on("a,b", 2) +
          std::vector<std::string>{"--timeout", "0.7", "--grace", "0.2", PROBE,
                                   "hello", "init", "deaf", "pause"});
  INFO(late.err);
  CHECK(late.status == 124);
  const Outcome missing =
      run(shell.on("a,b", 2) +
          std::vector<std::string>{"--init-timeout", "0.7", PROBE, "hello",
                                   "only:1:pause", "init"});
  INFO(missing.err);
  CHECK(missing.status == 124);
  CHECK(contains(missing.err, "rank 1"));
}

TEST_CASE("launcher hosts: the watchdog sees ranks of all hosts",
          "[launcher][hosts]") {
  const RemoteShell shell;
  const Outcome outcome =
      run(shell.on("localhost,a,b", 6) +
          std::vector<std::string>{"--watchdog", "1.5", PROBE, "hello", "init",
                                   "only:4:wait:4", "wait:2"});
  INFO(outcome.err);
  CHECK(outcome.status == 124);
  // One line for the ranks of all hosts that wait in one call.
  CHECK(count_of(outcome.err,
                 "acprun: ranks 0-3,5 were waiting in acp_sync\n") == 1);
  CHECK(count_of(outcome.err, "acprun: rank 4 was waiting in ") == 1);
}

TEST_CASE("launcher hosts: the watchdog names the host of a stopped rank",
          "[launcher][hosts]") {
  const RemoteShell shell;
  const Outcome outcome =
      run(shell.on("localhost,a", 4) +
          std::vector<std::string>{"--watchdog", "0.5", PROBE, "hello", "init",
                                   "only:3:raise:19", "wait:2"});
  INFO(outcome.err);
  CHECK(outcome.status == 124);
  CHECK(contains(outcome.err,
                 "with rank 3 stopped by a signal (state T) on a (pid "));
  CHECK(std::regex_search(outcome.err,
                          std::regex("kill -CONT [0-9]+ on a would have")));
}

TEST_CASE("launcher hosts: a limit of time is that of all hosts",
          "[launcher][hosts]") {
  const RemoteShell shell;
  const Outcome deadlock =
      run(shell.on("localhost,a", 2) +
          std::vector<std::string>{"--watchdog", "0.5", PROBE, "hello", "init",
                                   "wait:2"});
  INFO(deadlock.err);
  CHECK(contains(deadlock.err, "none got any further\n"));
  const Outcome late =
      run(shell.on("localhost,a", 2) +
          std::vector<std::string>{"--timeout", "0.5", PROBE, "pause"});
  INFO(late.err);
  CHECK(contains(late.err, "the job ran longer than --timeout=0.5\n"));
}

TEST_CASE("launcher hosts: bindings of all hosts are reported",
          "[launcher][hosts]") {
  const RemoteShell shell;
  const Outcome outcome =
      run(shell.on("localhost,a", 2) +
          std::vector<std::string>{"--report-bindings", "true"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(std::regex_search(outcome.err, std::regex("acprun: rank 0 on .*: ")));
  CHECK(count_of(outcome.err, "acprun: rank 1 on a: ") == 1);
}

TEST_CASE("launcher hosts: a host that refuses once is asked again",
          "[launcher][hosts]") {
  const RemoteShell shell;
  const Outcome outcome =
      run(shell.on("localhost,busy", 2) +
          std::vector<std::string>{PROBE, "hello", "init", "finalize",
                                   "finalized", "say:done"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, "done\n") == 2);
  CHECK(std::filesystem::exists(shell.path() + ".was_busy"));
}

TEST_CASE("launcher hosts: command lines have no secret and no environment",
          "[launcher][hosts]") {
  const RemoteShell shell;
  Setup setup;
  setup.environment = {"ODD_VALUE=for-the-ranks-alone"};
  Running job(shell.on("a,b,c,localhost,d,e", 6) +
                  std::vector<std::string>{"--fan-out", "2", PROBE, "hello",
                                           "init", "say:ready", "pause"},
              setup);
  REQUIRE(job.wait_for("ready", 6));
  // A key of 32 bytes as it is, in hexadecimal digits or in base64.
  const std::regex key("[^ -~\\x00]|[0-9a-fA-F]{64}|[A-Za-z0-9+/]{43}=",
                       std::regex::ECMAScript);
  REQUIRE(daemon_of(job, "a") > 0);
  REQUIRE(shell_of(job.pid(), "a") > 0);
  for (const pid_t pid : job.everybody()) {
    const std::string words = command_line_of(pid);
    INFO(words);
    CHECK_FALSE(contains(words, "for-the-ranks-alone"));
    CHECK_FALSE(std::regex_search(words, key));
  }
}

TEST_CASE("launcher hosts: acprun needs no descriptor for a rank elsewhere",
          "[launcher][hosts]") {
  CHECK(descriptors_with(8) == descriptors_with(48));
}

/// Ranks 0 and 1 run on one host and ranks 2 and 3 on the other. acprun is
/// stopped when rank 1 asks, so only its daemon can answer. acprun then passes
/// SIGCONT on. The ranks end after that. The leak check of a process that ends
/// stops its threads with SIGSTOP, and would wait for ever if SIGCONT cancelled
/// that.
TEST_CASE(
    "launcher hosts: a daemon has an address card that one of its ranks asked "
    "for",
    "[launcher][hosts]") {
  const RemoteShell shell;
  const Scratch scratch;
  const std::string mark = scratch.path() + "/fetched";
  const std::string asked = std::to_string(SIGUSR1);
  const std::string go_on = std::to_string(SIGCONT);
  Setup setup;
  setup.environment = {"ACP_ADDRESSES=fetch"};
  Running job(
      shell.on("a,b", 4) +
          std::vector<std::string>{
              PROBE, "block:" + asked, "block:" + go_on, "hello", "init",
              "only:0:fetch:2", "say:ready", "only:1:await", "only:1:fetch:2",
              "only:1:touch:" + mark, "await", "finalize", "finalized"},
      setup);
  REQUIRE(job.wait_for("ready", 4));
  const pid_t asker = job.rank(1);
  REQUIRE(asker > 0);
  job.send(SIGSTOP);
  REQUIRE(::kill(asker, SIGUSR1) == 0);
  CHECK(eventually([&] { return std::filesystem::exists(mark); }));
  job.send(SIGCONT);
  const Outcome outcome = job.finish();
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, "card of 2\n") == 2);
  CHECK(count_of(outcome.out, "no card of") == 0);
  CHECK(count_of(outcome.out, "got " + go_on + "\n") == 4);
}

namespace {

/// Runs the daemon, as the remote shell of RemoteShell does, when 8 of its kind
/// have been started. It writes how many had not come to their daemon then: one
/// line for each start, into the file of the lines.
constexpr std::string_view kCountingShell = R"sh(#!/bin/sh
dir=${0%/*}/starting
mkdir -p "$dir"
: >"$dir/in.$$"
: >"$dir/ever.$$"
until test "$(ls "$dir" | grep -c '^ever')" -ge 8; do sleep 0.01; done
ls "$dir" | grep -c '^in' >>"$dir.lines"
rm "$dir/in.$$"
shift
cd /
exec env -i LAUNCHER_TEST_MARK="$LAUNCHER_TEST_MARK" PATH=/usr/bin:/bin \
  sh -c "exec $*"
)sh";

}  // namespace

// The shell counts how many of it run at a time, and writes that down. Without
// a limit all 20 would start at once.
TEST_CASE("launcher hosts: 20 names of one machine start 8 daemons at once",
          "[launcher][hosts]") {
  constexpr int kNames = 20;
  const Scratch scratch;
  const std::string shell = scratch.file("rsh", kCountingShell);
  std::filesystem::permissions(shell, std::filesystem::perms::owner_all);
  std::string hosts;
  for (int i = 0; i < kNames; ++i) {
    hosts += (i == 0 ? "u" : ",u") + std::to_string(i) + "@203.0.113.7";
  }
  const Outcome outcome = run({"-np", std::to_string(kNames), "--host", hosts,
                               "--rsh", shell, "echo", "it ran"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, "it ran\n") == kNames);
  std::istringstream lines(scratch.read("starting.lines"));
  int starts = 0;
  int most = 0;
  for (int count = 0; lines >> count; ++starts) {
    most = std::max(most, count);
  }
  CHECK(starts == kNames);
  CHECK(most <= 8);
  CHECK(most > 1);
}

/// With a fan-out of 1 acprun starts the daemon of a, and this one the daemons
/// of b and c. Each host has a copy of its own.
TEST_CASE("launcher hosts: --preload brings the program and removes it",
          "[launcher][hosts]") {
  const std::string fan_out = GENERATE("64", "1");
  const RemoteShell shell;
  const Scratch remote;
  Setup setup;
  setup.environment = {"FAKE_HOST_TMPDIR=" + remote.path()};
  setup.holds_input = true;
  Running job(shell.on("a,b,c", 3) +
                  std::vector<std::string>{"--fan-out", fan_out, "--preload",
                                           PROBE, "hello", "init", "say:ready",
                                           "cat", "finalize", "finalized"},
              setup);
  REQUIRE(job.wait_for("ready", 3));
  CHECK((shell_of(daemon_of(job, "a"), "b") > 0) == (fan_out == "1"));
  const std::string folder = std::filesystem::canonical(remote.path());
  std::set<std::string> files;
  for (const int rank : {0, 1, 2}) {
    const std::string file = std::filesystem::read_symlink(
        "/proc/" + std::to_string(job.rank(rank)) + "/exe");
    CHECK(file.starts_with(folder));
    files.insert(file);
  }
  CHECK(files.size() == 3);
  job.close_input();
  const Outcome outcome = job.finish();
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(remote.is_empty());
}

// Each batch system gives two slots on one host and one on the other, in its
// own form.
TEST_CASE("launcher hosts: allocations of batch systems name the hosts",
          "[launcher][hosts]") {
  const RemoteShell shell;
  const std::string pbs = shell.scratch().file("pbs", "a\na\nb\n");
  const std::string sge =
      shell.scratch().file("sge", "a 2 all.q@a <NULL>\nb 1 all.q@b <NULL>\n");
  const std::vector<std::vector<std::string>> allocations = {
      {"SLURM_JOB_NODELIST=a,b", "SLURM_TASKS_PER_NODE=2,1"},
      {"PBS_NODEFILE=" + pbs},
      {"PE_HOSTFILE=" + sge}};
  for (const std::vector<std::string>& variables : allocations) {
    Setup setup;
    setup.environment = variables;
    const Outcome outcome =
        run({"--rsh", shell.path(), "-v", "sh", "-c", "echo $ACP_RANK"}, setup);
    INFO(variables.front() << "\n" << outcome.err);
    CHECK(outcome.status == 0);
    CHECK(count_of(outcome.out, "\n") == 3);
    CHECK(count_of(outcome.err, " on a, ") == 2);
    CHECK(count_of(outcome.err, " on b, ") == 1);
  }
}
