// Tests how a job shows errors that its program ignores: lines on stderr,
// ACP_ERRORS=abort, and the summary of acprun. The program is careless.cc.
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/job.h"

using namespace std::chrono_literals;

namespace {

job::Outcome run(const std::vector<std::string>& words,
                 const std::string& errors) {
  std::vector<std::string> all = {ACPRUN, "-np", "2", CARELESS};
  all.insert(all.end(), words.begin(), words.end());
  job::Job careless(all, {"ACP_ERRORS=" + errors});
  return careless.wait(60s);
}

std::vector<std::string> lines_with(const std::string& text,
                                    const std::string& part) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (line.find(part) != std::string::npos) lines.push_back(line);
    begin = end + 1;
  }
  return lines;
}

}  // namespace

TEST_CASE("errors: equal lines are counted, and the program goes on",
          "[errors]") {
  const job::Outcome outcome = run({}, "report");
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(lines_with(outcome.output, "done").size() == 2);
  // A loaded machine may take several seconds for the thousand.
  unsigned long told = 0;
  std::size_t counts = 0;
  const std::string held = " more times: ";
  for (const std::string& line : lines_with(outcome.output, held)) {
    const std::size_t end = line.find(held);
    told += std::stoul(line.substr(line.rfind(' ', end - 1) + 1));
    ++counts;
  }
  const std::size_t shown =
      lines_with(outcome.output, "address outside its region").size() - counts;
  CHECK(counts > 0);
  CHECK(shown + told == 1000);
  CHECK(shown <= 2 * (counts + 1));  // the last second may have no count
}

// Lines that were held back count, too.
TEST_CASE("errors: a job that ends with 0 says how many there were",
          "[errors]") {
  const job::Outcome outcome = run({}, "report");
  INFO(outcome.output);
  const std::string line =
      "acprun: the job ends with status 0, and rank 0 has reported 1000 "
      "errors; with --debug it ends at the first one and says where the call "
      "stands\n";
  CHECK(outcome.status == 0);
  CHECK(outcome.output.ends_with(line));
  CHECK(lines_with(outcome.output, "--debug").size() == 1);
}

TEST_CASE("errors: ACP_ERRORS=fail makes 1 of the status", "[errors]") {
  const job::Outcome outcome = run({}, "fail");
  INFO(outcome.output);
  CHECK(outcome.status == 1);
  CHECK(lines_with(outcome.output, "done").size() == 2);
  CHECK(lines_with(outcome.output,
                   "status 1 (ACP_ERRORS=fail), and rank 0 has reported 1000 "
                   "errors")
            .size() == 1);
}

TEST_CASE("errors: all ranks are named that have called before acp_init",
          "[errors]") {
  const job::Outcome outcome = run({"early"}, "report");
  INFO(outcome.output);
  CHECK(lines_with(outcome.output, "ranks 0-1 have reported").size() == 1);
}

// The program is linked with the shared library here, or with the static one.
TEST_CASE("errors: --debug names the line of the call", "[errors]") {
  job::Job debugged({ACPRUN, "-np", "2", "--debug", CARELESS});
  const job::Outcome outcome = debugged.wait(60s);
  INFO(outcome.output);
  CHECK(outcome.is_over);
  CHECK(outcome.status == 1);
  CHECK(lines_with(outcome.output, "done").empty());
  CHECK(lines_with(outcome.output,
                   "error: the call stands in main() at careless.cc:")
            .size() == 1);
}

TEST_CASE("errors: --debug says where ranks wait, and the job goes on",
          "[errors]") {
  job::Job hangs(
      {ACPRUN, "-np", "2", "--debug", "--timeout", "20", CARELESS, "wait"});
  const job::Outcome outcome = hangs.wait(60s);
  INFO(outcome.output);
  CHECK(outcome.status == 124);
  CHECK(lines_with(outcome.output, "acprun: the job goes on").size() == 1);
  CHECK(lines_with(outcome.output, "rank 1 was waiting in acp_sync").size() ==
        2);
}

