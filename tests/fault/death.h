// Runs a job in which one rank dies (victim.cc), and checks that the job ends
// soon and leaves nothing. The build gives the paths of the programs (ACPRUN,
// VICTIM). Catch2 reports what is wrong.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "support/job.h"

namespace death {

/// The promise is 2 s; the rest is for machines that are busy.
inline constexpr std::chrono::seconds kEndsWithin(6);
inline constexpr std::chrono::seconds kPatience(60);

/// The name of a file that the victim writes. The destructor removes the file.
struct Scratch {
  explicit Scratch(const char* stem);
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  std::string path;
};

/// The job of three ranks.
std::vector<std::string> command(const std::string& moment,
                                 const std::string& how,
                                 const std::string& file,
                                 const std::string& marker);

/// Exit status of a job whose victim dies in this way.
int expected_status(const std::string& how);

/// Runs a job in which one rank dies. Checks that it ends `ends_within` after
/// the death, its summary, and that nothing is left; the caller checks the
/// status. `environment`: as of job::Job.
job::Outcome run(const std::string& moment,
                 const std::string& how,
                 const std::vector<std::string>& environment,
                 std::chrono::seconds ends_within = kEndsWithin);

}  // namespace death
