// Standard input, output and error of the ranks.
#include <sys/socket.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "tests/launcher/running.h"

using namespace running;

namespace {

/// Bytes of every value, a newline at the end; every run gets equal bytes.
std::string random_bytes(std::size_t size) {
  std::mt19937_64 generator(2024);
  std::string bytes(size, '\0');
  for (char& byte : bytes)
    byte = static_cast<char>(generator());
  bytes.back() = '\n';
  return bytes;
}

/// Checks lines of the probe's "lines" step: whole, and in order per rank.
void check_lines(const std::string& text, int ranks, int count) {
  std::vector<int> next(static_cast<std::size_t>(ranks), 0);
  std::istringstream lines(text);
  int broken = 0;
  for (std::string line; std::getline(lines, line);) {
    unsigned rank = 0;
    int number = 0;
    std::string word;
    std::istringstream words(line);
    if (!(words >> word >> rank >> word >> number) || rank >= next.size()) {
      ++broken;
      continue;
    }
    const std::string expected =
        "rank " + std::to_string(rank) + " line " + std::to_string(next[rank]) +
        " of some length " +
        std::string(static_cast<std::size_t>(next[rank] % 40), '.') + ".";
    broken += line == expected ? 0 : 1;
    ++next[rank];
  }
  CHECK(broken == 0);
  for (const int lines_of_rank : next)
    CHECK(lines_of_rank == count);
}

}  // namespace

TEST_CASE("launcher streams: lines stay whole through a slow pipe",
          "[launcher]") {
  constexpr int kLines = 100'000;
  Setup setup;
  setup.is_slow_reader = true;
  const Outcome outcome =
      run({"-np", "2", PROBE, "hello", "init",
           "lines:" + std::to_string(kLines), "finalize", "finalized"},
          setup);
  CHECK(outcome.status == 0);
  check_lines(outcome.out, 2, kLines);
}

TEST_CASE("launcher streams: output and error of many ranks in one pipe",
          "[launcher]") {
  Setup setup;
  setup.is_slow_reader = true;
  setup.is_joined = true;
  const Outcome outcome = run({"-np", "8", PROBE, "hello", "init", "lines:2000",
                               "warn:a warning", "finalize", "finalized"},
                              setup);
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, "a warning\n") == 8);
  std::string lines;
  std::istringstream all(outcome.out);
  for (std::string line; std::getline(all, line);) {
    if (line != "a warning") lines += line + "\n";
  }
  check_lines(lines, 8, 2000);
}

TEST_CASE("launcher streams: 10 MiB of input reach rank 0 byte for byte",
          "[launcher]") {
  Setup setup;
  setup.input = random_bytes(10 << 20);
  const Outcome outcome =
      run({"-np", "2", PROBE, "hello", "init", "cat", "finalize", "finalized"},
          setup);
  CHECK(outcome.status == 0);
  CHECK(outcome.out == setup.input);
}

TEST_CASE("launcher streams: input from a file", "[launcher]") {
  const Scratch scratch;
  const std::string bytes = random_bytes(1 << 20);
  const std::string file = scratch.file("input", bytes);
  // The shell opens the file for acprun.
  const Outcome outcome = run({"-np", "1", "sh", "-c",
                               std::string(ACPRUN) +
                                   " -np 2 " PROBE " hello cat init finalize "
                                   "finalized < " +
                                   file});
  CHECK(outcome.status == 0);
  CHECK(outcome.out == bytes);
}

TEST_CASE("launcher streams: --stdin none gives nobody input", "[launcher]") {
  Setup setup;
  setup.input = "something\n";
  const Outcome outcome =
      run({"--stdin", "none", "-np", "2", PROBE, "cat", "say:end"}, setup);
  CHECK(outcome.status == 0);
  CHECK(outcome.out == "end\nend\n");
}

TEST_CASE("launcher streams: a rank that reads no input is no error",
          "[launcher]") {
  Setup setup;
  setup.input = random_bytes(1 << 20);
  CHECK(run({"-np", "2", PROBE, "say:x"}, setup).status == 0);
}

TEST_CASE("launcher streams: the last line is delivered without newline, too",
          "[launcher]") {
  CHECK(run({"-np", "1", PROBE, "partial:abc"}).out == "abc");
  CHECK(run({"-np", "2", PROBE, "partial:abc"}).out == "abc\nabc\n");
}

TEST_CASE("launcher streams: a prompt of a single rank appears at once",
          "[launcher]") {
  Running job({"-np", "1", PROBE, "partial:your name? ", "pause"});
  CHECK(job.wait_for("your name? "));
}

TEST_CASE("launcher streams: --tag names the rank in every line",
          "[launcher]") {
  const Outcome outcome =
      run({"--tag", "-np", "2", PROBE, "hello", "only:0:say:a", "only:1:say:b",
           "only:1:warn:w", "init", "finalize", "finalized"});
  CHECK(contains(outcome.out, "[0] a\n"));
  CHECK(contains(outcome.out, "[1] b\n"));
  CHECK(outcome.err == "[1] w\n");
}

TEST_CASE("launcher streams: --output-dir has a file per rank and stream",
          "[launcher]") {
  const Scratch scratch;
  const std::string directory = scratch.path() + "/made/here";
  const Outcome outcome = run(
      {"--output-dir", directory, "-np", "2", PROBE, "hello", "only:0:say:a",
       "only:1:say:b", "only:1:warn:w", "init", "finalize", "finalized"});
  CHECK(outcome.status == 0);
  CHECK(outcome.out.empty());
  CHECK(scratch.read("made/here/rank.0.out") == "a\n");
  CHECK(scratch.read("made/here/rank.1.out") == "b\n");
  CHECK(scratch.read("made/here/rank.0.err").empty());
  CHECK(scratch.read("made/here/rank.1.err") == "w\n");
  CHECK(contains(outcome.err, "--output-dir " + directory + ": " +
                                  scratch.path() +
                                  "/made was not there, and is made"));
}

TEST_CASE("launcher streams: a reader that leaves ends the job", "[launcher]") {
  Running job({"-np", "2", PROBE, "hello", "init", "say:ready", "lines:1000000",
               "pause"});
  REQUIRE(job.wait_for("ready"));
  job.close_output();
  CHECK(job.finish().status == 128 + SIGPIPE);
  CHECK(job.is_all_gone());
}

TEST_CASE("launcher streams: a full disk is an error", "[launcher]") {
  if (!std::filesystem::exists("/dev/full")) return;
  const Outcome outcome =
      run({"-np", "1", "sh", "-c",
           std::string(ACPRUN) + " -np 2 " PROBE " say:x pause > /dev/full; "
                                 "echo status $?"});
  INFO(outcome.err);
  CHECK(contains(outcome.out, "status 125"));
  CHECK(contains(outcome.err, "No space left"));
}
