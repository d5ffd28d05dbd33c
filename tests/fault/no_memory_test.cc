// Tests what a job does when the system refuses memory to a rank or to acprun.
// The programs are no_memory.cc, no_memory_qmp.cc, prolific.cc and
// refusing_malloc.cc.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/job.h"

using namespace std::chrono_literals;

namespace {

job::Outcome run(const std::string& program,
                 const std::string& net,
                 const std::string& mode) {
  std::vector<std::string> environment;
  if (net == "udp") environment.emplace_back("ACP_SHM=off");
  job::Job job({ACPRUN, "-np", "2", "--acp-envnet=" + net, program, mode},
               environment);
  return job.wait(240s);
}

/// The number in front of `words`.
long number_before(const std::string& text, const std::string& words) {
  const std::size_t at = text.find(words);
  if (at == std::string::npos) return -1;
  return std::stol(text.substr(text.rfind(' ', at - 1) + 1));
}

}  // namespace

TEST_CASE("no memory: each call succeeds or has changed nothing", "[memory]") {
  // The layer below QMP, and QMP with the LQCD interface.
  const std::string program = GENERATE(NO_MEMORY, NO_MEMORY_QMP);
  const std::string net = GENERATE("shm", "udp");
#ifdef __SANITIZE_ADDRESS__
  const std::string mode = "once";
#else
  const std::string mode = GENERATE("once", "limit", "empty");
#endif
  const job::Outcome outcome = run(program, net, mode);
  CAPTURE(program, net, mode, outcome.output.substr(0, 4000));
  CHECK(outcome.is_over);
  CHECK(outcome.status == 0);
  CHECK(number_before(outcome.output, " rounds, and") >= 10);
  const long failed = number_before(outcome.output, " calls failed");
  CHECK(failed >= (mode == "empty" ? 300 : 0));
}

#ifndef __SANITIZE_ADDRESS__
TEST_CASE("no memory: a call of SCU ends the job with a line", "[memory]") {
  job::Job run({ACPRUN, "-np", "2", NO_MEMORY_QMP, "scu"},
               {"COMMS_DEF={GRID=2,1,1,1}{SEED=1}"});
  const job::Outcome outcome = run.wait(60s);
  CAPTURE(outcome.output);
  CHECK(outcome.is_over);
  CHECK(outcome.status == 1);
  CHECK(outcome.output.find("SCU error: sync: no memory") != std::string::npos);
}

TEST_CASE("no memory: acprun and its keeper end with one line", "[memory]") {
  const std::string what = GENERATE("acprun", "acprun-keeper");
  for (int nth = 1; nth < 700; nth += nth / 3 + 1) {
    job::Job run({ACPRUN, "-np", "2", PROLIFIC, "go on", "3"},
                 {"LD_PRELOAD=" REFUSING_MALLOC, "REFUSE_IN=" + what,
                  "REFUSE_AT=" + std::to_string(nth)});
    const job::Outcome outcome = run.wait(60s);
    CAPTURE(what, nth, outcome.output);
    REQUIRE(outcome.is_over);
    const bool has_line =
        outcome.output.find(" error: ") != std::string::npos ||
        outcome.output.find("acprun: ") != std::string::npos;
    CHECK((outcome.status == 0 || (outcome.status == 125 && has_line)));
    CHECK(outcome.output.find("terminate") == std::string::npos);
  }
}
#endif
