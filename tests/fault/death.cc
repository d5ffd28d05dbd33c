// The job with a victim, and the checks after its end. Called by the tests of
// deaths.
#include "fault/death.h"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

namespace death {

namespace {

struct Death {
  int rank = -2;
  int pid = 0;
  job::Clock::time_point time;
};

Death read_death(const std::string& path) {
  Death death;
  std::ifstream file(path);
  long long nanoseconds = 0;
  if (file >> death.rank >> death.pid >> nanoseconds) {
    death.time = job::Clock::time_point(std::chrono::nanoseconds(nanoseconds));
  }
  return death;
}

}  // namespace

Scratch::Scratch(const char* stem) : path(job::scratch_file(stem)) {}

Scratch::~Scratch() {
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".elected");
}

std::vector<std::string> command(const std::string& moment,
                                 const std::string& how,
                                 const std::string& file,
                                 const std::string& marker) {
  return {ACPRUN, "-np", "3", VICTIM, moment, how, file, marker};
}

int expected_status(const std::string& how) {
  if (how == "exit") return 3;
  if (how == "abort") return 1;
  if (how == "sigabrt") return 128 + SIGABRT;
  if (how == "segv") return 128 + SIGSEGV;
  return 128 + SIGKILL;
}

job::Outcome run(const std::string& moment,
                 const std::string& how,
                 const std::vector<std::string>& environment,
                 std::chrono::seconds ends_within) {
  const Scratch scratch("death");
  const std::string marker = job::unique_marker();
  const auto names = job::shared_memory_names();
  job::Job run(command(moment, how, scratch.path, marker), environment);
  job::Outcome outcome = run.wait(kPatience);
  INFO(outcome.output);
  const Death death = read_death(scratch.path);
  REQUIRE(outcome.is_over);
  REQUIRE(death.pid != 0);
  CHECK(outcome.ended - death.time < ends_within);
  CHECK(job::all_gone(marker, kEndsWithin));
  CHECK(job::no_new_shared_memory(names, kEndsWithin));
  // The summary names the rank and its process.
  CHECK(outcome.output.find("rank ") != std::string::npos);
  CHECK(outcome.output.find(std::to_string(death.pid)) != std::string::npos);
  if (death.rank >= 0) {
    CHECK(outcome.output.find("rank " + std::to_string(death.rank)) !=
          std::string::npos);
  }
  return outcome;
}

}  // namespace death
