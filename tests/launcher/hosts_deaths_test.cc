// Deaths and failures in jobs on several hosts. The reason names the host, and
// nothing is left of the job.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "launcher/descendants.h"
#include "launcher/host_message.h"
#include "tests/launcher/hosts.h"

using namespace running;
using namespace hosts;

namespace {

using Words = std::vector<std::string>;

std::string moment_of_probe() {
  return GENERATE(as<std::string>{}, "before hello", "after hello",
                  "after init", "in acp_reset", "in acp_sync",
                  "after finalize");
}

/// The steps of a probe until it says "ready", and what it does from then on.
Words probe_at(const std::string& moment) {
  Words stays = {"orphan", "say:ready", "pause"};
  if (moment == "before hello") return stays;
  if (moment == "after hello") return Words{"hello"} + stays;
  if (moment == "after init") return Words{"hello", "init"} + stays;
  if (moment == "in acp_reset") {
    // Ranks 1 and 2 wait for rank 0, which is never killed alone.
    return {"hello",     "init",         "orphan",
            "say:ready", "only:0:pause", "collective"};
  }
  // WaitKind 2 is acp_sync; the step says "ready" by itself.
  if (moment == "in acp_sync") return {"hello", "init", "orphan", "wait:2"};
  return Words{"hello", "init", "finalize"} + stays;
}

Words job_at(const RemoteShell& shell, const std::string& moment) {
  return shell.on("localhost,a,b", 3) + Words{PROBE} + probe_at(moment);
}

/// acprun starts the daemons of a and d, and that of a starts those of b and c.
Words job_on_levels(const RemoteShell& shell) {
  return shell.on("a,b,c,d,localhost,e,f", 7) +
         Words{"--fan-out", "2",      PROBE,       "hello",
               "init",      "orphan", "say:ready", "pause"};
}

/// Kills a process and returns how acprun ended.
Outcome after_death(Running& job, pid_t victim) {
  REQUIRE(victim > 0);
  REQUIRE(::kill(victim, SIGKILL) == 0);
  CHECK(job.is_all_gone());
  return job.finish();
}

}  // namespace

TEST_CASE("launcher hosts: a killed rank ends the job on all hosts",
          "[launcher][hosts]") {
  const std::string moment = moment_of_probe();
  INFO(moment);
  const RemoteShell shell;
  Running job(job_at(shell, moment));
  REQUIRE(job.wait_for("ready", 3));
  const Outcome outcome = after_death(job, job.rank(2));
  INFO(outcome.err);
  CHECK(outcome.status == 128 + SIGKILL);
  CHECK(contains(outcome.err, "rank 2 on b"));
  CHECK(contains(outcome.err, "signal 9"));
  if (moment == "in acp_sync") {
    CHECK(contains(outcome.err, "ranks 0-1 were waiting in acp_sync"));
  }
}

TEST_CASE("launcher hosts: a killed daemon ends the job", "[launcher][hosts]") {
  const std::string moment = moment_of_probe();
  INFO(moment);
  const RemoteShell shell;
  Running job(job_at(shell, moment));
  REQUIRE(job.wait_for("ready", 3));
  const Outcome outcome = after_death(job, daemon_of(job, "a"));
  INFO(outcome.err);
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err, "host a with rank 1"));
}

TEST_CASE("launcher hosts: a killed keeper of another host ends the job",
          "[launcher][hosts]") {
  const std::string moment = moment_of_probe();
  INFO(moment);
  const RemoteShell shell;
  Running job(job_at(shell, moment));
  REQUIRE(job.wait_for("ready", 3));
  const auto children = acp::launcher::children_of(daemon_of(job, "b"));
  REQUIRE(children.size() == 1);
  const Outcome outcome = after_death(job, children.front());
  INFO(outcome.err);
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err,
                 "the keeper, parent of rank 2, was killed by signal 9"));
  CHECK(contains(outcome.err, "on b"));
}

TEST_CASE("launcher hosts: a killed remote shell ends the job",
          "[launcher][hosts]") {
  const std::string moment = moment_of_probe();
  INFO(moment);
  const RemoteShell shell;
  Running job(job_at(shell, moment));
  REQUIRE(job.wait_for("ready", 3));
  // The daemon holds the shell's pipes, so acprun sees no end of them; the
  // death of its own child tells it.
  const Outcome outcome = after_death(job, shell_of(job.pid(), "a"));
  INFO(outcome.err);
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err, "host a with rank 1"));
  CHECK(contains(outcome.err, "signal 9"));
}

