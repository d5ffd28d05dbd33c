// Options, programs and node files that acprun refuses before it starts a
// process, and the text of the refusal.
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "settings/networks.h"
#include "settings/settings.h"
#include "tests/launcher/running.h"

using namespace running;

namespace {

struct Refusal {
  std::vector<std::string> words;
  int status;
  std::vector<std::string> texts;  ///< That standard error holds.
};

void check(const Refusal& refusal) {
  std::string line;
  for (const std::string& word : refusal.words)
    line += word + " ";
  const Outcome outcome = run(refusal.words);
  INFO(line << "\n" << outcome.err);
  CHECK(outcome.status == refusal.status);
  CHECK(outcome.out.empty());
  for (const std::string& text : refusal.texts) {
    CHECK(contains(outcome.err, text));
  }
}

}  // namespace

// Each row is a line that acprun refuses with status 125. The message has to
// name the wrong word, and what to write in its place.
TEST_CASE("launcher refusals: options", "[launcher]") {
  const std::vector<Refusal> refusals = {
      {{"-np", "0", "true"}, 125, {"-np 0", "from 1"}},
      {{"-np", "-1", "true"}, 125, {"-np -1"}},
      {{"-np", "two", "true"}, 125, {"-np two"}},
      {{"-np", "2"}, 125, {"no program"}},
      {{}, 125, {"no program"}},
      {{"-np"}, 125, {"needs a value"}},
      {{"-np", "2", "--acp-envet=udp", "true"}, 125, {"--acp-envnet"}},
      {{"-np", "2", "true", "--acp-nodefil=x"}, 125, {"--acp-nodefile"}},
      {{"-np", "2", "true", "--acp-nonsense"}, 125, {"--acp-nonsense"}},
      {{"-np", "2", "--tagg", "true"}, 125, {"did you mean --tag"}},
      {{"--np", "2", "true"}, 125, {"--np is no option", "-np N"}},
      {{"--nprocs=2", "true"}, 125, {"--nprocs is no option", "-np N"}},
      {{"--hostfile", "x", "true"}, 125, {"--acp-nodefile=FILE"}},
      {{"-hostfile", "x", "true"}, 125, {"-hostfile", "--acp-nodefile=FILE"}},
      {{"-x", "A", "true"}, 125, {"--env NAME=VALUE"}},
      {{"--bind-to", "core", "true"}, 125, {"--bind none"}},
      {{"-vx", "true"}, 125, {"-vx is no option"}},
      {{"-np", "2", "-np", "3", "true"}, 125, {"twice"}},
      {{"-np", "2", "--acp-nodefile=/dev/null", "--acp-nodefile=ib", "true"},
       125,
       {"--acp-envnet=ib"}},
      {{"-np", "2", "--acp-nodefile=/dev/null", "--acp-nodefile=IB", "true"},
       125,
       {"--acp-envnet=IB"}},
      {{"-np", "2", "--acp-startermemsize-cl=much", "true"},
       125,
       {"--acp-startermemsize-cl=much", "number of bytes"}},
      {{"-np", "2", "--acp-envnet=tofu", "true"},
       125,
       {"not built in", acp::networks_built_in()}},
      {{"-np", "2", "--acp-envnet=smoke", "true"},
       125,
       {"smoke", acp::networks_built_in()}},
      {{"-np", "2", "--acp-startermemsize=x", "true"},
       125,
       {"--acp-startermemsize"}},
      {{"--host", "a,,b", "true"}, 125, {"--host=a,,b", "host:N"}},
      {{"--host", "a,b:x", "true"}, 125, {"--host=a,b:x", "'x' is no number"}},
      {{"--host", "a,-oProxyCommand=x", "true"},
       125,
       {"--host=a,-oProxyCommand=x", "'-oProxyCommand=x' is no host"}},
      {{"-np", "4", "--host", "a:1,b:2", "true"}, 125, {"room for 3"}},
      {{"-np", "3", "--host", "a:1,b:1", "true"}, 125, {"room for 2"}},
      {{"-np", "5", "--host", "a:2", "true"}, 125, {"room for 2"}},
      {{"--acp-nodefile=/dev/null", "true"},
       125,
       {"node file /dev/null names no host"}},
      {{"--rsh", "'open", "true"}, 125, {"--rsh='open", "command"}},
      {{"--fan-out", "0", "true"}, 125, {"--fan-out=0"}},
      {{"--timeout", "soon", "true"}, 125, {"--timeout=soon"}},
      {{"--bind", "rope", "true"}, 125, {"--bind=rope"}},
      {{"--stdin", "all", "true"}, 125, {"--stdin=all"}},
      {{"--env", "X", "true"}, 125, {"--env=X"}},
      {{"--wrap", "'open", "true"}, 125, {"--wrap"}},
      {{"--wrap-ranks", "1", "true"}, 125, {"--wrap-ranks"}},
      {{"-np", "2", "--wrap", "env", "--wrap-ranks", "0,2", "true"},
       125,
       {"--wrap-ranks", "rank 2", "0 to 1"}},
      {{"-np", "2", "--wdir", "/nonexistent", "true"}, 125, {"/nonexistent"}},
  };
  for (const Refusal& refusal : refusals)
    check(refusal);
}

