// Tests how jobs of the older interfaces begin and end, and their output. The
// build gives the paths of the programs (ACPRUN, SCU_PROBE, LQCD_PROBE).
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/job.h"

using namespace std::chrono_literals;

namespace {

job::Outcome run(int ranks,
                 const std::string& program,
                 const std::vector<std::string>& words,
                 const std::vector<std::string>& environment) {
  std::vector<std::string> command{ACPRUN, "-np", std::to_string(ranks),
                                   program};
  command.insert(command.end(), words.begin(), words.end());
  job::Job running(command, environment);
  job::Outcome outcome = running.wait(60s);
  REQUIRE(outcome.is_over);
  return outcome;
}

/// Runs SCU_PROBE on a torus of `ranks` nodes along t.
job::Outcome run_scu(int ranks,
                     const std::string& mode,
                     const std::string& more = "") {
  return run(ranks, SCU_PROBE, {mode},
             {"COMMS_DEF={GRID=" + std::to_string(ranks) + ",1,1,1}" + more});
}

bool has(const job::Outcome& outcome, const std::string& text) {
  return outcome.output.find(text) != std::string::npos;
}

/// A folder that is removed with the object.
class Folder {
 public:
  Folder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }

  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  ~Folder() { std::filesystem::remove_all(path_); }

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_ = "/tmp/compat_job_XXXXXX";
};

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("SCU: joins at the first call, and exit() is enough", "[scu]") {
  const auto outcome = run_scu(2, "talk");
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(has(outcome, "node 1: got 2\n"));
  CHECK(has(outcome, "node 2: got 1\n"));
}

TEST_CASE("SCU: a receive from a node that has left ends the job", "[scu]") {
  const auto outcome = run_scu(2, "left");
  INFO(outcome.output);
  CHECK(outcome.status == 1);
  CHECK(has(outcome,
            "SCU error: SCUTransComplete: QMP_wait: receive number 1 "
            "of 4 bytes with rank 1 of the job, axis 0, travelling "
            "in direction +1"));
  CHECK(has(outcome, "that node has left by exit(0)"));
}

TEST_CASE("SCU_PLUS_FIRST: other numbers, the same directions", "[scu]") {
  const std::vector<std::string> grid{"COMMS_DEF={GRID=3,1,1,1}"};
  const auto minus_first = run(3, SCU_PROBE, {"around"}, grid);
  const auto plus_first = run(3, SCU_PLUS_FIRST_PROBE, {"around"}, grid);
  INFO(minus_first.output << plus_first.output);
  CHECK(has(minus_first, "+t is 1; node 2: below is 1\n"));
  CHECK(has(plus_first, "+t is 0; node 2: below is 1\n"));
  CHECK(has(plus_first, "+t is 0; node 1: below is 3\n"));
}

TEST_CASE("SCU: commsMPI.def beside the executable", "[scu]") {
  const Folder folder;
  const std::string program = folder.file("probe");
  std::filesystem::copy_file(SCU_PROBE, program);
  std::ofstream(folder.file("commsMPI.def")) << "{ GRID = 1,2,1,1 }\n";
  const auto outcome = run(2, program, {"talk"}, {});
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(has(outcome, "node 2: got 2\n"));  // t has size 1
}

TEST_CASE("Seed, SeedT: one number for each node", "[scu]") {
  const Folder folder;
  std::ofstream(folder.file("seeds")) << "101 102\n103\n";
  const std::string more = "{SEEDFILE=" + folder.file("seeds") + "}{SEED=99}";
  const auto outcome = run_scu(3, "seeds", more);
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(has(outcome, "node 1: 101 101 99 99\n"));
  CHECK(has(outcome, "node 3: 103 103 99 99\n"));
  const auto few = run_scu(4, "seeds", more);
  INFO(few.output);
  CHECK(few.status == 1);
  CHECK(has(few, "has 3 numbers; this node needs number 4"));
}

// Proves that each node has a file, that "stderr" is no file, and that a file
// that cannot be written ends the job.
TEST_CASE("LOGFILE: what each node does, in a file of its own", "[scu]") {
  const Folder folder;
  const auto outcome =
      run_scu(2, "talk", "{LOGFILE=" + folder.file("log") + "}");
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  for (const std::string node : {"0", "1"}) {
    const std::string text = text_of(folder.file("log." + node));
    INFO(text);
    CHECK(text.find("SCU " + node + ": node " + node + " of 2") !=
          std::string::npos);
    CHECK(text.find("SCUTrans: send +t of 1 blocks of 1 elements of 4 bytes") !=
          std::string::npos);
    CHECK(text.find("SCUTransComplete: 2 starts") != std::string::npos);
  }
  CHECK(has(run_scu(1, "talk", "{LOGFILE=stderr}"), "SCU 0: SCUTrans"));
  const auto wrong = run_scu(1, "talk", "{LOGFILE=/no/folder/log}");
  CHECK(wrong.status == 1);
  CHECK(has(wrong, "cannot write '/no/folder/log.0': No such file"));
}