TEST_CASE("launcher hosts: a killed acprun leaves nobody on any host",
          "[launcher][hosts]") {
  const std::string moment = moment_of_probe();
  INFO(moment);
  const RemoteShell shell;
  Running job(job_at(shell, moment));
  REQUIRE(job.wait_for("ready", 3));
  const Outcome outcome = after_death(job, job.pid());
  CHECK(outcome.status == 128 + SIGKILL);
}

TEST_CASE("launcher hosts: a killed daemon takes the daemons below with it",
          "[launcher][hosts]") {
  const RemoteShell shell;
  Running job(job_on_levels(shell));
  REQUIRE(job.wait_for("ready", 7));
  const Outcome outcome = after_death(job, daemon_of(job, "d"));
  INFO(outcome.err);
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err, "host d with rank 3"));
}

TEST_CASE("launcher hosts: a killed remote shell of a daemon ends the job",
          "[launcher][hosts]") {
  const RemoteShell shell;
  Running job(job_on_levels(shell));
  REQUIRE(job.wait_for("ready", 7));
  REQUIRE(shell_of(job.pid(), "b") == -1);
  const Outcome outcome = after_death(job, shell_of(daemon_of(job, "a"), "b"));
  INFO(outcome.err);
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err, "host b with rank 1: "));
  CHECK(contains(outcome.err, "signal 9"));
}

TEST_CASE(
    "launcher hosts: a copied program goes with a killed daemon of a tree",
    "[launcher][hosts]") {
  const RemoteShell shell;
  const Scratch remote;
  Setup setup;
  setup.environment = {"FAKE_HOST_TMPDIR=" + remote.path()};
  Running job(
      shell.on("a,b,c", 3) + Words{"--fan-out", "1", "--preload", PROBE,
                                   "hello", "init", "say:ready", "pause"},
      setup);
  REQUIRE(job.wait_for("ready", 3));
  REQUIRE(shell_of(daemon_of(job, "a"), "b") > 0);
  CHECK_FALSE(remote.is_empty());
  const Outcome outcome = after_death(job, daemon_of(job, "a"));
  INFO(outcome.err);
  CHECK(contains(outcome.err, "host a with rank 0"));
  CHECK(eventually([&] { return remote.is_empty(); }));
}

TEST_CASE("launcher hosts: a copied program goes with its killed daemon",
          "[launcher][hosts]") {
  // The rank of the other daemon ends at once or only after the grace period.
  // So acprun ends what is left while the keeper of the dead daemon works, or
  // later.
  const Words ends = GENERATE(Words{}, Words{"deaf"});
  const RemoteShell shell;
  const Scratch remote;
  // Without a process between acprun and the daemon, acprun's death kills it,
  // and its keeper becomes a child of acprun when it is killed alone.
  const std::string direct = shell.scratch().file(
      "direct",
      "#!/bin/sh\nhost=$1\nshift\nTMPDIR=\"$FAKE_HOST_TMPDIR\" "
      "FAKE_HOST=$host exec \"$@\"\n");
  std::filesystem::permissions(direct, std::filesystem::perms::owner_all);
  Setup setup;
  setup.environment = {"FAKE_HOST_TMPDIR=" + remote.path()};
  Running job(
      Words{"-np", "2", "--host", "a,b", "--rsh", direct, "--preload", PROBE} +
          ends + Words{"hello", "init", "say:ready", "pause"},
      setup);
  REQUIRE(job.wait_for("ready", 2));
  CHECK_FALSE(remote.is_empty());
  SECTION("acprun is killed") {
    after_death(job, job.pid());
  }
  SECTION("a daemon is killed") {
    after_death(job, daemon_of(job, "a"));
  }
  SECTION("both daemons are killed") {
    const pid_t other = daemon_of(job, "b");
    REQUIRE(::kill(daemon_of(job, "a"), SIGKILL) == 0);
    (void)::kill(other, SIGKILL);  // acprun may have ended it already.
    CHECK(job.is_all_gone());
    (void)job.finish();
  }
  CHECK(eventually([&] { return remote.is_empty(); }));
}