TEST_CASE("errors: ACP_ERRORS=abort ends the job at the first", "[errors]") {
  const job::Outcome outcome = run({}, "abort");
  INFO(outcome.output);
  CHECK(outcome.is_over);
  CHECK(outcome.status == 1);
  CHECK(lines_with(outcome.output, "done").empty());
  // Two lines have the reason: the line of the rank, and the summary of acprun.
  const auto lines = lines_with(outcome.output, "address outside its region");
  CHECK(lines.size() == 2);
  CHECK(lines.back().find("acprun: rank 0") == 0);
}

TEST_CASE("errors: a job whose acp_finalize fails does not end with 0",
          "[errors]") {
  // Several ranks without shared memory would first lose their peer's answers.
  const auto [ranks, net] = GENERATE(table<std::string, std::string>(
      {{"1", "shm"}, {"1", "udp"}, {"3", "shm"}}));
  job::Job run({ACPRUN, "-np", ranks, "--acp-envnet=" + net, CARELESS, "close"},
               {net == "udp" ? "ACP_SHM=off" : "ACP_SHM=auto"});
  const job::Outcome outcome = run.wait(60s);
  INFO(ranks << " ranks over " << net << ": " << outcome.output);
  CHECK(outcome.is_over);
  CHECK(outcome.status == 1);
  CHECK(lines_with(outcome.output, "acp_finalize: 0").empty());
  const auto lines = lines_with(outcome.output, "acp_finalize has failed");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("rank 0 on ") != std::string::npos);
  CHECK(lines_with(outcome.output,
                   "has closed the connection to acprun (Bad file descriptor)")
            .size() == 1);
  const auto verdict = lines_with(outcome.output, "acprun: rank 0 on ");
  REQUIRE(verdict.size() == 1);
  CHECK(verdict[0].find("exited with status 1") != std::string::npos);
}

TEST_CASE("errors: ranks of one host with unlike ACP_NET", "[errors]") {
  struct Row {
    std::string variable;
    std::vector<std::string> texts;  ///< A line has one of these.
  };

  const auto row = GENERATE(
      Row{"ACP_NET=udp",
          {"ACP_NET is udp here, and auto on rank 0: give all ranks the same",
           "ACP_NET is auto here, and udp on rank 1: give all ranks the same"}},
      Row{"ACP_SHM=off",
          {"ranks 0 and 1 are on one host, and only one of them shares memory",
           "ranks 1 and 0 are on one host, and only one of them shares "
           "memory"}});
  job::Job unlike({ACPRUN, "-np", "2", "--wrap", "env " + row.variable,
                   "--wrap-ranks", "1", CARELESS});
  const job::Outcome outcome = unlike.wait(60s);
  INFO(outcome.output);
  CHECK(outcome.is_over);
  CHECK(outcome.status != 0);
  CHECK(std::ranges::any_of(row.texts, [&](const std::string& text) {
    return !lines_with(outcome.output, text).empty();
  }));
  CHECK(lines_with(outcome.output, "has no valid address card").empty());
  CHECK(lines_with(outcome.output, "malformed message").empty());
  const job::Outcome alike =
      job::Job({ACPRUN, "-np", "2", "--wrap", "env ACP_NET=shm", "--wrap-ranks",
                "1", CARELESS})
          .wait(60s);
  INFO(alike.output);
  CHECK(alike.status == 0);
}

TEST_CASE("errors: acp_abort without an error names none", "[errors]") {
  const job::Outcome outcome = run({"abort"}, "report");
  INFO(outcome.output);
  CHECK(outcome.status == 1);
  // Both the line of the rank and that of acprun name the rank once.
  const auto lines = lines_with(outcome.output, "acp_abort: enough");
  REQUIRE(lines.size() >= 2);
  CHECK(lines.front().find("acp: rank 0 on ") == 0);
  CHECK(lines.back().find("acprun: rank 0 on ") == 0);
  CHECK(lines.back().find(") ended the job: acp_abort: enough") !=
        std::string::npos);
  CHECK(lines_with(outcome.output, "success").empty());
}

TEST_CASE("errors: the roll-call names what the program called", "[errors]") {
  job::Job waits({ACPRUN, "-np", "2", "--watchdog", "1", CARELESS, "wait"});
  const job::Outcome outcome = waits.wait(60s);
  INFO(outcome.output);
  CHECK(outcome.status == 124);
  CHECK(lines_with(outcome.output,
                   "rank 0 was waiting in acp_wait_ch (receive) for rank 1")
            .size() == 1);
  CHECK(lines_with(outcome.output, "rank 1 was waiting in acp_sync").size() ==
        1);
}