// First the failures that the probe provokes after its start, each by a mode.
// Then the failures of the grid, which end the job before.
TEST_CASE("SCU: failures are told and end the job", "[scu]") {
  struct Case {
    std::string mode;
    std::string text;
  };

  for (const auto& [mode, text] :
       {Case{"raise", "SCU error: no more lattice"},
        Case{"raise_char", "SCU error: not const"},
        Case{"empty", "has the SCUDirArg been initialized?"},
        Case{"no_dma", "no SCUSetDMA came before for sends in direction -y"},
        Case{"sum", "SCUGlobalSum: type 0 of 3 bytes"},
        Case{"after", "a call after SCUCommsFinalize"},
        Case{"longer", "the message has 8000 bytes"}}) {
    const auto outcome = run_scu(2, mode);
    INFO(outcome.output);
    CHECK(outcome.status == 1);
    CHECK(has(outcome, text));
  }
  const auto none = run(2, SCU_PROBE, {"talk"}, {"COMMS_DEF={SEED=1}"});
  CHECK(none.status == 1);
  CHECK(has(none, "COMMS_DEF: there is no {GRID=t,x,y,z}"));
  const auto other = run(2, SCU_PROBE, {"talk"}, {"COMMS_DEF={GRID=2,2,1,1}"});
  CHECK(other.status == 1);
  CHECK(has(other, "{GRID=2,2,1,1} has 4 nodes, the job has 2"));
}

TEST_CASE("LQCD: calls before initMachine fail", "[lqcd]") {
  const auto outcome = run(1, LQCD_PROBE, {"outside"}, {});
  INFO(outcome.output);
  CHECK(outcome.status == 0);
}

TEST_CASE("getMachineType: a switch, or a grid's dimensions", "[lqcd]") {
  CHECK(has(run(2, LQCD_PROBE, {"type"}, {}), "type 0\n"));
  CHECK(has(run(2, LQCD_PROBE, {"type"}, {"QMP_GEOM=1 2 1"}), "type 3\n"));
}

// The failure comes in the job, before it and after it.
TEST_CASE("LQCD: with ACP_ERRORS=abort the first failure ends the job",
          "[lqcd]") {
  struct Case {
    std::string mode;
    std::string text;
  };

  for (const auto& [mode, text] :
       {Case{"careless", "the handle is NULL"},
        Case{"early", "waitForBarrier: call initMachine before"},
        Case{"late", "waitForBarrier: call initMachine before"}}) {
    const auto reported = run(2, LQCD_PROBE, {mode}, {"ACP_ERRORS=report"});
    INFO(reported.output);
    CHECK(reported.status == 0);
    CHECK(has(reported, "went on"));
    CHECK(has(reported, text));
    const auto aborted = run(2, LQCD_PROBE, {mode}, {"ACP_ERRORS=abort"});
    INFO(aborted.output);
    CHECK(aborted.status == 1);
    CHECK_FALSE(has(aborted, "went on"));
    CHECK(has(aborted, text));
  }
}

TEST_CASE("LQCD: what is left behind does not stop the end", "[lqcd]") {
  for (const std::string net : {"auto", "udp"}) {
    const auto exits = run(2, LQCD_PROBE, {"leave"}, {"ACP_NET=" + net});
    INFO(exits.output);
    CHECK(exits.status == 0);
    const auto leaves =
        run(2, LQCD_PROBE, {"leave", "down"}, {"ACP_NET=" + net});
    INFO(leaves.output);
    CHECK(leaves.status == 0);
    CHECK(has(leaves, "left 0\n"));
    // A process may initialise the interface only once.
    CHECK_FALSE(has(leaves, "again 0\n"));
  }
}

TEST_CASE("waitFor: what cannot end is told, with name and size", "[lqcd]") {
  const auto outcome =
      run(2, LQCD_PROBE, {"timeout"}, {"QMP_WAIT_TIMEOUT=0.2"});
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(has(outcome, "waited -1\n"));
  CHECK(
      has(outcome, "receive of 9000 bytes by name 5 did not end within 0.2 s"));
}

TEST_CASE("waitFor: QMP_WAIT_TIMEOUT=0 is no time limit", "[lqcd]") {
  const auto outcome = run(2, LQCD_PROBE, {"patient"}, {"QMP_WAIT_TIMEOUT=0"});
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(outcome.output == "waited 1\nwaited 1\n");
}