TEST_CASE("launcher refusals: programs", "[launcher]") {
  const Scratch scratch;
  const std::string plain = scratch.file("plain", "not a program\n");
  const std::string broken = scratch.file("broken",
                                          "\x7f"
                                          "ELF nonsense");
  std::filesystem::permissions(broken, std::filesystem::perms::owner_all);
  check({{"-np", "2", "no-such-program-anywhere"}, 127, {"no-such-program"}});
  check({{"-np", "2", "/nonexistent/program"}, 127, {"/nonexistent/program"}});
  check({{"-np", "2", ""}, 127, {"empty"}});
  check({{"-np", "2", plain}, 126, {plain, "Permission denied"}});
  check({{"-np", "2", scratch.path()}, 126, {"directory"}});
  check({{"-np", "2", broken}, 126, {broken, "rank 0"}});
  check({{"-np", "2", "--wrap", "no-such-wrapper", "true"}, 127, {"wrapper"}});
}

// acprun refuses a node file that cannot be read, that has too few places, or
// that names no host. It refuses two lists of hosts in one command as well.
TEST_CASE("launcher refusals: node files", "[launcher]") {
  const Scratch scratch;
  const std::string one = scratch.file("one", "localhost\n");
  const std::string bad = scratch.file("bad", "localhost\nlocalhost:x\n");
  const std::string none = scratch.file("none", "# nobody\n");
  const auto with = [](const std::string& file) {
    return std::vector<std::string>{"-np", "2", "--acp-nodefile=" + file,
                                    "true"};
  };
  check({with(scratch.path() + "/missing"), 125, {"missing", "No such file"}});
  check({with(scratch.path()), 125, {"directory"}});
  check({with(one), 125, {"1 ranks", "asks for 2", "--oversubscribe"}});
  check({with(none), 125, {"names no host"}});
  check({{"--acp-nodefile=" + none, "true"}, 125, {"names no host"}});
  check({{"--acp-nodefile=" + one, "--host", "localhost", "true"},
         125,
         {"--host=localhost and --acp-nodefile=" + one,
          "both name hosts: give one of them"}});
  check({with(bad), 125, {"line 2", "'x'"}});
}

TEST_CASE("launcher refusals: -np behind the program is warned of",
          "[launcher]") {
  const std::string text =
      "-np 2 stands behind true, so true gets it: to start 2 ranks, write "
      "acprun -np 2 true";
  const auto is_warned_of = [&text](const std::vector<std::string>& words) {
    const Outcome outcome = run(words);
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    return contains(outcome.err, text);
  };
  CHECK(is_warned_of({"true", "-np", "2"}));
  CHECK_FALSE(is_warned_of({"-np", "1", "true", "-np", "2"}));
  CHECK_FALSE(is_warned_of({"--", "true", "-np", "2"}));
  CHECK_FALSE(is_warned_of({"true", "--", "-np", "2"}));
  CHECK_FALSE(is_warned_of({"true", "-np", "two"}));
}

TEST_CASE("launcher refusals: help and version are no errors", "[launcher]") {
  const Outcome help = run({"--help"});
  CHECK(help.status == 0);
  CHECK(contains(help.out, "--acp-nodefile"));
  CHECK(contains(help.out, "--output-dir"));
  CHECK(contains(help.out, acp::networks_built_in()));
  CHECK_FALSE(contains(help.out, "tofu"));
  const Outcome version = run({"--version"});
  CHECK(version.status == 0);
  CHECK(contains(version.out, "acprun"));
}

TEST_CASE("launcher refusals: a host that the remote shell takes for an option",
          "[launcher]") {
  const Scratch scratch;
  // A remote shell that runs would leave this file.
  const std::string trace = scratch.path() + "/trace";
  const std::string shell =
      scratch.file("shell", "#!/bin/sh\necho \"$@\" >" + trace + "\n");
  std::filesystem::permissions(shell, std::filesystem::perms::owner_all);
  const std::string file = scratch.file("nodes", "a\n-oX\n");
  const std::string pbs = scratch.file("pbs", "a\n-oX\n");
  const std::string sge = scratch.file("sge", "a 2 q\n-oX 2 q\n");

  struct Row {
    std::vector<std::string> words;
    std::string variable;
    std::string source;  ///< The begin of the error's line.
  };

  const std::vector<Row> rows = {
      {{"--host=-oX"}, "", "--host=-oX: "},
      {{"--host=a,[-oX]:2"}, "", "--host=a,[-oX]:2: "},
      {{"--acp-nodefile=" + file}, "", "node file " + file + ", line 2: "},
      {{}, "SLURM_JOB_NODELIST=a,-oX", "SLURM_JOB_NODELIST: "},
      {{}, "SLURM_JOB_NODELIST=a,-o[1-2]X", "SLURM_JOB_NODELIST: "},
      {{}, "PBS_NODEFILE=" + pbs, "PBS_NODEFILE=" + pbs + ": "},
      {{}, "PE_HOSTFILE=" + sge, "PE_HOSTFILE=" + sge + ": "},
  };
  for (const Row& row : rows) {
    Setup setup;
    if (!row.variable.empty()) setup.environment = {row.variable};
    std::vector<std::string> words = row.words;
    words.insert(words.begin(), {"--rsh", shell});
    words.emplace_back("true");
    const Outcome outcome = run(words, setup);
    INFO(row.source << "\n" << outcome.err);
    CHECK(outcome.status == 125);
    CHECK(contains(outcome.err, row.source + "'-o"));
    CHECK(contains(outcome.err,
                   "' is no host: it begins with '-', so the remote shell "
                   "would take it for an option"));
    CHECK_FALSE(std::filesystem::exists(trace));
  }
}
