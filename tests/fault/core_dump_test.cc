// Tests the core file of a rank that crashes: it is small, and it has the
// headers of the host segment. The test needs a kernel that writes core files
// into the working directory; otherwise it is skipped.
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <catch2/catch.hpp>

#include "support/job.h"

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatience{60};
/// Limit for a core file's bytes on the disk. The slice of one rank has 1.1 GB
/// of address space.
constexpr long long kLargestCore = 64 << 20;

std::string contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Whether core_pattern is a plain file name and the limit can be lifted. Ranks
/// inherit the limit from this process.
bool are_cores_written_here() {
  const std::string pattern = contents("/proc/sys/kernel/core_pattern");
  if (pattern.empty() || pattern.find_first_of("|/") != std::string::npos) {
    WARN("skipped: core_pattern is " << pattern);
    return false;
  }
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_CORE, &limit) != 0) {
    WARN("skipped: the limit of core files cannot be lifted");
    return false;
  }
  return true;
}

/// A folder of this test, removed with everything in it.
struct Folder {
  Folder() : path(job::scratch_file("core_dump")) {
    REQUIRE(fs::create_directory(path));
  }

  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }

  fs::path path;
};

}  // namespace

TEST_CASE("core dump: has the headers of the job and not its heaps",
          "[core_dump]") {
  if (!are_cores_written_here()) return;
  const Folder scratch;
  job::Job run({ACPRUN, "-np", "2", "--wdir", scratch.path, VICTIM, "computing",
                "sigabrt", "death"});
  const job::Outcome outcome = run.wait(kPatience);
  INFO(outcome.output);
  CHECK(outcome.is_over);
  CHECK(outcome.status == 128 + SIGABRT);
  int cores = 0;
  for (const auto& entry : fs::directory_iterator(scratch.path)) {
    if (entry.path().filename().string().starts_with("death")) continue;
    ++cores;

    struct stat info {};

    REQUIRE(::stat(entry.path().c_str(), &info) == 0);
    REQUIRE(info.st_blocks * 512LL < kLargestCore);
    REQUIRE(info.st_size < kLargestCore);
    // The first word of the host segment.
    CHECK(contents(entry.path()).find("acphost1") != std::string::npos);
  }
  CHECK(cores == 1);
}
