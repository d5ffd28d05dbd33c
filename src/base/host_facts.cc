// Asks the kernel about processors and control groups. Called while a job is
// planned, joined and described. It reads files of /proc and /sys, so no path
// of an operation may call it.
#include "base/host_facts.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

namespace acp {

namespace {

/// Reads cpu.max of the unified control-group hierarchy: "QUOTA PERIOD" in
/// microseconds, or "max".
std::uint32_t quota_cores() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
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
  // The system call takes a mask of any length; the C library's cpu_set_t does
  // not.
  return ::syscall(SYS_sched_getaffinity, 0, sizeof cpus.words,
                   cpus.words.data()) > 0
             ? cpus
             : CpuMask{};
}

void bind_this_thread(const CpuMask& cpus) noexcept {
  ::syscall(SYS_sched_setaffinity, 0, sizeof cpus.words, cpus.words.data());
}

std::uint32_t allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::uint32_t cores = 1;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    cores = static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set)));
  }
  return std::min(cores, quota_cores());
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') {
    return "localhost";
  }
  return name.data();
}

}  // namespace acp