TEST_CASE("launcher hosts: a host that falls silent ends the job",
          "[launcher][hosts]") {
  const RemoteShell shell;
  Running job(job_at(shell, "after init"));
  REQUIRE(job.wait_for("ready", 3));
  const pid_t daemon = daemon_of(job, "a");
  REQUIRE(daemon > 0);
  ::kill(daemon, SIGSTOP);
  const Outcome outcome = job.finish();
  INFO(outcome.err);
  CHECK(outcome.status == 125);
  CHECK(outcome.took < milliseconds(20'000));
  CHECK(contains(outcome.err, "host a with rank 1: nothing was heard"));
  ::kill(daemon, SIGCONT);
  CHECK(job.is_all_gone());
}

/// b is below a, and a is between acprun and two other daemons. The jobs wait
/// for their limits of silence side by side, each in a thread of its own that
/// counts the job's time.
TEST_CASE("launcher hosts: a daemon of a tree that falls silent ends the job",
          "[launcher][hosts]") {
  const RemoteShell shell;
  Running leaf(job_on_levels(shell));
  Running middle(job_on_levels(shell));
  REQUIRE(leaf.wait_for("ready", 7));
  REQUIRE(middle.wait_for("ready", 7));
  REQUIRE(shell_of(daemon_of(leaf, "a"), "b") > 0);
  const pid_t leaf_daemon = daemon_of(leaf, "b");
  const pid_t middle_daemon = daemon_of(middle, "a");
  REQUIRE(leaf_daemon > 0);
  REQUIRE(middle_daemon > 0);
  REQUIRE(::kill(leaf_daemon, SIGSTOP) == 0);
  REQUIRE(::kill(middle_daemon, SIGSTOP) == 0);
  const auto end_of_silent = [](Running& job) {
    const milliseconds before = job.given_time();
    Outcome outcome = job.finish();
    outcome.took -= before;
    return outcome;
  };
  auto end_of_middle =
      std::async(std::launch::async, end_of_silent, std::ref(middle));
  const Outcome of_leaf = end_of_silent(leaf);
  const Outcome of_middle = end_of_middle.get();
  INFO(of_leaf.err << of_middle.err);
  CHECK(contains(of_leaf.err, "host b with rank 1: nothing was heard"));
  CHECK(contains(of_middle.err, "host a with rank 0: nothing was heard"));
  for (const Outcome& outcome : {of_leaf, of_middle}) {
    CHECK(outcome.status == 125);
    CHECK(outcome.took < milliseconds(15'000));
  }
  // The daemons below hear no more of acprun, and end while a is still stopped.
  for (const char* host : {"b", "c"}) {
    CHECK(eventually([&] { return daemon_of(middle, host) == -1; }));
  }
  ::kill(leaf_daemon, SIGCONT);
  ::kill(middle_daemon, SIGCONT);
  CHECK(leaf.is_all_gone());
  CHECK(middle.is_all_gone());
}

/// acprun's own host is no exception. acprun learns of the ends of other hosts
/// when it runs again, and they are not their failures. The daemon of b is
/// stopped as well, so only its keeper can end rank 2.
TEST_CASE("launcher hosts: all hosts of a stopped acprun end and say so",
          "[launcher][hosts]") {
  const RemoteShell shell;
  Running job(job_at(shell, "after init"));
  REQUIRE(job.wait_for("ready", 3));
  const pid_t daemon = daemon_of(job, "a");
  const pid_t stopped_daemon = daemon_of(job, "b");
  const pid_t rank = job.rank(0);
  const pid_t rank_of_b = job.rank(2);
  for (const pid_t process : {daemon, stopped_daemon, rank, rank_of_b}) {
    REQUIRE(process > 0);
  }
  REQUIRE(::kill(job.pid(), SIGSTOP) == 0);
  REQUIRE(::kill(stopped_daemon, SIGSTOP) == 0);
  for (const pid_t process : {daemon, rank, rank_of_b}) {
    CHECK(eventually(
        [&] { return std::ranges::count(job.everybody(), process) == 0; }));
  }
  REQUIRE(::kill(stopped_daemon, SIGCONT) == 0);
  REQUIRE(::kill(job.pid(), SIGCONT) == 0);
  const Outcome outcome = job.finish();
  INFO(outcome.err);
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err, "nothing was heard from acprun for 12 s"));
  CHECK(contains(outcome.err, "the keeper has heard nothing from its acprun"));
  CHECK(contains(outcome.err,
                 "acprun itself (pid " + std::to_string(job.pid()) + " on "));
  CHECK_FALSE(contains(outcome.err, "host a with rank 1"));
  CHECK_FALSE(contains(outcome.err, "host b with rank 2"));
  CHECK(job.is_all_gone());
}

TEST_CASE("launcher hosts: a user's interrupt ends all hosts",
          "[launcher][hosts]") {
  const RemoteShell shell;
  Running job(shell.on("localhost,a,b", 3) +
              Words{PROBE, "deaf", "hello", "init", "say:ready", "pause"});
  REQUIRE(job.wait_for("ready", 3));
  job.send(SIGINT);
  job.send(SIGTERM);
  const Outcome outcome = job.finish();
  INFO(outcome.err);
  CHECK((outcome.status == 130 || outcome.status == 143));
  CHECK(outcome.took < milliseconds(15'000));
  CHECK(job.is_all_gone());
}

TEST_CASE("launcher hosts: a second ^C does not wait", "[launcher][hosts]") {
  const RemoteShell shell;
  // SIGTERM stays blocked after the step "await" has taken the first one.
  Running job(shell.on("localhost,a,b", 3) +
              Words{"--grace", "30", PROBE, "block:15", "hello", "init",
                    "say:ready", "await", "pause"});
  REQUIRE(job.wait_for("ready", 3));
  job.send(SIGINT);
  REQUIRE(job.wait_for("got 15", 3));
  job.send(SIGINT);
  const Outcome outcome = job.finish();
  INFO(outcome.err);
  CHECK(outcome.status == 130);
  CHECK(outcome.took < milliseconds(15'000));
  CHECK(job.is_all_gone());
}

TEST_CASE("launcher hosts: hosts that cannot be reached", "[launcher][hosts]") {
  struct Row {
    std::string host;
    int status;
    std::vector<std::string> texts;
  };

  const RemoteShell shell;
  // "acprun-daemon VERSION ...", and a line end.
  std::string mine = acp::launcher::daemon_greeting();
  mine = mine.substr(mine.find(' '));
  mine.pop_back();
  const std::vector<Row> rows = {
      {"unknown", 125, {"host unknown with rank 1", "Could not resolve"}},
      {"refusing", 125, {"host refusing with rank 1", "Connection refused"}},
      {"silent", 125, {"host silent with rank 1", "--rsh-timeout"}},
      {"older",
       125,
       {"host older with rank 1", "is version 0.0.1 1 1, this one is" + mine,
        "one version"}},
      {"hostile",
       125,
       {"is version 1\\x1b]0;owned\\x07\\r\\x9b000",
        "..., this one is" + mine}},
      {"colored", 125, {"rsh exited with status 3: \\x1b[31mgone\\x1b[0m"}},
      {"lacking", 125, {"host lacking with rank 1", "acprun has to be"}},
      {"talking", 0, {}},
  };
  for (const Row& row : rows) {
    const Outcome outcome = run(shell.on("a," + row.host, 2) +
                                Words{"--rsh-timeout", "2", PROBE, "hello",
                                      "init", "finalize", "finalized"});
    INFO(row.host << "\n" << outcome.err);
    CHECK(outcome.status == row.status);
    for (const std::string& text : row.texts)
      CHECK(contains(outcome.err, text));
    CHECK_FALSE(contains(outcome.err, "\x1b"));
  }
}

TEST_CASE("launcher hosts: a program or a directory that a host lacks",
          "[launcher][hosts]") {
  const RemoteShell shell;
  const Outcome program = run(shell.on("a,b", 2) + Words{"/nonexistent/app"});
  INFO(program.err);
  CHECK(program.status == 127);
  CHECK(contains(program.err, "acprun: host "));
  CHECK(contains(program.err, "/nonexistent/app"));
  CHECK(contains(program.err, "--preload"));
  const Outcome directory =
      run(shell.on("a,b", 2) + Words{"--wdir", "/nonexistent", "true"});
  INFO(directory.err);
  CHECK(directory.status == 125);
  CHECK(contains(directory.err, "/nonexistent"));
}

TEST_CASE("launcher hosts: a remote shell that does not exist",
          "[launcher][hosts]") {
  const Outcome outcome =
      run({"-np", "2", "--host", "a,b", "--rsh", "/nonexistent/rsh", "true"});
  INFO(outcome.err);
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err,
                 "rsh exited with status 127: there is no such file here"));
  const Outcome unknown =
      run({"-np", "2", "--host", "a,b", "--rsh", "no-such-rsh", "true"});
  INFO(unknown.err);
  CHECK(contains(unknown.err,
                 "no-such-rsh exited with status 127: it is not found in PATH "
                 "here"));
}

TEST_CASE("launcher hosts: advice has all words of --rsh",
          "[launcher][hosts]") {
  const Outcome outcome = run({"-np", "2", "--host", "a,b", "--rsh",
                               "/bin/false -p 22 'two words'", "true"});
  INFO(outcome.err);
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err, "try: /bin/false -p 22 'two words' a true") !=
        contains(outcome.err, "try: /bin/false -p 22 'two words' b true"));
}
