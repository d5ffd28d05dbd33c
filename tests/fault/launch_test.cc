// Tests of command lines that acprun refuses: it says why, exits with the right
// status and leaves no process running.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/job.h"

using namespace std::chrono_literals;

namespace {

constexpr int kLauncherError = 125;
constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;

struct Refusal {
  const char* what;
  std::vector<std::string> words;  ///< Arguments of acprun.
  int status;
  std::string text;  ///< Text that the message has to contain.
};

void check_refusal(const Refusal& refusal) {
  INFO(refusal.what);
  std::vector<std::string> words = {ACPRUN};
  words.insert(words.end(), refusal.words.begin(), refusal.words.end());
  job::Job run(words);
  const job::Outcome outcome = run.wait(30s);
  INFO(outcome.output);
  CHECK(outcome.is_over);
  CHECK(outcome.status == refusal.status);
  CHECK(outcome.output.find(refusal.text) != std::string::npos);
}

}  // namespace

// acprun refuses the line before it starts a rank. The status is its own, and
// the message names the word that is wrong.
TEST_CASE("launch: wrong numbers and options are launcher errors", "[launch]") {
  const std::vector<Refusal> refusals = {
      {"no ranks", {"-np", "0", "/bin/true"}, kLauncherError, "np"},
      {"negative", {"-np", "-3", "/bin/true"}, kLauncherError, "np"},
      {"no number", {"-np", "many", "/bin/true"}, kLauncherError, "many"},
      {"unknown option",
       {"-np", "1", "--acp-nodefil=x", "/bin/true"},
       kLauncherError,
       "--acp-nodefile"},
      {"unknown option behind the program",
       {"-np", "1", "/bin/true", "--acp-startermemsiz=1"},
       kLauncherError,
       "--acp-startermemsize"},
      {"no program", {"-np", "2"}, kLauncherError, "program"},
      {"network not built in",
       {"-np", "1", "--acp-envnet=tofu", "/bin/true"},
       kLauncherError,
       "tofu"},
  };
  for (const Refusal& refusal : refusals) {
    check_refusal(refusal);
  }
}

TEST_CASE("launch: a program that is missing or cannot run", "[launch]") {
  const std::string plain = job::scratch_file("plain");
  std::ofstream(plain) << "no program\n";
  check_refusal({"missing",
                 {"-np", "2", "/nonexistent/program"},
                 kNotFound,
                 "/nonexistent/program"});
  check_refusal({"not executable", {"-np", "2", plain}, kCannotRun, plain});
  check_refusal({"a folder", {"-np", "2", "/tmp"}, kCannotRun, "/tmp"});
  std::filesystem::remove(plain);
}

TEST_CASE("launch: a node file that is missing or too short", "[launch]") {
  const std::string nodes = job::scratch_file("nodes");
  std::ofstream(nodes) << "localhost\n# a comment\n\n";
  check_refusal({"missing",
                 {"-np", "2", "--acp-nodefile=/nonexistent/nodes", "/bin/true"},
                 kLauncherError,
                 "/nonexistent/nodes"});
  check_refusal({"too short",
                 {"-np", "2", "--acp-nodefile=" + nodes, "/bin/true"},
                 kLauncherError,
                 nodes});
  std::filesystem::remove(nodes);
}

// The memory of a host is a file in memory, and a write beyond the limit raises
// SIGXFSZ. A program that is started by hand makes it, and so does acprun.
TEST_CASE("launch: a limit of file sizes for the shared memory", "[launch]") {
  const bool by_acprun = GENERATE(true, false);
  job::Job run({"sh", "-c",
                std::string("ulimit -f 1000; exec ") +
                    (by_acprun ? ACPRUN " -np 2 /bin/true" : PRINTER)});
  const job::Outcome outcome = run.wait(30s);
  INFO(outcome.output);
  CHECK(outcome.status == (by_acprun ? kLauncherError : 1));
  CHECK(outcome.output.find("ulimit -f") != std::string::npos);
  CHECK(outcome.output.find("ACP_HEAP_SIZE") != std::string::npos);
}

// The file has a hole of 16 GiB, so nothing is written before the limit.
TEST_CASE("launch: output that meets the limit of file sizes", "[launch]") {
  const std::string file = job::scratch_file("output");
  std::ofstream(file).close();
  std::filesystem::resize_file(file, std::uintmax_t{1} << 34);
  job::Job run({"bash", "-c",
                "ulimit -f $((1 << 24)); exec " ACPRUN
                " -np 1 /bin/echo hello >> " +
                    file});
  const job::Outcome outcome = run.wait(30s);
  std::filesystem::remove(file);
  INFO(outcome.output);
  CHECK(outcome.status == kLauncherError);
  CHECK(outcome.output.find("writing standard output: File too large") !=
        std::string::npos);
  CHECK(outcome.output.find("output was lost") != std::string::npos);
}

// acprun ignores SIGPIPE and SIGXFSZ itself. A rank that did so as well would
// not end where it ends without acprun.
TEST_CASE("launch: a rank ignores the signals that acprun found ignored",
          "[launch]") {
  const std::string before = GENERATE("", "trap '' XFSZ; ", "trap '' PIPE; ");
  const auto ignored_below = [&](const std::string& launcher) {
    job::Job run(
        {"bash", "-c",
         before + "exec " + launcher + " grep SigIgn /proc/self/status"});
    const std::string output = run.wait(30s).output;
    INFO(output);
    REQUIRE(output.starts_with("SigIgn:"));
    // The C library has 32 and 33 for its threads, whatever was ignored.
    return std::stoull(output.substr(7), nullptr, 16) & ~0x1'8000'0000ULL;
  };
  CHECK(ignored_below(ACPRUN " -np 1") == ignored_below("env"));
}

// Sanitizers take more address space than any limit that is tested here.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("launch: too little address space for the shared memory",
          "[launch]") {
  job::Job run(
      {"sh", "-c", "ulimit -v 1000000; exec " ACPRUN " -np 2 /bin/true"});
  const job::Outcome outcome = run.wait(30s);
  INFO(outcome.output);
  CHECK(outcome.status == kLauncherError);
  CHECK(outcome.output.find("ulimit -v") != std::string::npos);
  CHECK(outcome.output.find("ACP_HEAP_SIZE") != std::string::npos);
}
#endif