// Calls of the layers above wait inside acp_complete or acpx_wait_until, which
// the program has not called.
TEST_CASE(
    "errors: the roll-call names calls of data structures and of the heap",
    "[errors]") {
  struct Row {
    const char* word;
    const char* name;
  };

  const auto row = GENERATE(Row{"upsert", "acpx_upsert_add8_map"},
                            Row{"allocate", "acp_malloc or acp_free"});
  job::Job waits({ACPRUN, "-np", "2", "--watchdog", "1", "--acp-envnet=udp",
                  CARELESS, row.word},
                 {"ACP_SHM=off"});
  const job::Outcome outcome = waits.wait(60s);
  INFO(outcome.output);
  CHECK(outcome.status == 124);
  CHECK(lines_with(outcome.output,
                   "rank 0 was waiting in " + std::string(row.name))
            .size() == 1);
}

TEST_CASE("errors: a receive ends when its sender is in acp_finalize",
          "[errors]") {
  const std::string net = GENERATE("shm", "udp");
  job::Job leaves(
      {ACPRUN, "-np", "2", "--acp-envnet=" + net, CARELESS, "leave"});
  const job::Outcome outcome = leaves.wait(60s);
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(lines_with(outcome.output, "third: 0").size() == 1);
  CHECK(lines_with(outcome.output, "late: -1").size() == 1);
  CHECK(lines_with(outcome.output, "received 1").size() == 1);
  CHECK(lines_with(outcome.output, "received -1").size() == 2);
  CHECK(lines_with(outcome.output, "second: 0").size() == 1);
  const auto lines =
      lines_with(outcome.output, "from rank 1 to rank 0: rank 1");
  CHECK(lines.size() == 3);
  CHECK(lines_with(outcome.output, "error: ").size() == 3);
}

TEST_CASE("errors: ACP_ERRORS=abort holds before acp_init", "[errors]") {
  const job::Outcome reported = run({"early"}, "report");
  CHECK(
      lines_with(reported.output, "acp_sync: called before acp_init").size() ==
      2);
  CHECK(lines_with(reported.output, "went on").size() == 2);
  const job::Outcome aborted = run({"early"}, "abort");
  INFO(aborted.output);
  CHECK(aborted.status == 1);
  CHECK_FALSE(
      lines_with(aborted.output, "acp_sync: called before acp_init").empty());
  CHECK(lines_with(aborted.output, "went on").empty());
}

TEST_CASE("errors: a message that loses its end is told once", "[errors]") {
  const std::string net = GENERATE("shm", "udp");
  job::Job sends({ACPRUN, "-np", "2", "--acp-envnet=" + net, CARELESS, "cut"},
                 {net == "udp" ? "ACP_SHM=off" : "ACP_SHM=auto"});
  const job::Outcome outcome = sends.wait(60s);
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(lines_with(outcome.output, "received 10").size() == 3);
  CHECK(lines_with(outcome.output,
                   "a message from rank 0 to rank 1 is longer than the 10 "
                   "bytes of its receive")
            .size() == 1);
  CHECK(lines_with(outcome.output, "warning").size() == 1);
}

TEST_CASE("errors: a job that ends blames no module", "[errors]") {
  const job::Outcome outcome = run({"left"}, "report");
  INFO(outcome.output);
  CHECK(outcome.status == 1);
  CHECK_FALSE(lines_with(outcome.output, "acp_abort: enough").empty());
  CHECK(lines_with(outcome.output, "module").empty());
}

TEST_CASE("errors: memory that a layer above may not register is no error",
          "[errors]") {
  job::Job sends({ACPRUN, "-np", "2", "--acp-envnet=udp", CARELESS, "constant"},
                 {"ACP_ERRORS=abort"});
  const job::Outcome outcome = sends.wait(60s);
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(lines_with(outcome.output, "done with 1048576 bytes").size() == 1);
  CHECK(lines_with(outcome.output, "error").empty());
}
