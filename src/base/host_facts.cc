// Asks the kernel about processors and control groups. Called while a job is
// planned, joined and described. It reads files of /proc and /sys, so no path
// of an operation may call it.
#include "base/host_facts.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace acp {

namespace {

/// The kernel refuses a mask that is shorter than its own, which has a bit for
/// each processor that the machine could ever get: 8,192 at most in common
/// configurations.
constexpr std::size_t kKernelMaskWords = 8192 / 64;

/// Returns the path of this process in the unified hierarchy of control groups.
/// It is that of the line `0::PATH`, and "/" where there is none.
std::string path_of_group(const std::string& membership) {
  constexpr std::string_view kUnified = "0::";
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kUnified)) {
      return line.substr(kUnified.size());
    }
  }
  return "/";
}

/// Reads cpu.max of one group: "QUOTA PERIOD" in microseconds, or "max".
std::uint32_t quota_of_group(const std::filesystem::path& folder) {
  std::ifstream file(folder / "cpu.max");
  double quota = 0;
  double period = 0;
  if (!(file >> quota >> period) || period <= 0) {
    return UINT32_MAX;
  }
  return std::max(1U, static_cast<std::uint32_t>(quota / period));
}

}  // namespace

CpuMask allowed_cpus() noexcept {
  CpuMask cpus;
  std::array<std::uint64_t, kKernelMaskWords> all{};
  if (::syscall(SYS_sched_getaffinity, 0, sizeof all, all.data()) > 0) {
    std::copy_n(all.begin(), cpus.words.size(), cpus.words.begin());
  }
  return cpus;
}

void bind_this_thread(const CpuMask& cpus) noexcept {
  ::syscall(SYS_sched_setaffinity, 0, sizeof cpus.words, cpus.words.data());
}

/// The root group of a machine has no cpu.max. The root folder of a container
/// is its own group. The path may then be that on the machine, whose folders
/// the container does not see.
std::uint32_t quota_cores(const std::string& membership,
                          const std::string& root) {
  const std::filesystem::path top(root);
  std::uint32_t cores = quota_of_group(top);
  std::filesystem::path folder = top;
  for (const std::filesystem::path& name :
       std::filesystem::path(path_of_group(membership)).relative_path()) {
    folder /= name;
    cores = std::min(cores, quota_of_group(folder));
  }
  return cores;
}

std::uint32_t allowed_cores() {
  return std::min(std::max(1U, allowed_cpus().count()),
                  quota_cores("/proc/self/cgroup", "/sys/fs/cgroup"));
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') {
    return "localhost";
  }
  return name.data();
}

}  // namespace acp
